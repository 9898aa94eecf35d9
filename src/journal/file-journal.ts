import { type Journal, type Step, whenAllReady } from "../core/entry-kit.ts";
import { JournalFile } from "./opened-file.ts";
import type { FileJournalOptions } from "./journal-session.ts";

/** A journal in a file. */
export interface FileJournal extends Journal {
  readonly durable: true;
  /** The path that was passed to `fileJournal`. */
  readonly path: string;
  /**
   * Reads the file, and locks it unless `readOnly` is true. `runToolLoop` calls `open`. If you write your own loop, call `open`
   * before the first step. The returned function closes the journal.
   */
  open(how?: { readonly readOnly?: boolean | undefined }): Promise<() => Promise<void>>;
  /** Reads all records that are in the file now, without locking the file. Ignores an incomplete last line. */
  read(): Promise<ReadonlyMap<string, unknown>>;
}

/**
 * Makes a journal that is stored in a file, one file per run. To continue a run, even in another process or after a crash, repeat
 * the same call with the same file. Recorded steps do not run again. The file is opened when the run begins, and closed when the
 * run ends. The folder of the file is created if it does not exist.
 *
 * Each line of the file is a JSON record with a checksum. Only the owner of the file can read it. If a crash has cut off the last
 * line, this incomplete line is passed to `onTornLine` and then removed.
 *
 * While the journal is open, there is a lock file, named like the journal with `.lock` appended. The run rejects with errors from
 * the disk, and with one of these LoopErrors:
 *
 * - "journal-refused" if the file cannot be used safely
 * - "journal-damaged", with the line, if the file was changed
 * - "journal-locked" while another writer that is alive has the file open
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const options = { provider, tools, messages, runId: "order-7" };
 * const result = await runToolLoop({ ...options, journal: fileJournal("runs/order-7.jsonl") });
 */
export function fileJournal(path: string, options: FileJournalOptions = {}): FileJournal {
  const file = new JournalFile(path, options);
  const step = <T>(one: Step<T>): PromiseLike<T> | T => file.step(one, () => one.run({}));
  return {
    durable: true,
    path,
    open: (how) => file.open(how),
    step,
    all: (steps) => whenAllReady(steps.map(step)),
    has: (key) => file.records?.has(key) === true,
    read: () => file.read(),
  };
}
