// The tools of an MCP server as a tool registry, with the caller's own client.

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

/**
 * Minimum pause between two lists. A server that reports a change after each list would otherwise be listed forever, and block
 * its process.
 */
const restMs = 100;

/** The tools of one server. A running loop uses changes from its next iteration on. */
export interface McpRegistry extends ToolRegistry {
  /** Lists the tools again. Rejects with errors of the client; the tools stay unchanged then. */
  refresh(): Promise<void>;
  /** Removes the handler from the client. The client stays open, and the tools can still be called. */
  close(): void;
}

/**
 * Makes a registry of the tools of an MCP server, from a connected client: `Client` of `@modelcontextprotocol/sdk` or of
 * `@modelcontextprotocol/client`. Resolves after all pages are listed. Names that providers reject are changed. Two servers with
 * the same tool names need a `prefix`.
 *
 * The loop limits the time of a call, not the SDK's own timeout. Progress is a heartbeat and a `tool-progress` event. A cancelled
 * call is cancelled on the server. Arguments are validated by the server, not here. Failed results are: a result with `isError`,
 * an error of the server, a connection that closes during a call, and a result that does not fit.
 *
 * Rejects with LoopError `invalid-option` or `unknown-option` before any request. Rejects with `invalid-tool` if `traits` returns
 * invalid traits, and with `invalid-schema` for a schema that is nested more than 1,000 levels deep. Also rejects with errors of
 * the client.
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

  // The handler first, so that no change during the list is missed.
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
    // A name from the server must not end a run. The caller's own traits may override this.
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

/** Levels of nesting of a tool around its schemas. */
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

/** Returns the original name of a renamed tool. If the server's list changes, the new name may refer to another tool. */
function originOf({ name }: McpTool, { prefix }: McpSettings, names: ReadonlyMap<string, string>): Pick<Tool, "origin"> {
  return names.get(name) === prefix + name ? {} : { origin: name };
}

/**
 * Copies the schema, because a server in this process may still change it. Drops `$schema`, which models do not need and some
 * providers reject.
 */
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

/** Runs one at a time. A request during a run gets the next run, which sees everything that happened before the request. */
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
    // Checked first, because between the end of one run and the start of the next none is running.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

/** Errors of `onError` cannot be reported. */
function report({ onError }: McpSettings, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    return;
  }
}
