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
 * The minimum pause between two listings of the tools. Otherwise a server that reports a change after each listing would keep this
 * process busy forever.
 */
const restMs = 100;

/** The tools of one MCP server. If the tools change, a running loop uses the new tools from its next iteration on. */
export interface McpRegistry extends ToolRegistry {
  /** Lists the tools again. If the client fails, rejects with its error and keeps the tools unchanged. */
  refresh(): Promise<void>;
  /** Removes the notification handler from the client. The client stays open, and the tools can still be called. */
  close(): void;
}

/**
 * Makes a registry with the tools of an MCP server. The client must be connected: a `Client` from `@modelcontextprotocol/sdk` or
 * `@modelcontextprotocol/client`. Resolves when all pages of tools are listed. Tool names that providers reject are changed. If two
 * servers have tools with the same names, set a `prefix`.
 *
 * The loop's timeouts apply to a call; the SDK's timeout does not. Progress is a heartbeat and a `tool-progress` event. A cancelled
 * call is also cancelled on the server. The server validates the arguments; this registry does not. A call fails if the server
 * returns an error or the connection closes. It also fails if its result has `isError` or does not match the output schema.
 *
 * Rejects with LoopError `invalid-option` or `unknown-option` before the first request. Rejects with `invalid-tool` if `traits`
 * returns invalid traits, and with `invalid-schema` for a schema that is nested more than 1,000 levels deep. Also rejects with
 * errors from the client.
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

  // The handler is set before the first listing, so that no change during the listing is missed.
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
    // The server chooses the tool names, and a name must not end a run. The caller's traits may override this.
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

/** The number of nesting levels around the schemas in a tool object. */
const envelope = 8;

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

/** After the tool list changes, a changed name may refer to another tool. The server's name is therefore kept as `origin`. */
function originOf({ name }: McpTool, { prefix }: McpSettings, names: ReadonlyMap<string, string>): Pick<Tool, "origin"> {
  return names.get(name) === prefix + name ? {} : { origin: name };
}

/**
 * The schema is copied, because a server in the same process may still change it. `$schema` is dropped, because models do not need
 * it and some providers reject it.
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

/**
 * Two runs of `act` never overlap. A request during a run waits for the next run, which sees everything that happened before the
 * request.
 */
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
    // `next` is checked first, because `running` is undefined for a moment between two runs.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

/** Errors from `onError` are ignored, because nothing else can report them. */
function report({ onError }: McpSettings, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    return;
  }
}
