// The tools of an MCP server as a tool registry over the caller's own client.

import {
  createToolRegistry,
  type JsonSchema,
  LoopError,
  toJson,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRegistry,
  toPlainError,
} from "../core/entry-kit.ts";
import { callTool, withRests } from "./call-tool.ts";
import { listTools } from "./read-server.ts";
import { type McpTool, onToolsChanged } from "./mcp-client.ts";
import { checkMcpOptions, type McpRegistryOptions, type McpSettings, mergeTraits, toTraits } from "./mcp-options.ts";
import { toToolNames } from "./tool-names.ts";

/** A server that says in each listing that its tools have changed would be listed for ever, and in one process nothing else would run. */
const restMs = 100;

/** The tools of one server. A running loop sees a change of them on its next iteration. */
export interface McpRegistry extends ToolRegistry {
  /** Lists the tools anew. Rejects with what the client throws; the tools stay those of before then. */
  refresh(): Promise<void>;
  /** Takes the handler off the client. The client stays open, and the tools can still be called. */
  close(): void;
}

/**
 * Makes a registry of the tools of an MCP server, by a client that is connected: `Client` of `@modelcontextprotocol/sdk` or of
 * `@modelcontextprotocol/client`. All pages are listed before it resolves. Names that providers refuse are changed; two servers whose tools
 * have the same names need a `prefix`.
 *
 * A call takes as long as the loop lets it, whatever the SDK's own timeout. Progress is a heartbeat and a `tool-progress` event. A cancelled
 * call is cancelled on the server. Arguments are not validated here: the server does that. A result with `isError`, an error of
 * the server, a connection that closes in a call and an answer that does not fit are failed results.
 *
 * Rejects with LoopError `invalid-option` or `unknown-option` before anything is asked, with `invalid-tool` where `traits` gives what a tool
 * cannot have, with `invalid-schema` where the schema of a tool is nested more than 1,000 levels deep, and with what the client throws.
 *
 * @example
 * const client = new Client({ name: "my-app", version: "1.0.0" });
 * await client.connect(new StdioClientTransport({ command: "github-mcp-server", args: ["stdio"] }));
 * const tools = await createMcpRegistry({ client, prefix: "github_" });
 * const result = await runToolLoop({ provider, tools, messages });
 */
export async function createMcpRegistry(options: McpRegistryOptions): Promise<McpRegistry> {
  const settings = checkMcpOptions(options);
  let tools: ToolRegistry = createToolRegistry();
  let listed: string | undefined = "[]";
  let isClosed = false;

  const refresh = oneAfterAnother(async () => {
    const found = await listTools(settings.client);
    for (const tool of found) assertDepth(tool);
    const text = JSON.stringify(found);
    if (text === listed) return;
    tools = createToolRegistry(toTools(found, settings));
    listed = text;
  });
  const behind = withRests(() => {
    refresh().catch((error: unknown) => {
      if (!isClosed) report(settings, error);
    });
  }, restMs);

  // First the handler, so that no change is missed while the tools are listed.
  const release = settings.listChanged ? onToolsChanged(settings.client, behind.ask) : (): void => {};
  const close = (): void => {
    isClosed = true;
    release();
    behind.stop();
  };
  try {
    await refresh();
  } catch (error) {
    close();
    throw error;
  }
  return {
    definitions: (): readonly ToolDefinition[] => tools.definitions(),
    executeTool: (name: string, args: unknown, context: ToolContext): unknown => tools.executeTool(name, args, context),
    refresh,
    close,
  };
}

function toTools(found: readonly McpTool[], settings: McpSettings): readonly Tool[] {
  const names = toToolNames(
    found.map(({ name }) => name),
    settings.prefix,
  );
  return found.map((tool) => ({
    // A name that the server gave does not end a run; the caller's own traits may say otherwise.
    requiresFollowUp: true,
    ...originOf(tool, settings, names),
    ...mergeTraits(toTraits(tool, settings.annotations), settings.traits?.(tool)),
    name: names.get(tool.name) ?? tool.name,
    description: describe(tool),
    inputSchema: toSchema(tool),
    execute: (args: unknown, context: ToolContext) =>
      callTool({ client: settings.client, tool, meta: settings.meta }, args, context),
  }));
}

/** Levels of a tool around its schemas. */
const envelope = 8;

/** Throws LoopError "invalid-schema" for a tool that is nested too deeply to be copied. */
function assertDepth(tool: McpTool): void {
  try {
    toJson(tool, envelope);
  } catch (error) {
    throw new LoopError("invalid-schema", {
      toolName: tool.name,
      problem: `is not JSON: ${toPlainError(error).message}`,
    });
  }
}

/** A name that was made from another one may stand for another tool when the server's list changes. */
function originOf({ name }: McpTool, { prefix }: McpSettings, names: ReadonlyMap<string, string>): Pick<Tool, "origin"> {
  return names.get(name) === prefix + name ? {} : { origin: name };
}

/** A copy, for a server in this process may go on writing to its own. `$schema` says nothing to a model, and some providers refuse it. */
function toSchema({ name, inputSchema }: McpTool): JsonSchema {
  try {
    const { $schema: _, ...schema } = toJson({ type: "object", ...inputSchema }) as JsonSchema;
    return schema;
  } catch (cause) {
    throw new LoopError("invalid-schema", { toolName: name, problem: `is not JSON: ${toPlainError(cause).message}` }, { cause });
  }
}

function describe({ name, title, description, annotations }: McpTool): string {
  return [description, title, annotations?.title].find((text) => text !== undefined && text.trim() !== "") ?? name;
}

/** Runs one at a time. Who asks while one runs gets the next one, which sees all that happened before it was asked for. */
function oneAfterAnother(act: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    next = undefined;
    const own = act().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  };
  return () => {
    // Looked at first: between the end of one and the start of the next there is none that runs.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

/** There is nobody to tell of an `onError` that fails. */
function report({ onError }: McpSettings, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    return;
  }
}
