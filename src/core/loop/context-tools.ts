// Two helpers that save context: a stash for items too large for a tool result, and a tool that lets the model release old results.

import type { Clock, Json, StandardResult, StandardSchema } from "../types/common.ts";
import type { ContextStash } from "../types/middleware-options.ts";
import { checkFields, type Checks, isFunction } from "../../shared/errors/check-fields.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { systemClock } from "../../shared/signals.ts";
import { describeValue } from "../../shared/texts.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { dropPromise } from "../../shared/promises.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { toJson } from "../../shared/json.ts";
import { lossyKindOf } from "../../shared/to-outcome.ts";
import { markSignal, toolResult } from "../tools/tool-result.ts";
import type { ExecutableTool, ToolContext } from "../types/loop-options.ts";
import type { ToolResult } from "../types/tool.ts";
import { issue } from "../../shared/argument-schema.ts";
import { argumentSchema } from "../../shared/own-schema.ts";

/** The options for `createContextStash`. */
export interface ContextStashOptions {
  /** How long the stash keeps an item after `put`, in milliseconds. `Infinity` means no limit. Default 300,000. */
  readonly ttlMs?: number | undefined;
  /** The maximum number of items. When it is exceeded, the oldest item is removed. Default 16. */
  readonly maxEntries?: number | undefined;
  /** The clock that measures the age of items. The stash starts no timers. Default: the system clock. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  /** Returns a new key. Keys must be unique and hard to guess. Default: a random UUID. */
  readonly createKey?: (() => string) | undefined;
}

interface Entry {
  readonly item: Json;
  readonly putAt: number;
}

/**
 * Creates an in-memory store through which tools pass context to the loop. A tool stores an item with `put` and returns the key.
 * The loop then takes the item with this key. Pass the same stash to the tools and to `contextRestarts({ stash })`. Many runs may share
 * one stash. Keys are hard to guess, so an invented key matches no item.
 *
 * Throws LoopError "unknown-option" or "invalid-option" for invalid options. `put` throws "invalid-option" for an item that is
 * not plain data, such as a cyclic value, a Map or a promise. `put` also throws if `createKey` does not return a new key.
 *
 * @example
 * const stash = createContextStash();
 * const readProfile = defineTool({
 *   name: "read_profile",
 *   description: "Brings in the profile of a user",
 *   inputSchema: z.object({ user: z.string() }),
 *   async execute({ user }) {
 *     return contextRestart({ type: "context_restart_profile", pending_context_key: stash.put(await loadProfile(user)) });
 *   },
 * });
 * await runToolLoop({ provider, tools: [readProfile], messages, middleware: [contextRestarts({ stash })] });
 */
export function createContextStash(options: ContextStashOptions = {}): ContextStash {
  checkFields("options", options, checks);
  const { ttlMs = 300_000, maxEntries = 16, clock = systemClock, createKey = randomKey } = options;
  const entries = new Map<string, Entry>();

  const dropOld = (now: number): void => {
    for (const [key, { putAt }] of entries) {
      if (now - putAt < ttlMs) return;
      entries.delete(key);
    }
  };

  return {
    put(item: unknown): string {
      const kept = toItem(item);
      const now = clock.now();
      dropOld(now);
      const key = createKey();
      checkKey(key, entries);
      entries.set(key, { item: kept, putAt: now });
      if (entries.size > maxEntries) dropOldest(entries);
      return key;
    },
    take(key: string): Json | undefined {
      dropOld(clock.now());
      const entry = entries.get(key);
      entries.delete(key);
      return entry?.item;
    },
  };
}

const newKey = "a function that returns a new string each time";

const checks: Checks<ContextStashOptions> = {
  ttlMs: { min: 1 },
  maxEntries: { min: 1, infinite: false },
  clock: ['a clock: an object with "now"', (value) => isRecord(value) && isFunction(value["now"])],
  createKey: [newKey, isFunction],
};

const randomKey = (): string => crypto.randomUUID();

