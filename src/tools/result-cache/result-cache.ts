// Keeps large results out of the context: the model reads where they are and how they begin, and looks the rest up with a tool.

import type { Clock } from "../../contract/clock.ts";
import type { Tool } from "../../contract/loop-options.ts";
import type { ResultCacher, ResultStore, StoredResult } from "../../contract/results.ts";
import type { StandardSchema } from "../../contract/schema.ts";
import { checkFields, type Checks, isFunction, numberWithin } from "../../errors/check-fields.ts";
import { cutText } from "../../kit/cut-text.ts";
import { countBytes, estimateTokens } from "../../kit/estimate-tokens.ts";
import { isRecord } from "../../kit/is-record.ts";
import { createCacheId, storedAt } from "./cache-id.ts";
import { cacheRequestSchema, type CacheRequest } from "./cache-request.ts";
import { lookUp } from "./look-up.ts";
import { createMemoryStore } from "./memory-store.ts";
import { toLines } from "./text-lines.ts";

/** Where a cache keeps results, for how long, and how much. */
export interface ResultCacheOptions {
  /** Default: in memory. `directoryStore` of `turnwright/cache` makes one of files. */
  readonly store?: ResultStore | undefined;
  /** How long a result can be looked up, in milliseconds; `Infinity` means for ever. Default 3,600,000. */
  readonly ttlMs?: number | undefined;
  /** Most bytes that are kept; the oldest results go first. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Results of more estimated tokens than this are kept here. Default 2,000. */
  readonly threshold?: number | undefined;
  /** Tells the time in milliseconds since 1970; no timer is set. Default: the platform's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A cache, in two parts. */
export interface ResultCache {
  /** Goes into `policies.results.cacher`. */
  readonly cacher: ResultCacher;
  /** The tool `result_cache`, with which the model looks things up. */
  readonly tool: Tool<CacheRequest, StandardSchema<unknown, CacheRequest>, Promise<string>>;
}

const toolName = "result_cache";
const previewLines = 10;
const longestPreview = 600;

/**
 * Makes a cache for large results. In place of such a result the model reads its id, its size and its first lines, and reads on, searches
 * or takes the end with the tool `result_cache`, whose answers are short. Whoever has an id can read the result: give each conversation a
 * cache of its own, or the same store where ids are secrets enough, for nobody can guess one.
 *
 * Throws LoopError "unknown-option" or "invalid-option". `cacher.store` rejects where a result is larger than `maxBytes`, and with what
 * the store throws: the pipeline tells listeners, and the result stays as it is.
 *
 * @example
 * const cache = createResultCache();
 * await runToolLoop({ provider, messages, tools: [search, cache.tool], policies: { results: { cacher: cache.cacher } } });
 */
export function createResultCache(options: ResultCacheOptions = {}): ResultCache {
  checkFields("options", options, checks);
  const { store = createMemoryStore(), ttlMs = 3_600_000, maxBytes = 64 * 1_024 * 1_024, threshold, clock = wallClock } = options;
  const shelf: Shelf = { store, ttlMs, maxBytes, clock };
  return {
    cacher: {
      threshold,
      toolName,
      // Its own answers are not cached in turn, however low the threshold.
      store: async (output, facts) => (facts.toolName === toolName ? output : keep(shelf, output, facts.toolName)),
    },
    tool: {
      name: toolName,
      description: "Looks into a large result of an earlier tool call that was kept aside: read lines, grep, head, tail, stats.",
      inputSchema: cacheRequestSchema,
      replay: "safe",
      execute: async (request) => lookUp(await find(shelf, request.id), request),
    },
  };
}

/** What a cache works with. */
interface Shelf {
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly store: ResultStore;
  readonly clock: Pick<Clock, "now">;
}

/** Not the loop's clock: what is in files outlives the process, and so does its age. */
const wallClock: Pick<Clock, "now"> = { now: () => Date.now() };

async function keep(shelf: Shelf, output: string, name: string): Promise<string> {
  const bytes = countBytes(output);
  if (bytes > shelf.maxBytes) throw new Error(`A result of ${bytes} bytes does not fit into a cache of ${shelf.maxBytes}.`);
  await makeRoom(shelf, bytes);
  const id = createCacheId(shelf.clock.now());
  await shelf.store.write(id, output);
  // Others may have written meanwhile.
  await makeRoom(shelf, 0);
  return describeKept(output, id, name);
}

/** Drops what is too old, and the oldest of the rest until there is room for so many bytes more. */
async function makeRoom({ store, ttlMs, maxBytes, clock }: Shelf, bytes: number): Promise<void> {
  const now = clock.now();
  const kept = (await store.list()).flatMap((result) => withTime(result)).sort((a, b) => a.time - b.time);
  let total = kept.reduce((sum, result) => sum + result.bytes, bytes);
  for (const { id, bytes: size, time } of kept) {
    if (total <= maxBytes && now - time < ttlMs) return;
    await store.remove(id);
    total -= size;
  }
}

function withTime(result: StoredResult): readonly (StoredResult & { readonly time: number })[] {
  const time = storedAt(result.id);
  return time === undefined ? [] : [{ ...result, time }];
}

/** The text of an id. Ids of a model are looked at before the store is asked. */
async function find({ store, ttlMs, clock }: Shelf, id: string): Promise<string> {
  const time = storedAt(id);
  const isFresh = time !== undefined && clock.now() - time < ttlMs;
  const text = isFresh ? await store.read(id) : undefined;
  if (text === undefined) throw new Error("There is no result of this id, or it is not kept any more.");
  return text;
}

function describeKept(output: string, id: string, name: string): string {
  const lines = toLines(output);
  const preview = cutText(lines.slice(0, previewLines).join("\n"), longestPreview);
  return [
    `[Result of ${name} kept aside: about ${estimateTokens(output)} tokens, ${lines.length} lines.`,
    ` Look into it with the tool ${toolName}, id "${id}". It begins:]\n${preview}`,
  ].join("");
}

const methods: readonly (keyof ResultStore)[] = ["write", "read", "remove", "list"];
const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  isRecord(value) && names.every((name) => isFunction(value[name]));

const checks: Checks<ResultCacheOptions> = {
  store: ['a store: an object with "write", "read", "remove" and "list"', (value) => hasMethods(value, methods)],
  ttlMs: numberWithin({ min: 1 }),
  maxBytes: numberWithin({ min: 1 }),
  threshold: numberWithin({ min: 0 }),
  clock: ['a clock: an object with "now"', (value) => hasMethods(value, ["now"])],
};
