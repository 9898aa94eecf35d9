import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { parseJson } from "../utils/json.ts";
import { cutText } from "../utils/texts.ts";

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
