import {
  createToolRegistry,
  type JsonSchema,
  LoopError,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolRegistry,
} from "../core/index.ts";
import { digest, toJson } from "../shared/json.ts";
import { isRecord } from "../core/kit.ts";
import type { ToolTraits } from "../core/types/tool.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { callTool } from "./call-tool.ts";
import { answerElicitations } from "./elicitation.ts";
import { listTools } from "./read-server.ts";
import { createRecovery, type Recovery, waitFor } from "./recovery.ts";
import {
  checkMcpOptions,
  type McpRegistryOptions,
  type McpSettings,
  type McpTool,
  mergeTraits,
  onToolsChanged,
  toTraits,
} from "./mcp-client.ts";

/** Wraps `act` so that it never runs twice at the same time. All calls that arrive while it runs share one additional run. */
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
    // Checks `next` first, because between two runs, `running` is briefly undefined, and a call at that moment would start a third run.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running.then(start, start);
    return next;
  };
}

/** The maximum time that a call waits for the list of tools, in milliseconds. */
const maxWaitMs = 1_000;

/** The maximum delay between a tool result and a report of changed tools, in milliseconds. The two may use different connections. */
const lateMs = 10;

const never: Promise<void> = new Promise(() => {});

export interface Listing {
  /** Schedules a request for a new list of tools. */
  request(): void;
  /** Registers a request for the list that other code has started, and returns it. */
  follow(listing: Promise<void>): Promise<void>;
  /**
   * Resolves when the latest requested listing has finished, when `signal` aborts, or after a second. With `mayBeLate`, also waits a
   * moment for a report that has not arrived yet.
   */
  settled(signal: AbortSignal, mayBeLate: boolean): Promise<void>;
  stop(): void;
}

interface Later {
  readonly listed: Promise<void>;
  resolve(): void;
}

/** Runs `list` when requested, but pauses after each run. All requests during a pause lead to one run after it. */
function withRests(list: () => Promise<void>, cooldownMs: number): Listing {
  let rest: ReturnType<typeof setTimeout> | undefined;
  let current: Promise<void> | undefined;
  let later: Later | undefined;
  const follow = (listing: Promise<void>): Promise<void> => {
    const forget = (): void => void (current === own && (current = undefined));
    const own = listing.then(forget, forget);
    current = own;
    return listing;
  };
  const start = (): Promise<void> => {
    rest = setTimeout(() => {
      rest = undefined;
      const asked = later;
      later = undefined;
      if (asked !== undefined) void start().then(asked.resolve, asked.resolve);
    }, cooldownMs);
    return follow(list());
  };
  const request = (): void => {
    if (rest === undefined) void start();
    else later ??= waitForLater();
  };
  const stop = (): void => {
    clearTimeout(rest);
    later?.resolve();
  };
  const pending = (): Promise<void> | undefined => later?.listed ?? current;
  const settled = async (signal: AbortSignal, mayBeLate: boolean): Promise<void> => {
    if (pending() === undefined && mayBeLate) await waitFor(never, signal, lateMs);
    const listing = pending();
    if (listing !== undefined) await waitFor(listing, signal, maxWaitMs);
  };
  return { request, follow, settled, stop };
}

function waitForLater(): Later {
  let resolve = (): void => {};
  const listed = new Promise<void>((done) => (resolve = done));
  return { listed, resolve };
}

/**
 * The pause after each automatic request for the tools, in milliseconds. Without the pause, a server that reports a change after
 * each such request would cause an endless loop.
 */
const cooldownMs = 100;

/** The tools of one MCP server. If the server's tools change, a live run uses the new tools, starting with its next iteration. */
export interface McpRegistry extends ToolRegistry {
  /** Requests the list of tools again. If the client fails, rejects with the client's error and keeps the current tools. */
  refresh(): Promise<void>;
  /** Removes the notification handler from the client. The client stays connected, and its tools can still be called. */
  close(): void;
}

/**
 * Creates a registry with the tools of an MCP server. The client must be connected: a `Client` from `@modelcontextprotocol/sdk` or
 * `@modelcontextprotocol/client`. Resolves when the whole list of tools has been read. Tool names that providers would reject are changed.
 * If two servers have tools with the same names, set a `prefix`.
 *
 * The loop's timeouts apply to calls, instead of the SDK's timeout. Progress from the server counts as a heartbeat and
 * becomes a `tool-progress` event. A canceled call is also canceled on the server. The server validates the arguments. A call
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
  let order: ReadonlyMap<string, number> = new Map();
  let isClosed = false;

  const refresh = oneAfterAnother(async () => {
    const found = keepOrder(await listTools(settings.client, (error) => report(settings, error)), order);
    for (const tool of found) assertDepth(tool);
    const text = JSON.stringify(found);
    if (text === listed) return;
    tools = createToolRegistry(
      toTools(found, settings, { recovery, listed: (signal) => later.settled(signal, reportsApart(settings)) }),
    );
    listed = text;
    order = new Map(found.map(({ name }, position) => [name, position]));
  });
  const recovery = createRecovery((error) => reconnect(settings, refresh, error));
  const later = withRests(
    () =>
      refresh().catch((error: unknown) => {
        if (!isClosed) report(settings, error);
      }),
    cooldownMs,
  );

  // Sets the handlers before the first request for the tools, because the tools may change during that request.
  const endElicitations = settings.elicitation
    ? answerElicitations(settings.client, (error) => report(settings, error))
    : (): void => {};
  const release = settings.listChanged ? onToolsChanged(settings.client, later.request) : (): void => {};
  const close = (): void => {
    isClosed = true;
    release();
    endElicitations();
    later.stop();
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
    refresh: () => later.follow(refresh()),
    close,
  };
}

/**
 * Keeps the order of tools that were listed before, and puts new ones after them. Some servers list their tools in a random order, and each
 * change in the order would break the prompt cache (github.com/googleapis/mcp-toolbox/issues/3463).
 */
