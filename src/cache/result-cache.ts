import { checkFields, type Checks, isRecord } from "../core/kit.ts";
import type { ResultCacher, ResultStore } from "../core/types/middleware-options.ts";
import type { Clock, StandardSchema, Tool, ToolResult } from "../core/index.ts";
import { countBytes, tokensOfBytes } from "../shared/estimate-tokens.ts";
import { cutText } from "../shared/texts.ts";
import { isFunction, isText } from "../shared/errors/check-fields.ts";
import { sourceName } from "./file-source.ts";
import { createReader, toolName } from "./read-part.ts";
import { type ReadRequest, readRequestSchema, type ReadSource } from "./read-request.ts";
import { rememberRecent } from "./read-part.ts";
import { LimitedStore } from "./result-store.ts";
import { indexLines, type LineIndex, linesFrom } from "./text-lines.ts";

export function createMemoryStore(): ResultStore {
  const texts = new Map<string, { readonly text: string; readonly bytes: number }>();
  return {
    write: (id, text) => void texts.set(id, { text, bytes: countBytes(text) }),
    read: (id) => texts.get(id)?.text,
    remove: (id) => void texts.delete(id),
    list: () => [...texts].map(([id, { bytes }]) => ({ id, bytes })),
  };
}

/** The options for `createResultCache`. */
export interface ResultCacheOptions {
  /**
   * The store for the results. Default: a store in memory. To keep results in files, use `directoryStore` from
   * `turnwright/cache`.
   */
  readonly store?: ResultStore | undefined;
  /**
   * Other text that the model can read with the tool: `fileSource` from `turnwright/cache`, `resourceSource` from
   * `turnwright/mcp`, or your own. The first source that has text with the requested id is used. Default: none.
   */
  readonly sources?: readonly ReadSource[] | undefined;
  /** How long a result can be read, in milliseconds. `Infinity` means that results never expire. Default 3,600,000. */
  readonly ttlMs?: number | undefined;
  /** The maximum number of bytes to keep. The oldest results are dropped first. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** Results whose estimated token count exceeds this number are stored. Default 2,000. */
  readonly threshold?: number | undefined;
  /** The clock that measures the age of results. `now` returns milliseconds since 1970. The cache sets no timers. Default: `Date.now`. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** A cache for large tool results. Pass `cacher` to `processResults`, and add `tool` to the run's tools. */
export interface ResultCache {
  /** Stores the results. Pass it as `cacher` to `processResults`. */
  readonly cacher: ResultCacher;
  /** The `read_part` tool, which lets the model read stored results and text from `sources` in parts. Add it to `tools`. */
  readonly tool: Tool<ReadRequest, StandardSchema<unknown, ReadRequest>, Promise<string | ToolResult>>;
}

const previewLines = 10;
const maxPreviewLength = 600;

/**
 * Creates a cache for large results. The model gets the id, the size and the first lines of a large result. With the `read_part`
 * tool, the model reads more lines, searches the text, or selects JSON values with a JSONPath expression. The tool also reads
 * files and MCP resources, if you pass `sources`. This tool's results are at most about 6,000 bytes long.
 *
 * When the model has read enough, it can release the text: later requests then leave out what was read from the text, and a stored
 * result is deleted.
 *
 * Anyone with a result's id can read the result. Ids cannot be guessed. Use one cache per conversation. Share a store
 * between caches only if secret ids provide enough protection.
 *
 * Throws LoopError "unknown-option" or "invalid-option". `cacher.store` rejects if a result is larger than `maxBytes`, or if the
 * store fails. `processResults` then reports the error, and the model gets the whole result.
 *
 * @example
 * const cache = createResultCache({ sources: [fileSource("./data")] });
 * await runToolLoop({ provider, messages, tools: [search, cache.tool], middleware: [processResults({ cacher: cache.cacher })] });
 */
export function createResultCache(options: ResultCacheOptions = {}): ResultCache {
  checkFields("options", options, checks);
  const { store = createMemoryStore(), ttlMs = 3_600_000, maxBytes = 64 * 1_024 * 1_024, threshold, clock = wallClock } = options;
  const sources = [...(options.sources ?? [])];
  const shelf = new LimitedStore({ store, ttlMs, maxBytes, clock });
  const recent = rememberRecent<LineIndex>();
  const indexOf = (id: string, text: string): LineIndex => recent(id, () => indexLines(text));
  return {
    cacher: {
      threshold,
      toolName,
      // Never stores a result of `read_part`. Otherwise, with a low `threshold`, the model could never see a whole part.
      store: async (output, facts) => {
        if (facts.toolName === toolName) return output;
        const id = await shelf.keep(output);
        return describeKept({ text: output, index: indexOf(id, output) }, id, facts.toolName);
      },
    },
    tool: {
      name: toolName,
      description: describeTool(sources),
      inputSchema: readRequestSchema,
      replay: "safe",
      releasesResults: true,
      execute: createReader({ shelf, indexOf, sources }),
    },
  };
}

/** Stored files outlive the process, so their age is measured in wall-clock time, not with a run's clock. */
const wallClock: Pick<Clock, "now"> = { now: () => Date.now() };

function describeTool(sources: readonly ReadSource[]): string {
  const texts = ["results of earlier tool calls that were stored", ...sources.map(({ description }) => description)];
  return `Reads or searches parts of long texts. Texts: ${texts.join("; ")}. Actions: read (lines), grep, head, tail, json (JSONPath), stats, release.`;
}

interface Kept {
  readonly text: string;
  readonly index: LineIndex;
}

function describeKept({ text, index }: Kept, id: string, name: string): string {
  const lines: string[] = [];
  for (const line of linesFrom(text, index, 1)) if (lines.push(line) === previewLines) break;
  const preview = cutText(lines.join("\n"), maxPreviewLength);
  return [
    `[The result of ${name} is stored: about ${tokensOfBytes(index.bytes)} tokens, ${index.count} lines.`,
    ` To read or search it, use the tool ${toolName} with the id "${id}". The result begins:]\n${preview}`,
  ].join("");
}

const methods: readonly (keyof ResultStore)[] = ["write", "read", "remove", "list"];
const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  isRecord(value) && names.every((name) => isFunction(value[name]));

function areSources(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const names = value.map((source: unknown) => (isSource(source) ? source.name : undefined));
  return names.every((name) => name !== undefined) && new Set(names).size === names.length;
}

function isSource(value: unknown): value is ReadSource {
  return isRecord(value) && sourceName[1](value["name"]) && isText(value["description"]) && isFunction(value["open"]);
}

const checks: Checks<ResultCacheOptions> = {
  sources: ["an array of sources with different names", areSources],
  store: ['a store: an object with "write", "read", "remove" and "list"', (value) => hasMethods(value, methods)],
  ttlMs: { min: 1 },
  maxBytes: { min: 1 },
  threshold: { min: 0 },
  clock: ['a clock: an object with "now"', (value) => hasMethods(value, ["now"])],
};
