// A journal in a file. Each record is on disk before the next step begins.

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
  /** The path as it was passed. */
  readonly path: string;
  /**
   * Reads the file, and locks it unless it is opened read-only. `runToolLoop` calls it; call it before the first step of a loop
   * of your own.
   */
  open(how?: { readonly readOnly?: boolean | undefined }): Promise<() => Promise<void>>;
  /** Reads the current records of the file. Takes no lock, and ignores an incomplete last line. */
  read(): Promise<ReadonlyMap<string, unknown>>;
}

const optionChecks: Checks<FileJournalOptions> = {
  fsync: is.flag,
  redact: is.fn,
  onTornLine: is.fn,
};

/**
 * A journal in a file, one file per run. The same call with the same file continues the run, in this process or another, even if
 * the earlier process was killed. Recorded steps do not run again. Nothing is opened before the run begins, and nothing is held
 * when it is over.
 *
 * The file has one JSON record per line, each with a checksum, and is readable by its owner only. A last line that a crash has
 * cut off is removed, and passed to `onTornLine`. A file with any other damage is rejected as "journal-damaged", with the line. A
 * lock file, with `.lock` appended to the name, exists while the journal is open. A second writer is rejected as "journal-locked"
 * until the first one is done or its process is gone. These errors, and errors of the disk, reject the run.
 *
 * Throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const options = { provider, tools, messages, runId: "order-7" };
 * const result = await runToolLoop({ ...options, journal: fileJournal("runs/order-7.jsonl") });
 */
export function fileJournal(path: string, options: FileJournalOptions = {}): FileJournal {
  if (typeof path !== "string" || path === "" || /^file:/i.test(path))
    throw invalidOption("path", 'the path of a file, as a text (fileURLToPath of "node:url" makes one of a URL)', path);
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

/** A body that ends after its run belongs to the session in which it began, and is not recorded. */
async function perform<T>(session: JournalSession | undefined, step: Step<T>, path: string): Promise<T> {
  if (session === undefined) throw new LoopError("journal-closed", { path });
  session.check();
  return session.record(step, await step.run({}));
}
