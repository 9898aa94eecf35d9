import {
  createToolRegistry,
  type JsonSchema,
  LoopError,
  toJson,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRegistry,
  type ToolTraits,
  toPlainError,
} from "../core/entry-kit.ts";
import { callTool } from "./call-tool.ts";
import { answerElicitations } from "./elicitation.ts";
import { listTools } from "./read-server.ts";
import { type McpTool, onToolsChanged } from "./mcp-client.ts";
import { checkMcpOptions, type McpRegistryOptions, type McpSettings, mergeTraits, toTraits } from "./mcp-options.ts";
import { toToolNames } from "./tool-names.ts";

/**
 * The minimum pause between two requests for the list of tools, in milliseconds. Needed if a server reports a change after each
 * request.
 */
const restMs = 100;

/** The tools of one MCP server. If the server's tools change, a live run uses the new tools from its next iteration on. */
export interface McpRegistry extends ToolRegistry {
  /** Requests the list of tools again. If the client fails, rejects with the client's error and keeps the current tools. */
  refresh(): Promise<void>;
  /** Removes the notification handler from the client. The client stays connected, and its tools can still be called. */
  close(): void;
}

/**
 * Makes a registry with the tools of an MCP server. The client must be connected: a `Client` from `@modelcontextprotocol/sdk` or
 * `@modelcontextprotocol/client`. Resolves when all pages of tools are listed. Tool names that providers reject are changed. If
 * two servers have tools with the same names, set a `prefix`.
 *
 * The timeouts of the loop apply to a call, instead of the SDK's timeout. Progress from the server counts as a heartbeat and
 * becomes a `tool-progress` event. A cancelled call is also cancelled on the server. The server validates the arguments. A call
 * fails if the server returns an error, if the connection closes, or if the result has `isError` or does not match the output
 * schema.
 *
 * Rejects with LoopError "invalid-option" or "unknown-option" before the first request. Rejects with "invalid-tool" if `traits`
 * returns invalid traits, and with "invalid-schema" for a schema that is nested more than 1,000 levels deep. Also rejects with
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

  // The handlers are set before the first request for the tools, because the tools may change during this request.
  const endElicitations = settings.elicitation
    ? answerElicitations(settings.client, (error) => report(settings, error))
    : (): void => {};
  const release = settings.listChanged ? onToolsChanged(settings.client, behind.ask) : (): void => {};
  const close = (): void => {
    isClosed = true;
    release();
    endElicitations();
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
    // The server chooses the tool names. Without this trait, a tool with a special name could end the run. The caller's traits
    // can override it.
    requiresFollowUp: true,
    ...originOf(tool, settings, names),
    ...mergeTraits(toTraits(tool, settings.annotations), ownTraits(tool, settings)),
    name: names.get(tool.name) ?? tool.name,
    description: describe(tool),
    inputSchema: toSchema(tool),
    execute: (args: unknown, context: ToolContext) =>
      callTool({ client: settings.client, tool, meta: settings.meta }, args, context),
  }));
}

/** A question of the server does not name its call, so the calls of a server that may ask run one at a time. */
function ownTraits(tool: McpTool, { traits, elicitation }: McpSettings): ToolTraits | undefined {
  return elicitation ? { sequential: true, ...traits?.(tool) } : traits?.(tool);
}

/** A tool object nests its schemas in this many levels. */
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

/**
 * The server's name of a tool, if the registry has changed it. After the list of tools has changed, the changed name may refer to
 * another tool, so the server's name is kept.
 */
function originOf({ name }: McpTool, { prefix }: McpSettings, names: ReadonlyMap<string, string>): Pick<Tool, "origin"> {
  return names.get(name) === prefix + name ? {} : { origin: name };
}

/**
 * Copies the schema, because a server in the same process may still change it. Drops `$schema`, because models do not need it and
 * some providers reject it.
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

/** Never runs `act` twice at the same time. If `act` is requested while it is running, it runs once more afterwards. */
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
    // Between two runs, `running` is undefined for a moment, so `next` is checked first.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

interface Rested {
  /** Requests a run of the action. Runs the action now or, during a pause, once after the pause. */
  ask(): void;
  stop(): void;
}

/**
 * Limits how often an action runs. After each run there is a pause. If there are any requests during the pause, the action runs
 * once more after it.
 */
function withRests(act: () => void, restMs: number): Rested {
  let rest: ReturnType<typeof setTimeout> | undefined;
  let isAsked = false;
  const ask = (): void => {
    isAsked = rest !== undefined;
    if (isAsked) return;
    rest = setTimeout(() => {
      rest = undefined;
      if (isAsked) ask();
    }, restMs);
    act();
  };
  return { ask, stop: () => clearTimeout(rest) };
}

/** Ignores errors that `onError` throws, because they cannot be reported anywhere else. */
function report({ onError }: McpSettings, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    return;
  }
}
