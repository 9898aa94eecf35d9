import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, expectTypeOf, it } from "vitest";
import type { ToolRegistry } from "turnwright";
import { createMcpRegistry, type McpClient, type McpRegistry } from "turnwright/mcp";
import type { McpClientV1, McpClientV2 } from "../../src/mcp/mcp-client.ts";

const info = { name: "test", version: "1.0.0" };

it("createMcpRegistry: accepts clients from both SDK generations", async () => {
  expectTypeOf<ClientV1>().toExtend<McpClientV1>();
  expectTypeOf<ClientV2>().toExtend<McpClientV2>();
  const clients: readonly McpClient[] = [new ClientV1(info), new ClientV2(info)];
  for (const client of clients) await expect(createMcpRegistry({ client })).rejects.toThrow("a client without a connection");
});

it("createMcpRegistry: rejects an incomplete client", async () => {
  // @ts-expect-error a client has more than one method
  await expect(createMcpRegistry({ client: { callTool: async () => ({}) } })).rejects.toThrow("a connected MCP client");
});

it("McpRegistry: extends ToolRegistry", () => {
  expectTypeOf<McpRegistry>().toExtend<ToolRegistry>();
});
