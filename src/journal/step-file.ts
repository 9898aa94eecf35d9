import { checkStepRecord, type Json, type StepJournal } from "../core/entry-kit.ts";
import { JournalFile } from "./opened-file.ts";
import type { FileJournalOptions } from "./journal-session.ts";

/** A journal in a file. */
export interface StepFile extends StepJournal {
  readonly durable: true;
  /** The path that was passed to `fileSteps`. */
  readonly path: string;
  /** Reads the file, and locks it unless `readOnly` is true. The returned function closes the journal. */
  open(how?: { readonly readOnly?: boolean | undefined }): Promise<() => Promise<void>>;
  /** Reads all records that are in the file now, without locking the file. Ignores an incomplete last line. */
  records(): Promise<ReadonlyMap<string, unknown>>;
}

/** The options of `fileSteps`. */
export interface StepFileOptions extends Omit<FileJournalOptions, "redact"> {
  /**
   * Returns the result to write instead of a step's actual result. Must be synchronous. The returned result must have the same
   * shape, because a resumed run uses it. Default: results are written unchanged.
   */
  readonly redact?: ((record: { readonly key: string; readonly answer: Json }) => Json) | undefined;
}

/**
 * Makes a journal that is stored in a file, one file per run. The format of the file, its lock and its errors are those of
 * `fileJournal`. The records are steps by their keys. A file that an earlier version of turnwright wrote is refused with LoopError
 * "journal-mismatch".
 *
 * A record that the file contained when it was opened is checked before it is used: LoopError "journal-damaged" if it was edited.
 */
export function fileSteps(path: string, options: StepFileOptions = {}): StepFile {
  const file = new JournalFile(path, options);
  // Records of this execution need no check.
  let unchecked: Set<string> = new Set();
  const find = (key: string): unknown => {
    const found = file.records?.get(key);
    if (unchecked.delete(key)) checkStepRecord(key, found);
    return found;
  };
  return {
    durable: true,
    path,
    async open(how) {
      const close = await file.open(how);
      unchecked = new Set(file.records?.keys());
      return close;
    },
    read: find,
    step<T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> {
      find(key);
      return file.step({ key }, body);
    },
    records: () => file.read(),
  };
}
