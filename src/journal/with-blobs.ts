import { checkFields, type Checks, checkStepRecord, invalidOption, isRecord, wrapJournal } from "../core/kit.ts";
import { describeValue } from "../shared/texts.ts";
import { isThenable } from "../shared/guards.ts";
import { type Journal, LoopError } from "../core/index.ts";
import { whenAllReady, whenReady } from "../shared/promises.ts";
import { isJournal } from "./replay-journal.ts";
import { createHash } from "node:crypto";

/** A store for large strings. Each string has an id of 64 hexadecimal digits, computed from the string. */
export interface BlobStore {
  /**
   * Stores text. The record that needs it is written once `put` has resolved. The same text may be stored again under its id, even by
   * several processes at the same time.
   */
  put(id: string, text: string): PromiseLike<void> | void;
  /** Returns the stored text for each of these ids, by id. Omits unknown ids. No id is passed twice. */
  get(ids: readonly string[]): PromiseLike<ReadonlyMap<string, string>> | ReadonlyMap<string, string>;
}

/** The options for `withBlobs`. */
export interface BlobOptions {
  readonly store: BlobStore;
  /** Parts of records that exceed this many bytes are stored as blobs. Default 100,000. */
  readonly minBytes?: number | undefined;
}

const isStore = (value: unknown): boolean =>
  isRecord(value) && typeof value["put"] === "function" && typeof value["get"] === "function";

const checks: Checks<BlobOptions> = {
  store: ['an object with the methods "put" and "get"', isStore, undefined, true],
  minBytes: { min: 0 },
};

/**
 * Wraps a journal so that large parts of its records are stored in a blob store. Wrap the journal each time you use it, including
 * for `inspectJournal` and `replayJournal`. A field of a record is stored as a blob if its JSON text is larger than `minBytes`.
 * Equal fields share one blob. Blobs are never removed.
 *
 * A run rejects with the store's errors, and with LoopError "journal-damaged" if a blob is missing, or if the journal has
 * records that were written without `withBlobs`. Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const store = fileBlobStore("runs/blobs");
 * const journal = withBlobs(fileJournal("runs/order-7.jsonl"), { store });
 */
export function withBlobs(journal: Journal, options: BlobOptions): Journal {
  if (!isJournal(journal)) throw invalidOption("journal", "a journal", journal);
  checkFields("options", options, checks);
  const { store, minBytes = usualMinBytes } = options;
  const inner = wrapJournal(journal);
  const { open } = inner;
  const puts = new Set<PromiseLike<unknown>>();
  return {
    ...inner,
    step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
      let fresh: Texts | undefined;
      const pack = (value: T): BlobRecord | PromiseLike<BlobRecord> => {
        const { record, texts } = packRecord(value, minBytes);
        fresh = texts;
        const stored = whenAllReady([...texts].map(([id, text]) => store.put(id, text)));
        return isThenable(stored) ? trackUntilEnd(puts, stored).then(() => record) : record;
      };
      const record = journal.step<unknown>(key, () => whenReady(body(), pack));
      return whenReady(record, (found) => unpack(store, { key, found, fresh }) as T | PromiseLike<T>);
    },
    read: (key) =>
      whenReady(journal.read(key), (found) => (found === undefined ? found : unpack(store, { key, found, fresh: undefined }))),
    ...(open !== undefined && { open: (how) => open(how).then((close) => () => settle(puts).then(close)) }),
  };
}

function trackUntilEnd<T>(pending: Set<PromiseLike<unknown>>, work: PromiseLike<T>): PromiseLike<T> {
  const remove = (): void => void pending.delete(work);
  pending.add(work);
  work.then(remove, remove);
  return work;
}

/**
 * Waits until the text from all steps is stored. A rejected run does not wait for its steps, so the journal
 * would otherwise close before finished steps are recorded.
 */
async function settle(puts: ReadonlySet<PromiseLike<unknown>>): Promise<void> {
  if (puts.size === 0) return;
  await Promise.allSettled(puts);
  // Waits once more, because the record reaches the journal a few microtasks after `put` resolves.
  await new Promise((resolve) => void setImmediate(resolve));
}

type Texts = ReadonlyMap<string, string>;

const noTexts: Texts = new Map();

