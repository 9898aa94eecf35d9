import { checkStepRecord, isPacked } from "../core/kit.ts";
import { enableJournals, type Journal } from "../core/index.ts";
import type { FileJournalOptions } from "./journal-session.ts";
import { JournalFile } from "./opened-file.ts";

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
  records(): Promise<ReadonlyMap<string, unknown>>;
}

/**
 * Creates a journal that is stored in a file, one file per run. To continue a run, even in another process or after a crash, repeat
 * the same call with the same file. Recorded steps do not run again. The file is opened when the run begins, and closed when the
 * run ends. The file's folder is created if it does not exist.
 *
 * Each line of the file is a JSON record with a checksum. Only the file's owner can read it. If a crash left the last line incomplete, that
 * line is passed to `onTornLine` and then removed.
 *
 * While the journal is open, there is a lock file, named like the journal with `.lock` appended. The run rejects with file system errors,
 * and with one of these LoopErrors:
 *
 * - "journal-refused" if the file cannot be used safely
 * - "journal-damaged", with the line or the key, if the file was changed
 * - "journal-locked" while another live writer has the file open
 * - "journal-mismatch" if an earlier version of turnwright wrote the file
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid.
 *
 * @example
 * const options = { provider, tools, messages, runId: "order-7" };
 * const result = await runToolLoop({ ...options, journal: fileJournal("runs/order-7.jsonl") });
 */
export function fileJournal(path: string, options: FileJournalOptions = {}): FileJournal {
  enableJournals();
  const file = new JournalFile(path, options);
  // Keys of records that must still be checked. Records written by this execution need no check.
  let unchecked: Set<string> = new Set();
  const read = (key: string): unknown => {
    const found = file.records?.get(key);
    if (unchecked.delete(key)) checkStepRecord(key, found);
    return found;
  };
  return {
    durable: true,
    path,
    async open(how) {
      const close = await file.open(how);
      const { records = new Map<string, unknown>() } = file;
      unchecked = new Set(isPacked(records) ? [] : records.keys());
      return close;
    },
    read,
    step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
      read(key);
      return file.step(key, body);
    },
    keys: async () => [...(file.records ?? (await file.read())).keys()],
    records: () => file.read(),
  };
}
