// Opens one journal file. Only one run at a time can write to it, but any process can read it.

import { hostname } from "node:os";
import { checkFields, type Checks, invalidOption, is } from "../core/kit.ts";
import { LoopError } from "../core/index.ts";
import { type FileJournalOptions, type JournalSession, openJournal, readJournal } from "./journal-session.ts";

const optionChecks: Checks<FileJournalOptions> = {
  fsync: is.flag,
  redact: is.fn,
  onTornLine: is.fn,
};

export class JournalFile {
  readonly #path: string;
  readonly #options: FileJournalOptions;
  #isTaken = false;
  #session: JournalSession | undefined;

  constructor(path: string, options: FileJournalOptions) {
    if (typeof path !== "string" || path === "" || /^file:/i.test(path))
      throw invalidOption("path", 'a file path as a string (convert a URL with fileURLToPath from "node:url")', path);
    checkFields("options", options, optionChecks);
    this.#path = path;
    this.#options = { ...options };
  }

  /** The records of the open file. Undefined if the file is not open. */
  get records(): ReadonlyMap<string, unknown> | undefined {
    return this.#session?.answers;
  }

  /** Reads the file, and locks it unless `readOnly` is true. If the file is already open, opening it read-only does nothing. */
  async open({ readOnly = false }: { readonly readOnly?: boolean | undefined } = {}): Promise<() => Promise<void>> {
    const path = this.#path;
    if (readOnly && this.#session !== undefined) return () => Promise.resolve();
    if (this.#isTaken) {
      const holder = { pid: process.pid, host: hostname(), isVisible: true };
      throw new LoopError("journal-locked", { path, lockPath: `${path}.lock`, ...holder });
    }
    this.#isTaken = true;
    try {
      this.#session = await (readOnly ? readJournal(path) : openJournal(path, this.#options));
    } catch (error) {
      this.#isTaken = false;
      throw error;
    }
    const { close } = this.#session;
    let closing: Promise<void> | undefined;
    return () => {
      closing ??= close().finally(() => {
        this.#isTaken = false;
        this.#session = undefined;
      });
      return closing;
    };
  }

  /** Returns the recorded result, or runs `body` and records its result. */
  step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
    const records = this.records;
    return records?.has(key) === true ? (records.get(key) as T) : this.#perform(key, body);
  }

  /**
   * Runs a step and records its result. Rejects with LoopError "journal-closed", and records nothing, if the journal was closed before the
   * step ended.
   */
  async #perform<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
    const session = this.#session;
    if (session === undefined) throw new LoopError("journal-closed", { path: this.#path });
    session.check();
    return session.record(key, await body());
  }

  /** Reads all records that are in the file now, without locking the file. Ignores an incomplete last line. */
  async read(): Promise<ReadonlyMap<string, unknown>> {
    return (await readJournal(this.#path)).answers;
  }
}
