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

export function createMemoryStore(): ResultStore {
  const texts = new Map<string, { readonly text: string; readonly bytes: number }>();
  return {
    write: (id, text) => void texts.set(id, { text, bytes: countBytes(text) }),
    read: (id) => texts.get(id)?.text,
    remove: (id) => void texts.delete(id),
    list: () => [...texts].map(([id, { bytes }]) => ({ id, bytes })),
  };
}

/** The options of `createResultCache`. */
export interface ResultCacheOptions {
  /**
   * The store for the results. Default: a store in memory. To keep results in files, use `directoryStore` from
   * `turnwright/cache`.
   */
  readonly store?: ResultStore | undefined;
  /** The time in milliseconds for which a result can be read. `Infinity` means that results never expire. Default 3,600,000. */
  readonly ttlMs?: number | undefined;
  /** The maximum number of bytes to keep. The oldest results are dropped first. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Results with more estimated tokens than this number are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The clock for the age of results. `now` returns milliseconds since 1970. The cache sets no timers. Default: `Date.now`. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A cache for large tool results. Pass `cacher` to `processResults`, and add `tool` to the tools of the run. */
export interface ResultCache {
  /** Stores the results. Pass it as `cacher` to `processResults`. */
  readonly cacher: ResultCacher;
  /** The tool `result_cache`, with which the model reads stored results. Add it to `tools`. */
  readonly tool: Tool<CacheRequest, StandardSchema<unknown, CacheRequest>, Promise<string>>;
}

const toolName = "result_cache";
const previewLines = 10;
const longestPreview = 600;
const mostIndexes = 16;

/**
 * Makes a cache for large results. The model gets the id, the size and the first lines of a large result. With the tool
 * `result_cache`, the model can read more lines or search the result. The results of this tool are short.
 *
 * Anyone with the id of a result can read the result. Ids cannot be guessed. Use one cache per conversation. Share a store between
 * caches only if secret ids are enough protection.
 *
 * Throws LoopError "unknown-option" or "invalid-option". `cacher.store` rejects if a result is larger than `maxBytes`, or if the
 * store fails. `processResults` then reports the error, and the model gets the whole result.
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
      // Results of the tool `result_cache` are never stored, even with a low threshold.
      store: async (output, facts) => {
        if (facts.toolName === toolName) return output;
        const id = await shelf.keep(output);
        return describeKept({ text: output, index: indexOf(id, output) }, id, facts.toolName);
      },
    },
    tool: {
      name: toolName,
      description: "Reads or searches the stored result of an earlier tool call. Actions: read (lines), grep, head, tail, stats.",
      inputSchema: cacheRequestSchema,
      replay: "safe",
      execute: async (request) => {
        const text = await shelf.find(request.id);
        if (text === undefined)
          throw new Error(
            "There is no stored result with this id, or the result has expired. Repeat the call that returned the result.",
          );
        return lookUp({ text, index: indexOf(request.id, text) }, request);
      },
    },
  };
}

/** Stored files outlive the process, so their age is measured with the time of day, not with the clock of a run. */
const wallClock: Pick<Clock, "now"> = { now: () => Date.now() };

/**
 * Returns a function that keeps the line indexes of recent texts. The text with a given id never changes, and a model reads few
 * results at the same time.
 */
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
    `[The result of ${name} is stored: about ${tokensOfBytes(index.bytes)} tokens, ${index.count} lines.`,
    ` To read or search it, use the tool ${toolName} with the id "${id}". The result begins:]\n${preview}`,
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
