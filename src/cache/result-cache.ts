// Keeps large results out of the context: the model reads the id and the beginning of a result, and reads the rest with a tool.

import {
  checkFields,
  type Checks,
  type Clock,
  countBytes,
  cutText,
  isFunction,
  isRecord,
  numberWithin,
  type ResultCacher,
  type ResultStore,
  type StandardSchema,
  tokensOfBytes,
  type Tool,
} from "../core/entry-kit.ts";
import { type CacheRequest, cacheRequestSchema } from "./cache-request.ts";
import { indexLines, type Kept, type LineIndex, linesFrom, lookUp } from "./look-up.ts";
import { Shelf } from "./shelf.ts";

/** Makes a store in memory. */
export function createMemoryStore(): ResultStore {
  const texts = new Map<string, { readonly text: string; readonly bytes: number }>();
  return {
    write: (id, text) => void texts.set(id, { text, bytes: countBytes(text) }),
    read: (id) => texts.get(id)?.text,
    remove: (id) => void texts.delete(id),
    list: () => [...texts].map(([id, { bytes }]) => ({ id, bytes })),
  };
}

/** The store of a cache, and the limits on age and size. */
export interface ResultCacheOptions {
  /** Default: in memory. `directoryStore` of `turnwright/cache` stores files. */
  readonly store?: ResultStore | undefined;
  /** How long a result can be read, in milliseconds; `Infinity` means for ever. Default 3,600,000. */
  readonly ttlMs?: number | undefined;
  /** Most bytes to keep. The oldest results are dropped first. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Results with more estimated tokens than this are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The time in milliseconds since 1970. No timer is set. Default: the platform's. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A cache, in two parts. */
export interface ResultCache {
  /** The `cacher` of `processResults`. */
  readonly cacher: ResultCacher;
  /** The tool `result_cache`, with which the model reads results. */
  readonly tool: Tool<CacheRequest, StandardSchema<unknown, CacheRequest>, Promise<string>>;
}

const toolName = "result_cache";
const previewLines = 10;
const longestPreview = 600;
/** How many results have a cached line index. */
const mostIndexes = 16;

/**
 * Makes a cache for large results. Instead of such a result, the model reads its id, its size and its first lines. With the tool
 * `result_cache` it can read on, search, or read the end; the results of the tool are short.
 *
 * Anyone with an id can read the result, and ids cannot be guessed. Use a cache per conversation, or share a store if keeping ids
 * secret is enough.
 *
 * Throws LoopError "unknown-option" or "invalid-option". `cacher.store` rejects if a result is larger than `maxBytes`, and with
 * errors of the store. The pipeline then emits an error, and the result stays unchanged.
 *
 * @example
 * const cache = createResultCache();
 * await runToolLoop({ provider, messages, tools: [search, cache.tool], policies: { results: processResults({ cacher: cache.cacher }) } });
 */
export function createResultCache(options: ResultCacheOptions = {}): ResultCache {
  checkFields("options", options, checks);
  const { store = createMemoryStore(), ttlMs = 3_600_000, maxBytes = 64 * 1_024 * 1_024, threshold, clock = wallClock } = options;
  const shelf = new Shelf({ store, ttlMs, maxBytes, clock });
  const indexOf = rememberIndexes();
  return {
    cacher: {
      threshold,
      toolName,
      // Results of its own tool are never cached, even with a low threshold.
      store: async (output, facts) => {
        if (facts.toolName === toolName) return output;
        const id = await shelf.keep(output);
        return describeKept({ text: output, index: indexOf(id, output) }, id, facts.toolName);
      },
    },
    tool: {
      name: toolName,
      description: "Looks into a large result of an earlier tool call that was kept aside: read lines, grep, head, tail, stats.",
      inputSchema: cacheRequestSchema,
      replay: "safe",
      execute: async (request) => {
        const text = await shelf.find(request.id);
        if (text === undefined) throw new Error("There is no result of this id, or it is not kept any more.");
        return lookUp({ text, index: indexOf(request.id, text) }, request);
      },
    },
  };
}

/** Real time, not the clock of the loop: files outlive the process. */
const wallClock: Pick<Clock, "now"> = { now: () => Date.now() };

/** Caches line indexes by id. The text of an id never changes, and a model reads few results at a time. */
function rememberIndexes(): (id: string, text: string) => LineIndex {
  const known = new Map<string, LineIndex>();
  return (id, text) => {
    const index = known.get(id) ?? indexLines(text);
    known.delete(id);
    known.set(id, index);
    for (const oldest of known.keys()) {
      if (known.size <= mostIndexes) break;
      known.delete(oldest);
    }
    return index;
  };
}

function describeKept({ text, index }: Kept, id: string, name: string): string {
  const lines: string[] = [];
  for (const line of linesFrom(text, index, 1)) if (lines.push(line) === previewLines) break;
  const preview = cutText(lines.join("\n"), longestPreview);
  return [
    `[Result of ${name} kept aside: about ${tokensOfBytes(index.bytes)} tokens, ${index.count} lines.`,
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