/** Throws if a key is invalid or already in use, because one tool would otherwise get another tool's item. */
function checkKey(key: unknown, entries: ReadonlyMap<unknown, Entry>): void {
  const problem =
    typeof key !== "string" || key === "" ? describeValue(key) : entries.has(key) ? "a key that is in use" : undefined;
  if (problem === undefined) return;
  throw new LoopError("invalid-option", {
    option: "createKey",
    expected: newKey,
    received: `a function that returned ${problem}`,
  });
}

function dropOldest(entries: Map<string, Entry>): void {
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
}

function toItem(item: unknown): Json {
  // An unhandled rejection would end the process.
  dropPromise(item);
  try {
    const lossy = lossyKindOf(item);
    if (lossy !== undefined) throw new TypeError(lossy);
    return toJson(item);
  } catch (error) {
    const received = error instanceof TypeError ? toPlainError(error).message : "a value that cannot be read";
    throw new LoopError("invalid-option", { option: "item", expected: "plain data", received }, { cause: error });
  }
}

/** The arguments of `context_release`. If `callIds` is undefined, all results from earlier iterations are released. */
export interface ReleaseRequest {
  readonly callIds: readonly string[] | undefined;
}

/** The type of the tool that `createContextRelease` returns. */
export type ContextReleaseTool = ExecutableTool<ReleaseRequest, StandardSchema<unknown, ReleaseRequest>, ToolResult>;

const maxIds = 1_000;
/** The maximum number of recent calls that a result lists if the model named an unknown id. */
const maxKnown = 20;

interface AnsweredCall {
  readonly call_id: string;
  readonly tool: string;
}

const inputSchema = argumentSchema<ReleaseRequest>(
  {
    type: "object",
    properties: {
      call_ids: {
        type: "array",
        items: { type: "string" },
        description:
          "The ids of the calls whose results you no longer need. Omit it to drop all earlier results. If you do not know the ids, pass any id: the result lists them.",
      },
    },
  },
  readRequest,
);

/**
 * Creates the `context_release` tool. A model calls this tool to release results that it no longer needs: the results of the calls
 * that it names, or all results from earlier iterations.
 *
 * The tool needs `maskResults()`. Later requests contain a short note in place of each released result of at least `minTokens`. With
 * `keepIterations: Infinity`, only released results are left out. The transcript keeps the results. The outcome of the call
 * records the released ids, so that a resumed run sends the same requests.
 *
 * @example
 * const middleware = [maskResults({ keepIterations: Number.POSITIVE_INFINITY })];
 * await runToolLoop({ provider, tools: [search, createContextRelease()], messages, middleware });
 */
export function createContextRelease(): ContextReleaseTool {
  return {
    name: "context_release",
    description:
      "Frees space in your context: drops results of earlier tool calls. First write down what you still need from them.",
    inputSchema,
    replay: "safe",
    releasesResults: true,
    execute: ({ callIds }, { messages }) => {
      if (callIds === undefined) return markSignal(toolResult({ data: { released: "all" } }), { release: "all" });
      const answered = answeredCalls(messages);
      const released = callIds.filter((id) => answered.has(id));
      const unknown = callIds.filter((id) => !answered.has(id));
      const data = unknown.length === 0 ? { released } : { released, unknown, known: [...answered.values()].slice(-maxKnown) };
      return markSignal(toolResult({ data }), { release: released });
    },
  };
}

function readRequest({ call_ids: ids }: UnknownRecord): StandardResult<ReleaseRequest> {
  if (ids === undefined || ids === null) return { value: { callIds: undefined } };
  const fits = Array.isArray(ids) && ids.length > 0 && ids.length <= maxIds;
  if (!fits) return issue(`must be an array of 1 to ${maxIds} ids`, "call_ids");
  const texts = ids.filter((id) => typeof id === "string");
  return texts.length === ids.length ? { value: { callIds: [...new Set(texts)] } } : issue("must be strings", "call_ids");
}

function answeredCalls(messages: ToolContext["messages"]): ReadonlyMap<string, AnsweredCall> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = results.filter(({ outcome }) => outcome === "completed");
  return new Map(completed.map(({ callId, name }) => [callId, { call_id: callId, tool: name }]));
}
