// Appends lines to a file, one write at a time. What comes while a write is under way goes into the next one together.

import type { FileHandle } from "node:fs/promises";
import { head, toLine } from "./journal-lines.ts";

/** Where the file stands. */
export interface WriterOptions {
  /** The checksum that the first line is chained to. */
  readonly sum: string;
  /** Whether nothing is there yet, not even the head. */
  readonly isNew: boolean;
  /** Whether each write waits for the disk. */
  readonly fsync: boolean;
}

/** Appends records. After a write that failed it refuses all others, so that there is never a line behind a hole. */
export interface LineWriter {
  /** Throws what broke the writer, if anything has. */
  check(): void;
  /** Kept when the promise is: the JSON text of one record, an object. */
  write(json: string): Promise<void>;
  /** Waits for the writes that have begun. Never rejects. */
  settle(): Promise<void>;
}

/** Makes a writer at the end of a file that was opened for appending. */
export function createLineWriter(
  file: Pick<FileHandle, "appendFile" | "datasync">,
  { sum, isNew, fsync }: WriterOptions,
): LineWriter {
  let last = sum;
  let waiting = isNew ? head : "";
  let next: Promise<void> | undefined;
  let latest: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  const check = (): void => {
    if (failure !== undefined) throw failure.error;
  };
  const flush = async (): Promise<void> => {
    next = undefined;
    check();
    const text = waiting;
    waiting = "";
    try {
      await file.appendFile(text);
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
      waiting += line.text;
      // Begins a microtask later: lines that are written at once share a write, and a wait for the disk.
      next ??= latest = latest.then(flush, flush);
      return next;
    },
    settle: () => latest.catch(() => {}),
  };
}