interface Found {
  readonly key: string;
  readonly found: unknown;
  /** The text that this step has just stored, by id. Undefined if its body has not run. */
  readonly fresh: Texts | undefined;
}

function unpack(store: BlobStore, { key, found, fresh }: Found): unknown {
  const record = readBlobRecord(key, found);
  const ids = blobIdsOf(record);
  const isKnown = ids.every((id) => fresh?.has(id));
  const texts = isKnown ? (fresh ?? noTexts) : store.get([...new Set(ids)]);
  return whenReady(texts, (known) => {
    const value = unpackRecord(key, record, known);
    if (fresh === undefined) checkStepRecord(key, value);
    return value;
  });
}

/**
 * A record whose large parts are in a blob store. Every recorded value is wrapped in an object, so that data such as a tool's
 * result cannot be mistaken for a blob's id.
 */
type BlobRecord =
  | {
      /** The recorded value. Fields that are in the blob store are null here, so that the fields keep their order. */
      readonly value: unknown;
      readonly blobs?: readonly (readonly [field: string, id: string])[];
    }
  /** The id of a blob that contains the whole value. */
  | { readonly blob: string };

interface PackedRecord {
  readonly record: BlobRecord;
  /** The blobs to store before the record is written: text by id. */
  readonly texts: ReadonlyMap<string, string>;
}

const usualMinBytes = 100_000;

export function isBlobId(value: unknown): value is string {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

export function toBlobId(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Moves the fields of `value` that are larger than `minBytes` into blobs. A value that is not an object is moved as a whole. */
function packRecord(value: unknown, minBytes: number): PackedRecord {
  const texts = new Map<string, string>();
  const toBlob = (part: unknown): string | undefined => {
    const text = JSON.stringify(part) as string | undefined;
    if (text === undefined || Buffer.byteLength(text) <= minBytes) return undefined;
    const id = toBlobId(text);
    texts.set(id, text);
    return id;
  };
  if (!isRecord(value)) {
    const id = toBlob(value);
    return { record: id === undefined ? { value } : { blob: id }, texts };
  }
  const ids = new Map<string, string>();
  for (const [field, part] of Object.entries(value)) {
    const id = toBlob(part);
    if (id !== undefined) ids.set(field, id);
  }
  if (ids.size === 0) return { record: { value }, texts };
  const rest = Object.entries(value).map(([field, part]) => [field, ids.has(field) ? null : part] as const);
  return { record: { value: Object.fromEntries(rest), blobs: [...ids] }, texts };
}

function readBlobRecord(key: string, given: unknown): BlobRecord {
  if (isBlobRecord(given)) return given;
  const problem = `is not in the format of "withBlobs": it is ${describeValue(given)}. Read it without "withBlobs" if it was written without it`;
  throw new LoopError("journal-damaged", { key, problem });
}

function isBlobRecord(given: unknown): given is BlobRecord {
  if (!isRecord(given)) return false;
  const { value, blobs, blob } = given;
  const count = Object.keys(given).length;
  if (count === 1) return Object.hasOwn(given, "value") || isBlobId(blob);
  if (count !== 2 || !isRecord(value) || !Array.isArray(blobs)) return false;
  return blobs.every((pair: unknown) => Array.isArray(pair) && Object.hasOwn(value, pair[0] as string) && isBlobId(pair[1]));
}

function blobIdsOf(record: BlobRecord): readonly string[] {
  return "blob" in record ? [record.blob] : (record.blobs ?? []).map(([, id]) => id);
}

function unpackRecord(key: string, record: BlobRecord, texts: ReadonlyMap<string, string>): unknown {
  const read = (id: string): unknown => {
    const text = texts.get(id);
    if (text !== undefined && toBlobId(text) === id) return JSON.parse(text);
    const state = text === undefined ? "is not in the blob store" : "was changed in the blob store";
    throw new LoopError("journal-damaged", {
      key,
      problem: `needs the blob ${id}, which ${state}`,
    });
  };
  if ("blob" in record) return read(record.blob);
  const { value, blobs } = record;
  if (blobs === undefined) return value;
  const ids = new Map(blobs);
  const entries = Object.entries(value as object).map(([field, part]: [string, unknown]) => {
    const id = ids.get(field);
    return [field, id === undefined ? part : read(id)] as const;
  });
  return Object.fromEntries(entries);
}
