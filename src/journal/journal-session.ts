// An open journal file: read once, locked, and appended to.

import { type FileHandle, open } from "node:fs/promises";
import { head, readLines, type Recorded, toLine, type TornLine } from "./journal-lines.ts";
import { dirname } from "node:path";
import { invalidOption, isThenable, type Json, LoopError, type Step, type StepKind } from "../core/entry-kit.ts";
import { lockFile } from "./file-lock.ts";
import { checkPlace, openFile, type OpenFile, openForReading } from "./open-file.ts";

/** The state of the file before the first write. */
interface WriterOptions {
  /** The checksum that the first line includes. */
  readonly sum: string;
  /** True if the file is empty, without even the head. */
  readonly isNew: boolean;
  /** True if each write waits for the disk. */
  readonly fsync: boolean;
  /** Called before each write. Rejects if the file must not be written any more. */
  readonly check?: (() => Promise<void>) | undefined;
}

/** Appends records. After a failed write it rejects all others, so that no line follows a gap. */
interface LineWriter {
  /** Throws the error of a failed write, if there was one. */
  check(): void;
  /** Resolves when the record is written. `json` is the JSON text of an object. */
  write(json: string): Promise<void>;
  /** Waits for pending writes. Never rejects. */
  settle(): Promise<void>;
}

/** Lines are joined up to this length, because a few long lines together may exceed the limit of a string. */
const joinedLength = 2 ** 24;

/** Makes a writer at the end of a file that was opened for appending. */
function createLineWriter(
  file: Pick<FileHandle, "appendFile" | "datasync">,
  { sum, isNew, fsync, check: checkFile }: WriterOptions,
): LineWriter {
  let last = sum;
  let waiting: string[] = isNew ? [head] : [];
  let next: Promise<void> | undefined;
  let latest: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  const check = (): void => {
    if (failure !== undefined) throw failure.error;
  };
  const flush = async (): Promise<void> => {
    next = undefined;
    check();
    const lines = waiting;
    waiting = [];
    try {
      await checkFile?.();
      for (const text of joinLines(lines)) await file.appendFile(text);
      if (fsync) await file.datasync();
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  return {
    check,
    write(json) {
      const line = toLine(json, last);
      last = line.sum;
      waiting.push(line.text);
      // Starts a microtask later, so that lines that are written together share one write and one wait for the disk.
      next ??= latest = latest.then(flush, flush);
      return next;
    },
    settle: () => latest.catch(() => {}),
  };
}

function joinLines(lines: readonly string[]): readonly string[] {
  const texts: string[] = [];
  let open: string[] = [];
  let length = 0;
  for (const line of lines) {
    if (open.length > 0 && length + line.length > joinedLength) {
      texts.push(open.join(""));
      open = [];
      length = 0;
    }
    open.push(line);
    length += line.length;
  }
  return [...texts, open.join("")];
}

/** A record before it is written. */
export interface JournalRecord {
  /** The key of the step, such as `i0/tool/0/order`. */
  readonly key: string;
  readonly kind: StepKind;
  /** The result of the step: a copy that may be changed. */
  readonly answer: Json;
}

/** The options of `fileJournal`. */
export interface FileJournalOptions {
  /**
   * True if each record waits until it is on disk. Without that, a record outlives the process, but may be lost with a power
   * failure. Default true.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Returns the result to write instead of the step's own. Must be synchronous and keep the shape, because a resumed run reads
   * it. The current run continues with its own result. If it throws, the step is rejected and not written.
   */
  readonly redact?: ((record: JournalRecord) => Json) | undefined;
  /** Called with a last line that a crash has cut off, before it is removed from the file. Throw to keep it. */
  readonly onTornLine?: ((torn: TornLine) => void) | undefined;
}

/** An open journal file. */
export interface JournalSession {
  /** From key to result. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Throws if nothing can be written any more. */
  check(): void;
  /** Writes the result of a step. Returns the value that a resumed run would read, but without redaction. */
  record<T>(step: Step<T>, answer: T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a file for one run. Rejects with errors of the disk, or LoopError "journal-refused", "journal-locked" or
 * "journal-damaged", and then holds nothing.
 */
export async function openJournal(path: string, options: FileJournalOptions): Promise<JournalSession> {
  const opened = await openFile(path);
  const { file, names } = opened;
  const undo = [() => file.close()];
  try {
    for (const place of names) undo.unshift(await lockFile({ path, place }));
    const check = (): Promise<void> => checkPlace(path, opened);
    await check();
    const recorded = await readLines(file, path);
    const writer = await continueFile(opened, recorded, { ...options, check });
    return createSession(path, recorded, { writer, redact: options.redact, undo });
  } catch (error) {
    await closeAll(undo);
    throw error;
  }
}

/** Opens a file read-only. A writer of it is not disturbed. */
export async function readJournal(path: string): Promise<JournalSession> {
  const file = await openForReading(path);
  try {
    const recorded = await readLines(file, path);
    return createSession(path, recorded, { writer: undefined, redact: undefined, undo: [] });
  } finally {
    await file.close();
  }
}

interface Continued extends FileJournalOptions {
  /** Rejects if the path no longer refers to the locked file. */
  readonly check: () => Promise<void>;
}

async function continueFile({ file, place }: OpenFile, recorded: Recorded, options: Continued): Promise<LineWriter> {
  const { torn, size, sum, unended } = recorded;
  const { fsync = true, onTornLine, check } = options;
  if (torn !== undefined) {
    onTornLine?.(torn);
    await file.truncate(size);
  }
  if (size === 0 && fsync) await syncFolder(dirname(place));
  if (unended) await file.appendFile("\n");
  return createLineWriter(file, { sum, isNew: size === 0, fsync, check });
}

/** Syncs the folder, without which a new file may be lost with a power failure. Windows does not support it. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

interface SessionParts {
  /** Undefined for a read-only file. */
  readonly writer: LineWriter | undefined;
  readonly redact: FileJournalOptions["redact"];
  readonly undo: readonly (() => Promise<void>)[];
}

function createSession(path: string, { answers }: Recorded, { writer, redact, undo }: SessionParts): JournalSession {
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await writer?.settle();
    await closeAll(undo);
  };
  return {
    answers,
    check() {
      if (closing !== undefined) throw new LoopError("journal-closed", { path });
      writer?.check();
    },
    async record<T>({ key, kind }: Step<T>, answer: T) {
      const text = JSON.stringify({ key, kind, answer });
      const own: { readonly answer: T } = JSON.parse(text);
      const written = redact === undefined ? text : rewrite(text, redact);
      // The journal was closed meanwhile, so the run no longer waited for this step.
      if (closing !== undefined || writer === undefined) throw new LoopError("journal-closed", { path });
      await writer.write(written);
      answers.set(key, own.answer);
      return own.answer;
    },
    close: () => (closing ??= close()),
  };
}

/** Redacts a copy, so that its changes affect nothing else. */
function rewrite(text: string, redact: NonNullable<FileJournalOptions["redact"]>): string {
  const { key, kind, answer: own }: JournalRecord = JSON.parse(text);
  const answer: unknown = redact({ key, kind, answer: own });
  if (answer === undefined || isThenable(answer)) {
    throw invalidOption("redact", "a function that gives plain data, at once", answer);
  }
  return JSON.stringify({ key, kind, answer });
}

/** Runs all functions, even if some fail, and throws the first error. */
async function closeAll(undo: readonly (() => Promise<void>)[]): Promise<void> {
  const ends = await Promise.allSettled(undo.map((one) => one()));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
