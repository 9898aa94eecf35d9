export { createMcpRegistry, type McpRegistry } from "./create-mcp-registry.ts";
export type { McpClient } from "./mcp-client.ts";
export { resourceSource, type ResourceSource } from "./resource-source.ts";
export type { McpRegistryOptions } from "./mcp-client.ts";
