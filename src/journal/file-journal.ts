import { hostname } from "node:os";
import {
  checkFields,
  type Checks,
  invalidOption,
  is,
  type Journal,
  LoopError,
  type Step,
  whenAllReady,
} from "../core/entry-kit.ts";
import { type FileJournalOptions, type JournalSession, openJournal, readJournal } from "./journal-session.ts";

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

const optionChecks: Checks<FileJournalOptions> = {
  fsync: is.flag,
  redact: is.fn,
  onTornLine: is.fn,
};

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
  if (typeof path !== "string" || path === "" || /^file:/i.test(path))
    throw invalidOption("path", 'a file path as a string (convert a URL with fileURLToPath from "node:url")', path);
  checkFields("options", options, optionChecks);
  const own = { ...options };
  let isTaken = false;
  let session: JournalSession | undefined;

  const open: FileJournal["open"] = async ({ readOnly = false } = {}) => {
    if (isTaken) {
      const holder = { pid: process.pid, host: hostname(), isVisible: true };
      throw new LoopError("journal-locked", { path, lockPath: `${path}.lock`, ...holder });
    }
    isTaken = true;
    try {
      session = await (readOnly ? readJournal(path) : openJournal(path, own));
    } catch (error) {
      isTaken = false;
      throw error;
    }
    const { close } = session;
    let closing: Promise<void> | undefined;
    return () => {
      closing ??= close().finally(() => {
        isTaken = false;
        session = undefined;
      });
      return closing;
    };
  };
  const step = <T>(one: Step<T>): PromiseLike<T> | T => {
    const recalled = session?.answers;
    return recalled?.has(one.key) === true ? (recalled.get(one.key) as T) : perform(session, one, path);
  };
  return {
    durable: true,
    path,
    open,
    step,
    all: (steps) => whenAllReady(steps.map(step)),
    has: (key) => session?.answers.has(key) === true,
    read: async () => (await readJournal(path)).answers,
  };
}

/** Rejects with LoopError "journal-closed" if the journal was closed before the step ended. The result is then not recorded. */
async function perform<T>(session: JournalSession | undefined, step: Step<T>, path: string): Promise<T> {
  if (session === undefined) throw new LoopError("journal-closed", { path });
  session.check();
  return session.record(step, await step.run({}));
}
