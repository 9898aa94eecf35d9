// Opens a journal file. The lock protects only one path, so a file that can also be reached through another path is refused.

import { type FileHandle, open, mkdir, readFile, realpath } from "node:fs/promises";
import { head, readLines, type Recorded, toLine, type TornLine } from "./journal-lines.ts";
import { dirname, basename, join, resolve } from "node:path";
import { invalidOption, isRecord } from "../core/kit.ts";
import { isThenable } from "../shared/guards.ts";
import { type Json, LoopError } from "../core/index.ts";
import { followOwnLinks, isOwn, tightMode } from "../shared/file-trust.ts";
import { lockFile, isAt, openGuards } from "./file-lock.ts";
import { constants, lstatSync, readlinkSync } from "node:fs";

export interface OpenFile {
  readonly file: FileHandle;
  readonly place: string;
}

async function openFile(path: string): Promise<OpenFile> {
  const place = await findPlace(path);
  const file = await open(place, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | openGuards, 0o600);
  try {
    await checkFile(path, { file, place });
    return { file, place };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens a journal for reading only. A reader takes no lock and writes nothing, so the file's hard links and mode are not checked. */
async function openForReading(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    // Accepts a folder here, because reading it then fails with a clear error.
    if (!facts.isFile() && !facts.isDirectory()) throw refused(path, "it is not a regular file: choose another path");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Follows symbolic links that belong to this user, and creates the folder. The returned path contains no links. */
async function findPlace(path: string): Promise<string> {
  const end = followOwnLinks(path, { lstatSync, readlinkSync, dirname, resolve });
  if ("refused" in end)
    throw refused(
      path,
      `${end.refused} is a symbolic link that belongs to another user: remove the link, or pass the path to the file itself`,
    );
  const folder = dirname(end.place);
  // EEXIST means that the folder's path is a file. Opening the journal then fails with a clear error.
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    if (!isRecord(error) || error["code"] !== "EEXIST") throw error;
  });
  return join(await realpath(folder), basename(end.place));
}

async function checkFile(path: string, { file, place }: OpenFile): Promise<void> {
  const facts = await file.stat();
  if (!facts.isFile()) throw refused(path, "it is not a regular file: choose another path");
  if (facts.nlink > 1)
    throw refused(
      path,
      "the file has other hard links, where its lock file is not visible: remove these links, or copy the file",
    );
  if (await isMountPoint(place)) {
    throw refused(path, "only the file itself is mounted, so other processes cannot see its lock file: mount its folder instead");
  }
  const mode = tightMode(facts);
  if (mode === undefined) return;
  // A file system without modes, such as FAT, reports the same mode for all files, and `chmod` fails. That is accepted if this user owns
  // the file.
  await file.chmod(mode).catch(() => {
    if (!isOwn(facts))
      throw refused(path, "the file belongs to another user, and other users can read it: use a file that you own");
  });
}

/** True if the file itself is a mount point. Containers can mount a single file. Always false outside Linux. */
async function isMountPoint(place: string): Promise<boolean> {
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  return mounts.split("\n").some((line) => readEscapes(line.split(" ")[4] ?? "") === place);
}

/** Decodes a path in `/proc/self/mountinfo`, where a space is written as `\040`. */
function readEscapes(name: string): string {
  return name.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Throws LoopError "journal-refused" if a different file is at the path now, because the lock belongs to the path and would no longer
 * protect the open file.
 */
async function checkPlace(path: string, { file, place }: OpenFile): Promise<void> {
  if (await isAt(place, file)) return;
  throw refused(path, "the file was moved or removed while the run was writing to it: restore the file, and repeat the call");
}

function refused(path: string, problem: string): LoopError<"journal-refused"> {
  return new LoopError("journal-refused", { path, problem });
}

interface WriterOptions {
  readonly sum: string;
  readonly isNew: boolean;
  readonly fsync: boolean;
  readonly check?: (() => Promise<void>) | undefined;
}

/** Appends records to a file. After a failed write, rejects all later writes, so that the file has no gaps. */
interface LineWriter {
  check(): void;
  write(json: string): Promise<void>;
  settle(): Promise<void>;
}

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
      await file.appendFile(lines.join(""));
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
      // Starts the write one microtask later, so that lines added at the same time share one write and one `datasync`.
      next ??= latest = latest.then(flush, flush);
      return next;
    },
    settle: () => latest.catch(() => {}),
  };
}

/** A record, as passed to `redact` before it is written. */
export interface JournalRecord {
  /** The key of the step, such as `i0/call/0/order/outcome`. */
  readonly key: string;
  /** A copy of the step's result, which `redact` may change. */
  readonly answer: Json;
}

/** The options for `fileJournal`. */
export interface FileJournalOptions {
  /**
   * True to wait until each record is on disk. If false, records survive a process crash, but may be lost in a power
   * failure. Default true.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Returns the result to write instead of a step's actual result. Must be synchronous. The returned result must have the same shape,
   * because a resumed run uses it. The current run uses the actual result. If `redact` throws, the step rejects and is not written.
   * Default: results are written unchanged.
   */
  readonly redact?: ((record: JournalRecord) => Json) | undefined;
  /**
   * Called before an incomplete last line from a crashed process is removed from the file. To keep the line, throw an error; the
   * run then rejects. Default: the line is removed.
   */
  readonly onTornLine?: ((torn: TornLine) => void) | undefined;
}

export interface JournalSession {
  readonly answers: ReadonlyMap<string, unknown>;
  check(): void;
  /**
   * Writes a step's result. Returns the result after conversion to JSON and back, so that it has the same form as in
   * a resumed run, but without the changes made by `redact`.
   */
  record<T>(key: string, answer: T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens, locks and reads a journal file for one run. Rejects with file system errors, or with LoopError "journal-refused",
 * "journal-locked" or "journal-damaged". If `openJournal` rejects, the file is closed and unlocked.
 */
export async function openJournal(path: string, options: FileJournalOptions): Promise<JournalSession> {
  const opened = await openFile(path);
  const { file, place } = opened;
  const undo = [() => file.close()];
  try {
    undo.unshift(await lockFile({ path, place }));
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

/** Syncs a folder, so that a new file in it survives a power failure. Windows cannot sync a folder. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

interface SessionParts {
  /** Writes lines to the file. Undefined if the file was opened read-only. */
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
    async record<T>(key: string, answer: T) {
      const text = JSON.stringify({ key, answer });
      const own: { readonly answer: T } = JSON.parse(text);
      const written = redact === undefined ? text : rewrite(text, redact);
      // A run may end without waiting for this step, so the journal may be closed by now.
      if (closing !== undefined || writer === undefined) throw new LoopError("journal-closed", { path });
      await writer.write(written);
      answers.set(key, own.answer);
      return own.answer;
    },
    close: () => (closing ??= close()),
  };
}

/** Calls `redact` with a copy of the result, because the run still uses the original. */
function rewrite(text: string, redact: NonNullable<FileJournalOptions["redact"]>): string {
  const { key, answer: own }: JournalRecord = JSON.parse(text);
  const answer: unknown = redact({ key, answer: own });
  if (answer === undefined || isThenable(answer)) {
    throw invalidOption("redact", "a function that returns plain data, not a promise", answer);
  }
  return JSON.stringify({ key, answer });
}

async function closeAll(undo: readonly (() => Promise<void>)[]): Promise<void> {
  const ends = await Promise.allSettled(undo.map((one) => one()));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
