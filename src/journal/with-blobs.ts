import {
  bindJournal,
  checkFields,
  checkRequired,
  type Checks,
  invalidOption,
  isRecord,
  isThenable,
  type Journal,
  numberWithin,
  type Step,
  whenAllReady,
  whenReady,
} from "../core/entry-kit.ts";
import { isJournal } from "./replay-journal.ts";
import { type BlobRecord, blobIdsOf, packRecord, readBlobRecord, unpackRecord, usualMinBytes } from "./blob-records.ts";

/** A store for large texts. Each text has an id that is made from the text: 64 hexadecimal digits. */
export interface BlobStore {
  /**
   * Stores a text. The record that needs the text is written after `put` has resolved. The same text may be stored again under
   * its id, even by several processes at the same time.
   */
  put(id: string, text: string): PromiseLike<void> | void;
  /** Returns the texts with these ids, by id. Omits unknown ids. No id is passed twice. */
  get(ids: readonly string[]): PromiseLike<ReadonlyMap<string, string>> | ReadonlyMap<string, string>;
}

/** The options of `withBlobs`. */
export interface BlobOptions {
  readonly store: BlobStore;
  /** Parts of records that have more bytes than this are stored as blobs. Default 100,000. */
  readonly minBytes?: number | undefined;
}

const isStore = (value: unknown): boolean =>
  isRecord(value) && typeof value["put"] === "function" && typeof value["get"] === "function";

const checks: Checks<BlobOptions> = {
  store: ['an object with the methods "put" and "get"', isStore],
  minBytes: numberWithin({ min: 0 }),
};

/**
 * Wraps a journal so that large parts of its records are kept in a blob store. Wrap the journal each time you use it, including
 * for `inspectJournal` and `replayJournal`. A field of a record is stored as a blob if its JSON text is larger than `minBytes`.
 * Equal fields share one blob. Blobs are never removed.
 *
 * A run rejects with the errors of the store, and with LoopError "journal-damaged" if a blob is missing, or if the journal has
 * records that were written without `withBlobs`. Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const store = fileBlobStore("runs/blobs");
 * const journal = withBlobs(fileJournal("runs/order-7.jsonl"), { store });
 */
export function withBlobs(journal: Journal, options: BlobOptions): Journal {
  if (!isJournal(journal)) throw invalidOption("journal", "a journal", journal);
  checkFields("options", options, checks);
  checkRequired(options, checks, ["store"]);
  const { store, minBytes = usualMinBytes } = options;
  const bound = bindJournal(journal);
  const { read, open } = bound;
  const puts = new Set<PromiseLike<unknown>>();
  const reader = new BlobReader(store, read);
  const pack = <T>(one: Step<T>, fresh: Map<string, string>): Step<BlobRecord> => ({
    ...one,
    run: (call) =>
      whenReady(one.run(call), (value) => {
        const { record, texts } = packRecord(value, minBytes);
        for (const [id, text] of texts) fresh.set(id, text);
        const stored = whenAllReady([...texts].map(([id, text]) => store.put(id, text)));
        return isThenable(stored) ? trackUntilEnd(puts, stored).then(() => record) : record;
      }),
  });
  const step = <T>(one: Step<T>): PromiseLike<T> | T => {
    const fresh = new Map<string, string>();
    return whenReady(bound.step(pack(one, fresh)), (answer) => {
      const values = reader.unpack([[one.key, answer]], fresh);
      return whenReady(values, ([value]) => value as T);
    });
  };
  const all = <T>(steps: readonly Step<T>[]): PromiseLike<readonly T[]> | readonly T[] => {
    const fresh = new Map<string, string>();
    return whenReady(bound.all(steps.map((one) => pack(one, fresh))), (answers) => {
      const records = answers.map((answer, index) => [steps[index]?.key ?? "", answer] as const);
      return reader.unpack(records, fresh) as PromiseLike<readonly T[]> | readonly T[];
    });
  };
  const readAll = (): PromiseLike<Records> | Records => whenReady(read?.() ?? new Map(), (records) => reader.unpackAll(records));
  return {
    ...bound,
    step,
    all,
    ...(read === undefined ? {} : { read: readAll }),
    ...(open === undefined ? {} : { open: (how) => open(how).then((close) => () => settle(puts).then(close)) }),
  };
}

