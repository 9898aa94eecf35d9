// The format of a journal on disk: a head, then one record a line, each with a checksum over itself and all lines before it.

import { createHash } from "node:crypto";
import { LoopError } from "../../errors/loop-error.ts";
import { isRecord } from "../../kit/is-record.ts";

/** The first line. Another format has another one. */
export const head = '{"format":"turnwright-journal","version":1}\n';

/** A line, and the checksum that the next one is chained to. */
export interface Line {
  readonly text: string;
  readonly sum: string;
}

/** What is at the end of a file and no record: a line that was being written when its process died. */
export interface TornLine {
  /** 1-based. */
  readonly line: number;
  /** How much of it there is. */
  readonly bytes: number;
}

/** What a file says. */
export interface Recorded {
  /** Key to answer. */
  readonly answers: Map<string, unknown>;
  /** The checksum that the next line is chained to. */
  readonly sum: string;
  /** How many bytes of the file hold. */
  readonly size: number;
  /** Whether the last line lacks its end, and nothing else. */
  readonly unended: boolean;
  readonly torn: TornLine | undefined;
}

const headBytes = Buffer.from(head);
const newline = 0x0a;
const opening = '{"sum":"';
const digits = 16;
const bodyAt = opening.length + digits + '",'.length;

/** Makes a line of a record's JSON text; `before` is the checksum of the line before, and empty for the first. */
export function toLine(json: string, before: string): Line {
  const body = json.slice("{".length);
  const sum = checksum(body, before);
  return { text: `${opening}${sum}",${body}\n`, sum };
}

/**
 * Reads a file. A last line that was cut off is torn, and told; whatever else differs from what was written throws LoopError
 * "journal-damaged". Linear in the size of the file.
 */
export function readLines(bytes: Buffer, path: string): Recorded {
  if (bytes.length < headBytes.length && headBytes.subarray(0, bytes.length).equals(bytes)) {
    const torn = bytes.length === 0 ? undefined : { line: 1, bytes: bytes.length };
    return { answers: new Map(), sum: "", size: 0, unended: false, torn };
  }
  if (!bytes.subarray(0, headBytes.length).equals(headBytes)) {
    throw new LoopError("journal-damaged", { path, line: 1, problem: "is not the first line of a journal of this version" });
  }
  const answers = new Map<string, unknown>();
  let sum = "";
  let line = 2;
  for (let start = headBytes.length; start < bytes.length; line += 1) {
    const end = bytes.indexOf(newline, start);
    const read = readLine(bytes.subarray(start, end < 0 ? bytes.length : end), sum);
    if (read === undefined) {
      const tail = bytes.subarray(start);
      if (end >= 0 || readLine(tail.subarray(0, -1), sum) !== undefined) throw damaged(path, line);
      return { answers, sum, size: start, unended: false, torn: { line, bytes: tail.length } };
    }
    answers.set(read.key, read.answer);
    ({ sum } = read);
    if (end < 0) return { answers, sum, size: bytes.length, unended: true, torn: undefined };
    start = end + 1;
  }
  return { answers, sum, size: bytes.length, unended: false, torn: undefined };
}

interface ReadRecord {
  readonly key: string;
  readonly answer: unknown;
  readonly sum: string;
}

/** Undefined for a line that is not what was written. */
function readLine(line: Buffer, before: string): ReadRecord | undefined {
  const sum = line.toString("latin1", opening.length, opening.length + digits);
  const body = line.subarray(bodyAt);
  // Bytes are compared, not texts: damaged UTF-8 may read as what it was.
  if (line.toString("latin1", 0, bodyAt) !== `${opening}${sum}",` || checksum(body, before) !== sum) return undefined;
  const record: unknown = JSON.parse(`{${body.toString("utf8")}`);
  if (!isRecord(record) || typeof record["key"] !== "string") return undefined;
  return { key: record["key"], answer: record["answer"], sum };
}

function damaged(path: string, line: number): LoopError<"journal-damaged"> {
  return new LoopError("journal-damaged", { path, line, problem: "is not what was written" });
}

/** 64 bits of a SHA-256: it finds what broke by accident, not what somebody forged. */
function checksum(body: string | Buffer, before: string): string {
  return createHash("sha256").update(before).update(body).digest("hex").slice(0, digits);
}
