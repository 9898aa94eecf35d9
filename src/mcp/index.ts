export { createMcpRegistry, type McpRegistry } from "./create-mcp-registry.ts";
export type {
  McpCallParams,
  McpClient,
  McpClientV1,
  McpClientV2,
  McpProgress,
  McpRequestOptions,
  McpTool,
  McpToolAnnotations,
  McpToolPage,
} from "./mcp-client.ts";
export { resourceSource, type McpResourceClient, type ResourceSource, type ResourceSourceOptions } from "./resource-source.ts";
export type { McpRegistryOptions } from "./mcp-client.ts";
export type { AnnotationRule } from "./mcp-client.ts";
