// A journal file while it is open: read once, held by a lock, and appended to.

import { type FileHandle, open } from "node:fs/promises";
import { head, readLines, type Recorded, toLine, type TornLine } from "./journal-lines.ts";
import { dirname } from "node:path";
import { invalidOption, isThenable, type Json, LoopError, type Step, type StepKind } from "../core/entry-kit.ts";
import { lockFile } from "./file-lock.ts";
import { checkPlace, openFile, type OpenFile, openForReading } from "./open-file.ts";

/** The state of the file before the first write. */
interface WriterOptions {
  /** The checksum that the first line is chained to. */
  readonly sum: string;
  /** Whether the file is empty, without even the head. */
  readonly isNew: boolean;
  /** Whether each write waits for the disk. */
  readonly fsync: boolean;
  /** Called before each write; rejects if the file may not be written any more. */
  readonly check?: (() => Promise<void>) | undefined;
}

/** Appends records. After a write that failed it refuses all others, so that no line comes after a hole. */
interface LineWriter {
  /** Throws the error that broke the writer, if there is one. */
  check(): void;
  /** Resolves when the record is kept. `json` is the JSON text of one record, an object. */
  write(json: string): Promise<void>;
  /** Waits for the writes that have begun. Never rejects. */
  settle(): Promise<void>;
}

/** Lines are joined up to this length: strings have a limit, and a few long lines together may be over it. */
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
      // Begins a microtask later: lines that are written at once share a write, and a wait for the disk.
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

/** The record that is about to be written. */
export interface JournalRecord {
  /** The step's place, such as `i0/tool/0/order`. */
  readonly key: string;
  readonly kind: StepKind;
  /** The answer of the step: a copy, free to be changed. */
  readonly answer: Json;
}

/** How a journal file is kept. */
export interface FileJournalOptions {
  /**
   * Whether each record waits until the disk has it. Without that a record outlives the process, but perhaps not a loss of power.
   * Default true.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Gives the answer that is written in place of the step's own, at once and of the same shape: it is what a resumed run reads. The run
   * under way goes on with its own. What it throws refuses the step, and nothing of it is written.
   */
  readonly redact?: ((record: JournalRecord) => Json) | undefined;
  /** Told of a last line that was cut off by a crash, before it is removed from the file. Throw to keep it. */
  readonly onTornLine?: ((torn: TornLine) => void) | undefined;
}

/** An open journal file. */
export interface JournalSession {
  /** Key to answer. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Throws where nothing can be written any more. */
  check(): void;
  /** Writes what a step gave, and gives what a resumed run would read, but for what is redacted. */
  record<T>(step: Step<T>, answer: T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a file for one run. Rejects with the error of the disk, or LoopError "journal-refused", "journal-locked" or "journal-damaged", and
 * then holds nothing.
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

/** Opens a file that is only read: whoever writes it goes on writing. */
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
  /** Rejects when the file is no longer the one that is locked. */
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

/** A new file is there after a loss of power only if its folder says so. Windows has no such thing. */
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
  /** Undefined where the file is only read. */
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
      // If the journal was closed meanwhile, this step was left behind.
      if (closing !== undefined || writer === undefined) throw new LoopError("journal-closed", { path });
      await writer.write(written);
      answers.set(key, own.answer);
      return own.answer;
    },
    close: () => (closing ??= close()),
  };
}

/** Redaction gets a copy, so that its changes affect nothing else. */
function rewrite(text: string, redact: NonNullable<FileJournalOptions["redact"]>): string {
  const { key, kind, answer: own }: JournalRecord = JSON.parse(text);
  const answer: unknown = redact({ key, kind, answer: own });
  if (answer === undefined || isThenable(answer)) {
    throw invalidOption("redact", "a function that gives plain data, at once", answer);
  }
  return JSON.stringify({ key, kind, answer });
}

/** Each is let go of, whatever becomes of the others; what went wrong first is told. */
async function closeAll(undo: readonly (() => Promise<void>)[]): Promise<void> {
  const ends = await Promise.allSettled(undo.map((one) => one()));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
