// The entry for tools of MCP servers in short, as llms.txt shows it. What differs from the real one does not compile.

import type { ToolContext, ToolRegistry, ToolTraits } from "turnwright";
import * as mcp from "turnwright/mcp";
import { type Differing, expectNone } from "./same-names.ts";

// #region mcp
interface McpEntry {
  // all pages of a server's tools, in place of `tools`; the client is yours, connected, and stays open
  createMcpRegistry(options: {
    client: mcp.McpClient; // Client of @modelcontextprotocol/sdk (1.x) or of @modelcontextprotocol/client (2.x)
    prefix?: string; // in front of each name, such as "github_"
    annotations?: "stated" | "assumed" | "ignored"; // "stated": read-only starts early, idempotent is tried twice, destructive asks
    traits?: (tool: mcp.McpTool) => ToolTraits | undefined; // over those of the annotations
    meta?: (tool: mcp.McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined; // the _meta of a call
    listChanged?: boolean; // true: lists anew when the server says so, by the client's one handler for that
    onError?: (error: unknown) => void; // why that failed; the tools stay
  }): Promise<
    ToolRegistry & {
      refresh(): Promise<void>; // lists anew
      close(): void; // takes the handler off the client
    }
  >;
}
// #endregion mcp

mcp satisfies McpEntry;
expectNone<Differing<McpEntry, typeof mcp>>();
expectNone<Differing<Parameters<McpEntry["createMcpRegistry"]>[0], mcp.McpRegistryOptions>>();
expectNone<Differing<Awaited<ReturnType<McpEntry["createMcpRegistry"]>>, mcp.McpRegistry>>();