function trackUntilEnd<T>(pending: Set<PromiseLike<unknown>>, work: PromiseLike<T>): PromiseLike<T> {
  const remove = (): void => void pending.delete(work);
  pending.add(work);
  work.then(remove, remove);
  return work;
}

/**
 * Waits until the texts of all steps are stored. A run that rejects does not wait for its steps. Without this wait, the journal
 * would close before steps that have run are recorded.
 */
async function settle(puts: ReadonlySet<PromiseLike<unknown>>): Promise<void> {
  if (puts.size === 0) return;
  await Promise.allSettled(puts);
  // The journal gets the record some microtasks after `put` has resolved.
  await new Promise((resolve) => void setImmediate(resolve));
}

type Records = ReadonlyMap<string, unknown>;
type Texts = ReadonlyMap<string, string>;

const readAhead = 16;

const noTexts: Texts = new Map();

class BlobReader {
  readonly #store: BlobStore;
  readonly #readRecords: Journal["read"];
  /**
   * The blobs that the most recent call of `get` returned. A replay probably needs most of these blobs for the following steps.
   */
  #near: Texts = noTexts;
  /** The ids of all blobs that were recorded when the replay began, in the order of the records. */
  #order: PromiseLike<readonly string[]> | readonly string[] | undefined;

  constructor(store: BlobStore, readRecords: Journal["read"]) {
    this.#store = store;
    this.#readRecords = readRecords;
  }

  /** `fresh` has the texts that the steps of this call have just stored, by id. */
  unpack(
    records: readonly (readonly [key: string, record: unknown])[],
    fresh: Texts,
  ): PromiseLike<readonly unknown[]> | readonly unknown[] {
    const read = records.map(([key, record]) => [key, readBlobRecord(key, record)] as const);
    const toValues = (texts: Texts): readonly unknown[] => read.map(([key, record]) => unpackRecord(key, record, texts));
    const ids = idsOf(read.map(([, record]) => record));
    const missing = ids.filter((id) => !fresh.has(id));
    if (missing.length === 0) return toValues(fresh);
    return whenReady(this.#find(missing), (texts) => toValues(fresh.size === 0 ? texts : new Map([...texts, ...fresh])));
  }

  unpackAll(records: Records): PromiseLike<Records> | Records {
    const read = [...records].map(([key, record]) => [key, readBlobRecord(key, record)] as const);
    const ids = idsOf(read.map(([, record]) => record));
    const texts = ids.length === 0 ? noTexts : this.#store.get(ids);
    return whenReady(texts, (found) => new Map(read.map(([key, record]) => [key, unpackRecord(key, record, found)])));
  }

  #find(ids: readonly string[]): PromiseLike<Texts> | Texts {
    if (ids.every((id) => this.#near.has(id))) return this.#near;
    this.#order ??= this.#readOrder();
    return whenReady(this.#order, (order) => {
      const at = order.indexOf(ids[0] ?? "");
      const next = at < 0 ? [] : order.slice(at, at + readAhead);
      return whenReady(this.#store.get([...new Set([...ids, ...next])]), (texts) => (this.#near = texts));
    });
  }

  #readOrder(): PromiseLike<readonly string[]> | readonly string[] {
    if (this.#readRecords === undefined) return [];
    return whenReady(this.#readRecords(), (records) => idsOf([...records].map(([key, record]) => readBlobRecord(key, record))));
  }
}

function idsOf(records: readonly BlobRecord[]): readonly string[] {
  return [...new Set(records.flatMap(blobIdsOf))];
}