function keepOrder(found: readonly McpTool[], order: ReadonlyMap<string, number>): readonly McpTool[] {
  const placeOf = ({ name }: McpTool): number => order.get(name) ?? order.size;
  return [...found].sort((one, other) => placeOf(one) - placeOf(other));
}

/** Resolves to true if the client is connected again. Reports errors. */
async function reconnect(settings: McpSettings, refresh: () => Promise<void>, error: unknown): Promise<boolean> {
  try {
    if (settings.reconnect === undefined) throw error;
    await settings.reconnect(settings.client, error);
    await refresh();
    return true;
  } catch (failure) {
    report(settings, failure);
    return false;
  }
}

interface Connection {
  readonly recovery: Recovery;
  listed(signal: AbortSignal): Promise<void>;
}

/**
 * True if the server uses one connection for results and another for reports of changed tools. Streamable HTTP does this, and only its
 * transport can end a session.
 */
function reportsApart({ client, listChanged }: McpSettings): boolean {
  const { transport } = client;
  const tools: unknown = client.getServerCapabilities()?.tools;
  return (
    listChanged && isRecord(tools) && tools["listChanged"] === true && isRecord(transport) && "terminateSession" in transport
  );
}

function toTools(found: readonly McpTool[], settings: McpSettings, { recovery, listed }: Connection): readonly Tool[] {
  const names = toToolNames(
    found.map(({ name }) => name),
    settings.prefix,
  );
  return found.map((tool) => ({
    requiresFollowUp: true,
    ...originOf(tool, settings, names),
    ...mergeTraits(toTraits(tool, settings.annotations), ownTraits(tool, settings)),
    name: names.get(tool.name) ?? tool.name,
    description: describe(tool),
    inputSchema: toSchema(tool),
    execute: async (args: unknown, context: ToolContext): Promise<unknown> => {
      try {
        return await callTool({ client: settings.client, tool, meta: settings.meta, recovery }, args, context);
      } finally {
        // Waits for a new list of tools, because the call may have changed them and the run's next request must contain the new ones.
        await listed(context.signal);
      }
    },
  }));
}

/**
 * Returns a tool's traits. If the server may ask questions, calls to its tools run one at a time, because a question does not name its
 * call.
 */
function ownTraits(tool: McpTool, { traits, elicitation }: McpSettings): ToolTraits | undefined {
  return elicitation ? { sequential: true, ...traits?.(tool) } : traits?.(tool);
}

/** The number of levels that a tool object adds around its schema. The nesting limit for the object is higher by this number. */
const envelopeLevels = 8;

function assertDepth(tool: McpTool): void {
  try {
    toJson(tool, envelopeLevels);
  } catch (error) {
    throw new LoopError("invalid-schema", {
      toolName: tool.name,
      problem: `is not JSON: ${toPlainError(error).message}`,
    });
  }
}

/** Keeps the server's name for a renamed tool, because another tool may get the new name when the list of tools changes. */
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

/** Passes an error to `onError`. Ignores errors from `onError` itself, because there is nowhere else to report them. */
function report({ onError }: McpSettings, error: unknown): void {
  try {
    onError?.(error);
  } catch {
    return;
  }
}

const longest = 64;
const digits = 6;

/**
 * Returns a name for each tool: the prefix, then the server's name, in which "_" replaces all characters except letters, digits, "_" and
 * "-". A name of more than 64 characters is shortened. A shortened name ends with six digits computed from the server's name, as does a
 * name that would otherwise equal another name. The names do not depend on the order of the list.
 */
export function toToolNames(names: readonly string[], prefix: string): ReadonlyMap<string, string> {
  const plain = names.filter((name) => isPlain(name, prefix));
  const taken = new Set(plain.map((name) => prefix + name));
  // Sorts the names, so that the digits added to equal names do not depend on the order in which the server lists them.
  const changed = names.filter((name) => !isPlain(name, prefix)).sort();
  const wanted = countNames(changed, prefix);
  const made = new Map(plain.map((name) => [name, prefix + name]));
  for (const name of changed) {
    const base = toBase(name, prefix);
    const isFree = base.length <= longest && wanted.get(base) === 1 && !taken.has(base);
    const safe = isFree ? base : withDigits(base, { name, taken });
    taken.add(safe);
    made.set(name, safe);
  }
  return made;
}

function isPlain(name: string, prefix: string): boolean {
  return /^[\w-]+$/.test(name) && prefix.length + name.length <= longest;
}

function toBase(name: string, prefix: string): string {
  return prefix + (name.replace(/[^\w-]/gu, "_") || "_");
}

function countNames(names: readonly string[], prefix: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const base = toBase(name, prefix);
    counts.set(base, (counts.get(base) ?? 0) + 1);
  }
  return counts;
}

function withDigits(base: string, { name, taken }: { readonly name: string; readonly taken: ReadonlySet<string> }): string {
  const head = base.slice(0, longest - digits - 1);
  for (let attempt = 0; ; attempt += 1) {
    const safe = `${head}_${digest(attempt === 0 ? name : `${name} ${attempt}`).slice(-digits)}`;
    if (!taken.has(safe)) return safe;
  }
}
