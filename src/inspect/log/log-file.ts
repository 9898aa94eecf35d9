// Writes a run log to a file. Each line is appended with one synchronous write, so that nothing is lost when the process dies.

import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { open } from "node:fs/promises";
import { openOwnFile } from "../../shared/file-trust.ts";
import { LoopError } from "../../core/index.ts";
import { createLogState, learnLine, type LogState } from "./log-lines.ts";
import { isTornLine, parseLine, toDamaged } from "./parse-line.ts";

/** An open log. `write` throws if a line cannot be written. */
export interface LineTarget {
  readonly state: LogState;
  readonly isNew: boolean;
  readonly from?: "journal" | undefined;
  write(line: string): void;
  /** Closes the log. `isWhole` is false if writing a line has failed. */
  close(isWhole: boolean): void;
}

const opener = { constants, closeSync, fchmodSync, fstatSync, lstatSync, mkdirSync, openSync, readlinkSync, dirname, resolve };

interface OpenFile {
  readonly path: string;
  readonly file: number;
  size: number;
}

interface Found {
  readonly state: LogState;
  readonly ino: number;
  readonly size: number;
}

/** The states of recently closed logs, by path. Without them, each run of a conversation would have to read its log again. */
const recent = new Map<string, Found>();
const maxRecent = 8;

/**
 * Opens a log file, and reads its existing lines. Removes an incomplete last line. Throws LoopError "log-damaged" if the file is not a run
 * log. Also throws file system errors.
 */
export function openLogFile(path: string): LineTarget {
  const open = openFile(path);
  try {
    const { ino, size } = fstatSync(open.file);
    const known = recent.get(path);
    recent.delete(path);
    const state = known?.ino === ino && known.size === size ? known.state : readState(open, size);
    return {
      state,
      isNew: open.size === 0,
      write: (line) => append(open, line),
      close(isWhole) {
        closeSync(open.file);
        if (isWhole) keep(path, { state, ino, size: open.size });
      },
    };
  } catch (error) {
    closeSync(open.file);
    throw toDamaged(error, path);
  }
}

function keep(path: string, found: Found): void {
  recent.set(path, found);
  const [oldest] = recent.keys();
  if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest);
}

function openFile(path: string): OpenFile {
  const file = openOwnFile(path, constants.O_RDWR | constants.O_APPEND, {
    fs: opener,
    refuse: (problem) => refused(path, problem),
  });
  return { path, file, size: fstatSync(file).size };
}

function refused(path: string, problem: string): LoopError<"log-damaged"> {
  return new LoopError("log-damaged", { path, problem });
}

const chunkBytes = 2 ** 20;
const newline = 0x0a;

interface ReadLine {
  readonly text: string;
  /** The file's size without its last line. Set only if that line has no line break. */
  readonly tornAt?: number;
}

function* readLines({ file }: OpenFile, size: number): Generator<ReadLine> {
  const decoder = new StringDecoder("utf8");
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let parts: string[] = [];
  let tornAt = 0;
  for (let position = 0; position < size;) {
    const bytes = chunk.subarray(0, readSync(file, chunk, 0, chunkBytes, position));
    if (bytes.length === 0) break;
    const lastBreak = bytes.lastIndexOf(newline);
    if (lastBreak >= 0) tornAt = position + lastBreak + 1;
    position += bytes.length;
    const [first = "", ...lines] = decoder.write(bytes).split("\n");
    parts.push(first);
    for (const line of lines) {
      yield { text: parts.join("") };
      parts = [line];
    }
  }
  const rest = parts.join("") + decoder.end();
  if (rest !== "") yield { text: rest, tornAt };
}

function readState(open: OpenFile, size: number): LogState {
  const state = createLogState();
  let line = 0;
  for (const { text, tornAt } of readLines(open, size)) {
    line += 1;
    // A file that is not a log must not be truncated, so for line 1, `isTornLine` throws unless the line begins like a log header.
    if (tornAt !== undefined && isTornLine(text, line)) {
      ftruncateSync(open.file, tornAt);
      open.size = tornAt;
      break;
    }
    parseLine(text, line, (parsed) => learnLine(state, parsed));
    if (tornAt !== undefined) append(open, "\n");
  }
  state.values.endLearning();
  return state;
}

/**
 * Appends text to the log. Throws if another process has written to the file, because the two processes would give the same numbers to
 * different values.
 */
function append(open: OpenFile, text: string): void {
  if (fstatSync(open.file).size !== open.size)
    throw refused(open.path, "the file was changed by another writer. Use one file for each process");
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(open.file, bytes, written);
  open.size += bytes.length;
}

const starts = { log: '{"type":"log"', journal: '{"format":"turnwright-journal"' } as const;

/** Determines a file's kind from its first bytes. Returns undefined for an unknown kind. Rejects with file system errors. */
export async function findStart(path: string): Promise<keyof typeof starts | undefined> {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(starts.journal.length), 0, starts.journal.length, 0);
    const start = buffer.toString("latin1", 0, bytesRead);
    return (["log", "journal"] as const).find((kind) => start.startsWith(starts[kind]));
  } finally {
    await file.close();
  }
}

export function isLogStart(bytes: Buffer): boolean {
  return bytes.toString("latin1", 0, starts.log.length) === starts.log;
}
