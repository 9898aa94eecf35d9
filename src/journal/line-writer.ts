// Appends lines to a file, one write at a time. Lines that come while a write is under way go into the next write together.

import type { FileHandle } from "node:fs/promises";
import { head, toLine } from "./journal-lines.ts";

/** The state of the file before the first write. */
export interface WriterOptions {
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
export interface LineWriter {
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
export function createLineWriter(
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
