// Reads and writes journal files: a header line, then one record per line. Each record's checksum covers it and all records before it.

import { constants } from "node:buffer";
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { isRecord } from "../core/kit.ts";
import { LoopError } from "../core/index.ts";

export const head = '{"format":"turnwright-journal","version":1}\n';

export interface Line {
  readonly text: string;
  readonly sum: string;
}

/** An incomplete last line in a journal file, left by a process that ended while writing. */
export interface TornLine {
  /** The line number, counted from 1. */
  readonly line: number;
  /** The length of the incomplete line in bytes. */
  readonly bytes: number;
}

export interface Recorded {
  readonly answers: Map<string, unknown>;
  readonly sum: string;
  readonly size: number;
  readonly unended: boolean;
  readonly torn: TornLine | undefined;
}

const headLine = Buffer.from(head.trimEnd());
const headBytes = head.length;
const newline = 0x0a;
/** The maximum length of a line in bytes. Each line is written from one string, whose UTF-16 code units take at most three bytes each. */
const maxLineBytes = 3 * constants.MAX_STRING_LENGTH;
const opening = '{"sum":"';
const digits = 16;
const bodyAt = opening.length + digits + '",'.length;

/** Returns a record's line. `before` is the previous record's checksum, or an empty string for the first record. */
export function toLine(json: string, before: string): Line {
  const body = json.slice("{".length);
  const sum = checksum(body, before);
  return { text: `${opening}${sum}",${body}\n`, sum };
}

export interface ReadOptions {
  readonly chunkBytes?: number | undefined;
}

/**
 * Reads a journal file in chunks, in time linear in its size. Apart from the records, keeps only one line in memory. Returns an
 * incomplete last line as `torn`. Throws LoopError "journal-damaged" for any other damage.
 */
export async function readLines(file: Pick<FileHandle, "read">, path: string, options: ReadOptions = {}): Promise<Recorded> {
  const answers = new Map<string, unknown>();
  let sum = "";
  let size = 0;
  let line = 0;
  for await (const { bytes, length, isEnded } of splitLines(file, options)) {
    line += 1;
    if (line === 1) {
      const isHead = bytes.equals(isEnded ? headLine : headLine.subarray(0, length));
      if (!isHead)
        throw new LoopError("journal-damaged", {
          path,
          line,
          problem: "is not the header of a version 1 turnwright journal. Check the path",
        });
      if (!isEnded) return { answers, sum, size, unended: false, torn: { line, bytes: length } };
      size = headBytes;
      continue;
    }
    const record = readLine(bytes, sum);
    if (record === undefined) {
      // If a line is valid without its last byte, its line break was changed rather than cut off, so the file is damaged.
      if (isEnded || readLine(bytes.subarray(0, -1), sum) !== undefined) throw damaged(path, line);
      return { answers, sum, size, unended: false, torn: { line, bytes: length } };
    }
    answers.set(record.key, record.answer);
    ({ sum } = record);
    size += length + (isEnded ? 1 : 0);
    if (!isEnded) return { answers, sum, size, unended: true, torn: undefined };
  }
  return { answers, sum, size, unended: false, torn: undefined };
}

interface ReadBytes {
  /** The bytes of a line, without its line break. For a line that is longer than any valid line, only the beginning. */
  readonly bytes: Buffer;
  readonly length: number;
  readonly isEnded: boolean;
}

async function* splitLines(file: Pick<FileHandle, "read">, { chunkBytes = 2 ** 20 }: ReadOptions): AsyncGenerator<ReadBytes> {
  const line = new PartialLine();
  for (let position = 0; ;) {
    // Allocates a new buffer for each chunk, because yielded lines still refer to the previous buffers.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const chunk = buffer.subarray(0, bytesRead);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      line.add(chunk.subarray(start, end));
      yield line.take(true);
      start = end + 1;
    }
    line.add(chunk.subarray(start));
  }
  if (line.length > 0) yield line.take(false);
}

class PartialLine {
  #parts: Buffer[] = [];
  #limit = headBytes;
  length = 0;

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.length += part.length;
    // A line longer than the limit cannot be valid: the file is not a journal, or ends with many zero bytes. The rest of the line is
    // therefore not stored.
    if (this.length <= this.#limit) this.#parts.push(part);
  }

  take(isEnded: boolean): ReadBytes {
    const [first = Buffer.alloc(0)] = this.#parts;
    const bytes = this.#parts.length > 1 ? Buffer.concat(this.#parts) : first;
    const read = { bytes, length: this.length, isEnded };
    this.#parts = [];
    this.#limit = maxLineBytes;
    this.length = 0;
    return read;
  }
}

interface ReadRecord {
  readonly key: string;
  readonly answer: unknown;
  readonly sum: string;
}

function readLine(line: Buffer, before: string): ReadRecord | undefined {
  const sum = line.toString("latin1", opening.length, opening.length + digits);
  const body = line.subarray(bodyAt);
  // Compares bytes, because damaged UTF-8 may decode to the same string as the original.
  if (line.toString("latin1", 0, bodyAt) !== `${opening}${sum}",` || checksum(body, before) !== sum) return undefined;
  const record: unknown = JSON.parse(`{${body.toString("utf8")}`);
  if (!isRecord(record) || typeof record["key"] !== "string") return undefined;
  return { key: record["key"], answer: record["answer"], sum };
}

function damaged(path: string, line: number): LoopError<"journal-damaged"> {
  return new LoopError("journal-damaged", {
    path,
    line,
    problem: "does not match its checksum, so the file was changed",
  });
}

/** Returns the first 64 bits of a SHA-256 hash, which detect accidental damage but not forgery. */
function checksum(body: string | Buffer, before: string): string {
  return createHash("sha256").update(before).update(body).digest("hex").slice(0, digits);
}
