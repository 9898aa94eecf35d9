// Reads an event stream. Removes events without data. Also keeps the stream's last characters, because an SDK may ignore an error there.

import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson } from "../json.ts";
import { recordOf, textOf } from "../plain-error.ts";
import { cutText } from "../texts.ts";

/** The number of characters to remember from the end of a stream. */
const tailLength = 4_096;

const maxSaidLength = 1_000;

/** Remembers the last characters of an event stream, because an SDK may not pass on everything in them. */
export class EventTail {
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Receives all bytes of the stream. */
  readonly watch = (bytes: Uint8Array): void => {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#text = (this.#text + text).slice(-Math.max(tailLength, text.length));
  };

  /** True if the stream ended with `data: [DONE]` on a separate line, and all events before it were JSON. */
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
    return text === undefined ? undefined : cutText(text, maxSaidLength);
  }

  #lines(): readonly string[] {
    return [...this.#text.matchAll(/(?:^|[\r\n])data: ?([^\r\n]*)/g)].map(([, data = ""]) => data.trim());
  }
}

/** The maximum length of an event without data. The limit keeps the work proportional to the length of the stream. */
const maxHeldLength = 4_096;

/** Matches a line with data. Data that begins with a colon is a comment, not JSON. */
const dataLine = /^data:[ \t\r]*[^ \t\r\n:]/;

/** Matches an event's name. "message" is the name of all events without one. */
const nameLine = /^event:[ \t]*(?!message[ \t]*\r?$)[^ \t\r\n]/m;

/** Matches the lines that an event without data may contain. */
const emptyLine = /^(?:(?:data|event|id|retry)?:|(?:data|event|id|retry)?[ \t\r\n]*$)/;

/**
 * Removes events without data. Relays keep a connection open with events whose `data` is empty or missing, or is a comment. SDKs parse such
 * data as JSON and fail, so the answer would be lost (github.com/NousResearch/hermes-agent/issues/111887,
 * github.com/omnigent-ai/omnigent/pull/1474, github.com/mnfst/llm-gateway/issues/2053). All other text is passed on unchanged and without
 * delay.
 *
 * With `named`, an event without a name is given the `type` in its data as its name. Some gateways to Anthropic's API omit the names, and
 * the SDK ignores such events, so the answer would be empty (github.com/earendil-works/pi/issues/1983,
 * github.com/openclaw/openclaw/issues/37571).
 */
export class EventFilter {
  readonly #named: boolean;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #encoder = new TextEncoder();
  /** The lines of an event whose data has not arrived yet. */
  #held = "";
  /** The beginning of an incomplete line. */
  #line = "";
  #hasData = false;

  constructor(named = false) {
    this.#named = named;
  }

  /** Takes the bytes that have arrived, and returns the bytes to pass on. */
  take(arrived: Uint8Array): readonly Uint8Array[] {
    return this.#encode(this.#filter(this.#decoder.decode(arrived, { stream: true })));
  }

  /** Returns the bytes that are left when the stream ends. */
  end(): readonly Uint8Array[] {
    return this.#encode(this.#held + (this.#hasData ? "" : this.#line) + this.#decoder.decode());
  }

  #encode(text: string): readonly Uint8Array[] {
    return text === "" ? [] : [this.#encoder.encode(text)];
  }

  #filter(text: string): string {
    return text
      .split(/(?<=\n)/)
      .map((piece) => this.#read(piece))
      .join("");
  }

  /** Reads a line, or a part of one. */
  #read(piece: string): string {
    const line = this.#line + piece;
    const isWhole = piece.endsWith("\n");
    if (!this.#hasData) return this.#begin(line, isWhole);
    this.#hasData = !isBlank(line);
    this.#line = isWhole ? "" : "x";
    return piece;
  }

  /** Reads a line of an event that has no data yet. Returns the text of the event as soon as it has data. */
  #begin(line: string, isWhole: boolean): string {
    this.#line = isWhole ? "" : line;
    this.#hasData = this.#isContent(line, isWhole);
    if (this.#hasData) {
      const event = this.#held + (this.#lacksName(line) ? toNameLine(line) : "") + line;
      this.#held = "";
      return event;
    }
    if (isWhole) this.#held = isBlank(line) ? "" : this.#held + line;
    return "";
  }

  #lacksName(line: string): boolean {
    return this.#named && dataLine.test(line) && !nameLine.test(this.#held);
  }

  /** True for a line with data. Also true for a complete line that is not a field, so that it is never lost. */
  #isContent(line: string, isWhole: boolean): boolean {
    if (isBlank(line)) return false;
    if (this.#lacksName(line)) return isWhole;
    return dataLine.test(line) || this.#held.length + line.length > maxHeldLength || (isWhole && !emptyLine.test(line));
  }
}

function toNameLine(dataLine: string): string {
  const name = textOf(recordOf(parseJson(dataLine.slice("data:".length))).type);
  return name === "" ? "" : `event: ${name}\n`;
}

function isBlank(line: string): boolean {
  return /^\r?\n$/.test(line);
}
