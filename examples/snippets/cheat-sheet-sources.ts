// A summary for llms.txt: tools from other sources. If a type here differs from the real type, the compiler reports an error.

import type { JsonSchema, StandardSchema, Tool, ToolContext, ToolRegistry } from "turnwright";
import * as jsonSchema from "turnwright/json-schema";
import * as mcp from "turnwright/mcp";
import * as interop from "turnwright/interop";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ToolTraits = NonNullable<ReturnType<NonNullable<mcp.McpRegistryOptions["traits"]>>>;
type McpTool = ArgumentOf<NonNullable<mcp.McpRegistryOptions["traits"]>>;
type ResourceClient = ArgumentOf<typeof mcp.resourceSource>;

// #region mcp
interface McpEntry {
  // returns all tools of an MCP server, for the `tools` option; pass a connected client, and close the client yourself
  createMcpRegistry(options: {
    client: mcp.McpClient; // Client of @modelcontextprotocol/sdk (1.x) or of @modelcontextprotocol/client (2.x)
    prefix?: string; // prefix of each name, such as "github_"
    annotations?: "stated" | "assumed" | "ignored"; // "stated": read-only tools start early, idempotent tools run up to twice, destructive tools need approval
    traits?: (tool: McpTool) => ToolTraits | undefined; // override the traits from the annotations
    meta?: (tool: McpTool, context: ToolContext) => Readonly<Record<string, unknown>> | undefined; // the field _meta in the request of a call
    listChanged?: boolean; // true: lists the tools again when the server reports a change; uses the client's only handler for this notification
    elicitation?: boolean; // true: asks the questions of the server with ask and wait: true
    onError?: (error: unknown) => void; // called if listing again fails, or if a question cannot be asked
    reconnect?: (client: mcp.McpClient, error: unknown) => void | PromiseLike<void>; // after a lost session
  }): Promise<
    ToolRegistry & {
      refresh(): Promise<void>; // lists the tools again
      close(): void; // removes the handler from the client
    }
  >;
  // for createResultCache({ sources }): the model reads text resources by their URIs; larger ones than maxBytes (8 MiB) are refused
  resourceSource(
    client: ResourceClient,
    options?: { name?: string; maxBytes?: number; accepts?: (uri: string) => boolean },
  ): mcp.ResourceSource;
}
// #endregion mcp

// #region interop
interface InteropEntry {
  // converts a tool from the AI SDK, OpenAI Agents, the Anthropic SDK or LangChain, whichever library it comes from; a tool
  // of the AI SDK needs overrides.name
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
  inputSchema?: StandardSchema | JsonSchema; // replaces the tool's schema
  jsonSchema?: JsonSchema; // shown if the schema cannot produce its own JSON Schema
}
// #endregion interop

// #region json-schema
interface JsonSchemaEntry {
  // throws for a $ref to another document, because it never downloads anything
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
expectNone<Differing<ToolOverrides, ArgumentOf<typeof interop.importTool, 1>>>();
jsonSchema satisfies JsonSchemaEntry;
expectNone<Differing<JsonSchemaEntry, typeof jsonSchema>>();
