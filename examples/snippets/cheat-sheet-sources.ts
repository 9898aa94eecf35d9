// The entries for tools from elsewhere in short, as llms.txt shows them. A difference from the real types does not compile.

import type { JsonSchema, StandardSchema, Tool, ToolContext, ToolRegistry } from "turnwright";
import type { ToolTraits } from "turnwright/parts";
import * as jsonSchema from "turnwright/json-schema";
import * as mcp from "turnwright/mcp";
import * as interop from "turnwright/interop";
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

// #region interop
interface InteropEntry {
  // a tool of the AI SDK, OpenAI Agents, the Anthropic SDK or LangChain, told by its shape; those of the AI SDK need a name
  importTool(tool: object, overrides?: ToolOverrides): Tool<unknown>;
  importTools(
    tools: readonly object[] | Record<string, object>,
    overrides?: Record<string, ToolOverrides>,
  ): readonly Tool<unknown>[];
}

type ToolSource = ToolRegistry | readonly Tool[];

interface ToolOverrides extends ToolTraits {
  name?: string;
  description?: string;
  inputSchema?: StandardSchema | JsonSchema; // in place of the tool's own
  jsonSchema?: JsonSchema; // shown if the schema cannot produce its own JSON Schema
}
// #endregion interop

// #region json-schema
interface JsonSchemaEntry {
  // a $ref to somewhere else is refused at once, and nothing is fetched
  fromJsonSchema<Output = unknown>(schema: JsonSchema): StandardSchema<Output>;
  withValidation(tools: ToolSource): ToolRegistry; // adds validation to tools without their own, by the schema that the model is shown
}
// #endregion json-schema

mcp satisfies McpEntry;
expectNone<Differing<McpEntry, typeof mcp>>();
expectNone<Differing<Parameters<McpEntry["createMcpRegistry"]>[0], mcp.McpRegistryOptions>>();
expectNone<Differing<Awaited<ReturnType<McpEntry["createMcpRegistry"]>>, mcp.McpRegistry>>();
interop satisfies InteropEntry;
expectNone<Differing<InteropEntry, typeof interop>>();
expectNone<Differing<ToolOverrides, interop.ImportOverrides>>();
jsonSchema satisfies JsonSchemaEntry;
expectNone<Differing<JsonSchemaEntry, typeof jsonSchema>>();
