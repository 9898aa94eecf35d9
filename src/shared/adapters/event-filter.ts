// Reads the bytes of an event stream: removes the events without data, and keeps the last bytes, to find what an SDK does not pass on.

import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson } from "../json.ts";
import { cutText } from "../texts.ts";

/** How many bytes at the end of a stream are kept. */
const tailBytes = 4_096;

const longestSaid = 1_000;

/** Keeps the last bytes of an event stream, to find what an SDK does not pass on. */
export class EventTail {
  #pieces: Uint8Array[] = [];
  #size = 0;

  /** Receives all bytes of the stream. */
  readonly watch = (bytes: Uint8Array): void => {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    for (let first = this.#pieces[0]; first !== undefined && this.#size - first.length >= tailBytes; first = this.#pieces[0]) {
      this.#size -= first.length;
      this.#pieces.shift();
    }
  };

  /** True if the stream ended with `data: [DONE]` on a line of its own, and the events before it are JSON. */
  get isDone(): boolean {
    return this.#lines().at(-1) === "[DONE]" && this.plainText === undefined;
  }

  /** The last event that reports an error. */
  get failure(): UnknownRecord | undefined {
    const events = this.#lines().flatMap((line) => parseJson(line) ?? []);
    return events.filter(isRecord).findLast(({ error }) => error !== undefined && error !== null);
  }

  /** The text of the last event that is not JSON. */
  get plainText(): string | undefined {
    const text = this.#lines().findLast((line) => !/^(?:$|:|\[DONE\]$)/.test(line) && parseJson(line) === undefined);
    return text === undefined ? undefined : cutText(text, longestSaid);
  }

  #lines(): readonly string[] {
    const decoder = new TextDecoder();
    const text = this.#pieces.map((piece) => decoder.decode(piece, { stream: true })).join("");
    return [...text.matchAll(/(?:^|[\r\n])data: ?([^\r\n]*)/g)].map(([, data = ""]) => data.trim());
  }
}

const newline = 10;

/** An event without data may be this long. The limit keeps the work proportional to the length of the stream. */
const longestHeld = 4_096;

/**
 * Relays keep a connection open with events whose `data` is empty or missing, or is a comment. SDKs parse such data as JSON, and
 * the answer would be lost (github.com/NousResearch/hermes-agent/issues/111887, github.com/omnigent-ai/omnigent/pull/1474,
 * github.com/mnfst/llm-gateway/issues/2053). All other bytes stay as they are, and are passed on without delay.
 */
export class EventFilter {
  /** The beginning of an event whose data has not arrived. */
  #held: Uint8Array = new Uint8Array();
  #hasData = false;
  #isLineStart = true;

  /** Returns the bytes to pass on. */
  take(arrived: Uint8Array): readonly Uint8Array[] {
    const bytes = join(this.#held, arrived);
    this.#held = new Uint8Array();
    const kept: Uint8Array[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#hasData) {
        at = this.#skipEvent(bytes, at);
        continue;
      }
      const end = this.#findData(bytes, at);
      if (this.#hasData) continue;
      if (at > from) kept.push(bytes.subarray(from, at));
      if (end === -1) {
        this.#held = bytes.slice(at);
        return kept;
      }
      from = at = end;
    }
    if (at > from) kept.push(bytes.subarray(from, at));
    return kept;
  }

  /** Returns the bytes that are left at the end of the stream. */
  end(): readonly Uint8Array[] {
    return this.#held.length === 0 ? [] : [this.#held];
  }

  /** Returns the position after the event. */
  #skipEvent(bytes: Uint8Array, start: number): number {
    let at = start;
    while (at < bytes.length) {
      const end = bytes.indexOf(newline, at);
      const isBlank = this.#isLineStart && end !== -1 && isBlankText(bytes, at, end);
      this.#isLineStart = end !== -1;
      if (end === -1) return bytes.length;
      at = end + 1;
      if (!isBlank) continue;
      this.#hasData = false;
      return at;
    }
    return at;
  }

  /** Looks for the data of the event at `start`. Returns the position after an event without data, or -1 if its end has not arrived. */
  #findData(bytes: Uint8Array, start: number): number {
    let at = start;
    for (;;) {
      const newlineAt = bytes.indexOf(newline, at);
      const end = newlineAt === -1 ? bytes.length : newlineAt;
      if (hasContent(bytes, at, newlineAt) || end - start > longestHeld) {
        this.#hasData = true;
        this.#isLineStart = true;
        return start;
      }
      if (newlineAt === -1) return -1;
      if (isBlankText(bytes, at, end)) return end + 1;
      at = end + 1;
    }
  }
}

/** The bytes of `data:`. */
const dataField = [100, 97, 116, 97, 58] as const;

/** True for a line with data. Also true for a complete line that is no field, so that it is never lost. */
function hasContent(bytes: Uint8Array, start: number, newlineAt: number): boolean {
  const end = newlineAt === -1 ? bytes.length : newlineAt;
  if (dataField.every((byte, index) => bytes[start + index] === byte)) return startsData(bytes, start + dataField.length, end);
  if (newlineAt === -1) return false;
  const head = String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 6))).trimEnd();
  return !/^(?:(?:event|id|retry)?:|$|(?:data|event|id|retry)$)/.test(head);
}

/** True if the first character is no space and no colon. A colon is the beginning of a comment, and never of JSON. */
function startsData(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end && isSpace(bytes[at])) at += 1;
  return at < end && bytes[at] !== 58;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 9 || byte === 13;
}

function isBlankText(bytes: Uint8Array, start: number, end: number): boolean {
  return end === start || (end === start + 1 && bytes[start] === 13);
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other;
  const joined = new Uint8Array(one.length + other.length);
  joined.set(one);
  joined.set(other, one.length);
  return joined;
}
