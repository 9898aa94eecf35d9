// The entries for tools from elsewhere in short, as llms.txt shows them. A difference from the real types does not compile.

import type { JsonSchema, StandardSchema, Tool, ToolContext, ToolRegistry } from "turnwright";
import type { ToolTraits } from "turnwright/parts";
import * as jsonSchema from "turnwright/json-schema";
import * as mcp from "turnwright/mcp";
import * as interop from "turnwright/interop";
import { type Differing, expectNone } from "./same-names.ts";

// #region mcp
interface McpEntry {
  // all pages of a server's tools, as the option `tools`; pass your own connected client, which stays open
  createMcpRegistry(options: {
    client: mcp.McpClient; // Client of @modelcontextprotocol/sdk (1.x) or of @modelcontextprotocol/client (2.x)
    prefix?: string; // prefix of each name, such as "github_"
    annotations?: "stated" | "assumed" | "ignored"; // "stated": read-only tools start early, idempotent ones run up to twice, destructive ones need approval
    traits?: (tool: mcp.McpTool) => ToolTraits | undefined; // override the traits of the annotations
    meta?: (tool: mcp.McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined; // the _meta of a call
    listChanged?: boolean; // true: lists again when the server says so; uses the client's only handler for that
    onError?: (error: unknown) => void; // called if that fails; the tools stay
  }): Promise<
    ToolRegistry & {
      refresh(): Promise<void>; // lists again
      close(): void; // removes the handler from the client
    }
  >;
}
// #endregion mcp

// #region interop
interface InteropEntry {
  // a tool of the AI SDK, OpenAI Agents, the Anthropic SDK or LangChain, recognized by its shape; tools of the AI SDK need a name
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
  inputSchema?: StandardSchema | JsonSchema; // replaces the tool's own
  jsonSchema?: JsonSchema; // shown if the schema cannot produce its own JSON Schema
}
// #endregion interop

// #region json-schema
interface JsonSchemaEntry {
  // refuses a $ref to another document at once; fetches nothing
  fromJsonSchema<Output = unknown>(schema: JsonSchema): StandardSchema<Output>;
  withValidation(tools: ToolSource): ToolRegistry; // validates tools that have no validation, with the schema that the model sees
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
