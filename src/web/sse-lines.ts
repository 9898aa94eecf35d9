// Writes chunks as Server-Sent Events, only as fast as the web page reads them.

import { maxTimerMs, systemClock } from "../shared/signals.ts";
import { type Checks } from "../shared/errors/check-fields.ts";
import type { Clock } from "../core/index.ts";
import { isLiteral, isRecord } from "../shared/guards.ts";
import type { ChunkBatches } from "./chunk-batches.ts";

/** The options for a response with Server-Sent Events. */
export interface SSEOptions {
  /**
   * Additional headers for the response, as a plain object, for example for CORS. These headers override the headers that the
   * library sets. Default: none.
   */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * The time without an event, in milliseconds, after which a comment is sent, so that proxies keep the connection open. With
   * `Infinity`, no comments are sent. Default 15,000.
   */
  readonly keepAliveMs?: number | undefined;
  /**
   * How long the page may leave sent data unread, in milliseconds. After that, the response ends as if the page had disconnected. This
   * happens, for example, if a phone loses its connection without closing it. `Infinity` means no limit. Default: four times `keepAliveMs`,
   * or 60,000 if that is `Infinity`.
   */
  readonly unreadMs?: number | undefined;
  /** The clock for `keepAliveMs` and `unreadMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

export const sseChecks: Checks<SSEOptions> = {
  headers: ["a plain object whose values are strings (Object.fromEntries converts a Headers object)", isTexts],
  keepAliveMs: { min: 1, max: maxTimerMs },
  unreadMs: { min: 1, max: maxTimerMs },
  clock: [
    "an object with the methods setTimeout and clearTimeout",
    (value) => typeof value === "object" && value !== null && "setTimeout" in value && "clearTimeout" in value,
  ],
};

function isTexts(value: unknown): boolean {
  return isRecord(value) && isLiteral(value) && Object.values(value).every((text) => typeof text === "string");
}

export interface LineWriter<Chunk> {
  readonly first?: string | undefined;
  readonly write: (chunk: Chunk) => string;
  readonly last?: string | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
}

function defaultUnreadMs(keepAliveMs: number): number {
  return keepAliveMs === Number.POSITIVE_INFINITY ? 60_000 : Math.min(4 * keepAliveMs, maxTimerMs);
}

/** The size of the pieces in which data is sent. Small pieces let a slow page show progress while it reads a large result. */
const pieceSize = 65_536;

/** Splits a string, but not between the halves of a surrogate pair. */
function* splitText(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    let end = start + pieceSize;
    const code = text.charCodeAt(end - 1);
    if (code >= 0xd800 && code <= 0xdbff) end += 1;
    yield text.slice(start, end);
    start = end;
  }
}

const keepAlive = ": keep-alive\n\n";

/** Converts the chunks of a run to Server-Sent Events. */
export class SSELines<Chunk> {
  /** The response headers, in lower case. Headers from the options override those of the library. */
  readonly headers: { readonly [name: string]: string };
  readonly #batches: ChunkBatches<Chunk>;
  readonly #writer: LineWriter<Chunk>;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  readonly #unreadMs: number;
  #first: string | undefined;
  #pending: Promise<readonly Chunk[] | undefined> | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(batches: ChunkBatches<Chunk>, writer: LineWriter<Chunk>, options: SSEOptions) {
    const { headers = {}, keepAliveMs = 15_000, clock = systemClock, unreadMs = defaultUnreadMs(keepAliveMs) } = options;
    this.headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // Turns off nginx's buffering, which would delay events.
      "x-accel-buffering": "no",
      ...writer.headers,
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    };
    this.#batches = batches;
    this.#writer = writer;
    this.#first = writer.first;
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
    this.#unreadMs = unreadMs;
  }

  async next(): Promise<string | undefined> {
    if (this.#isOver) return undefined;
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return first;
    this.#pending ??= this.#batches.next();
    const raced = await this.#race(this.#pending);
    if (raced === "left") return undefined;
    if (raced === "silent") return keepAlive;
    this.#pending = undefined;
    if (raced.batch !== undefined) return raced.batch.map(this.#writer.write).join("");
    this.#isOver = true;
    return this.#writer.last;
  }

  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#batches.leave();
    this.#wake?.();
  }

  /** Calls `giveUp` if the page does not read sent data in time. Returns a function that must be called when the page has read the data. */
  watchReader(giveUp: () => void): () => void {
    if (this.#unreadMs === Number.POSITIVE_INFINITY) return () => {};
    const timer = this.#clock.setTimeout(giveUp, this.#unreadMs);
    return () => this.#clock.clearTimeout(timer);
  }

  #race(
    pending: Promise<readonly Chunk[] | undefined>,
  ): Promise<"left" | "silent" | { readonly batch: readonly Chunk[] | undefined }> {
    return new Promise((resolve) => {
      const timer =
        this.#keepAliveMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#clock.setTimeout(() => settle("silent"), this.#keepAliveMs);
      const settle = (value: "left" | "silent" | { readonly batch: readonly Chunk[] | undefined }): void => {
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        this.#wake = undefined;
        resolve(value);
      };
      this.#wake = () => settle("left");
      void pending.then((batch) => settle({ batch }));
    });
  }
}

/** The parts of a node:http `ServerResponse` that `pipeLines` needs. */
export interface NodeResponse {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  writeHead(status: number, headers: { [name: string]: string }): unknown;
  flushHeaders(): void;
  /** Writes text. Returns false if the write buffer is full. The caller must then wait for the "drain" event. */
  write(text: string): boolean;
  end(): unknown;
  /** Closes the connection. Called if the page does not read sent data. Default: `end` is called instead. */
  destroy?(): unknown;
  on(event: "drain" | "close" | "error", listener: () => void): unknown;
  off(event: "drain" | "close" | "error", listener: () => void): unknown;
}

/** Returns a stream that creates lines on demand. Canceling it closes the source of the chunks. */
export function toByteStream<Chunk>(lines: SSELines<Chunk>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let rest: Uint8Array = new Uint8Array();
  let onRead = (): void => {};
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        onRead();
        if (rest.length === 0) {
          const text = await lines.next();
          if (text === undefined) return controller.close();
          rest = encoder.encode(text);
        }
        const piece = rest.subarray(0, pieceSize);
        rest = rest.subarray(pieceSize);
        controller.enqueue(piece);
        onRead = lines.watchReader(() => {
          lines.leave();
          controller.error(new Error("The response was closed because the page did not read it."));
        });
      },
      cancel: () => {
        onRead();
        lines.leave();
      },
    },
    // Uses a high-water mark of 0, so that no line is created before the web page asks for data.
    { highWaterMark: 0 },
  );
}

/** Creates a response. Without lines, its status is 204, after which an `EventSource` does not reconnect. */
export function toLineResponse<Chunk>(lines: SSELines<Chunk> | undefined, { headers }: SSEOptions = {}): Response {
  if (lines === undefined) return new Response(null, { status: 204, headers: { ...headers } });
  return new Response(toByteStream(lines), { headers: lines.headers });
}

/**
 * Writes the lines to a node:http response. Resolves when the response has ended, when the page has disconnected, or when the page
 * has not read sent data in time. Without lines, the status is 204.
 */
export async function pipeLines<Chunk>(
  lines: SSELines<Chunk> | undefined,
  res: NodeResponse,
  { headers }: SSEOptions = {},
): Promise<void> {
  if (res.destroyed || res.writableEnded) return lines?.leave();
  if (lines === undefined) {
    res.writeHead(204, { ...headers });
    return void res.end();
  }
  const writer = new LineSender(lines, res);
  try {
    await writer.send();
  } finally {
    writer.release();
  }
}

class LineSender<Chunk> {
  readonly #lines: SSELines<Chunk>;
  readonly #res: NodeResponse;
  #isGone = false;
  #wake: (() => void) | undefined;
  readonly #onDrain = (): void => this.#wake?.();
  readonly #onGone = (): void => {
    this.#isGone = true;
    this.#lines.leave();
    this.#wake?.();
  };

  constructor(lines: SSELines<Chunk>, res: NodeResponse) {
    this.#lines = lines;
    this.#res = res;
    res.on("drain", this.#onDrain);
    res.on("close", this.#onGone);
    res.on("error", this.#onGone);
  }

  async send(): Promise<void> {
    this.#res.writeHead(200, { ...this.#lines.headers });
    this.#res.flushHeaders();
    for (let text = await this.#lines.next(); text !== undefined; text = await this.#lines.next()) {
      for (const piece of splitText(text)) {
        if (this.#isGone) return;
        if (!this.#res.write(piece)) await this.#waitForReader();
      }
    }
    if (!this.#isGone) this.#res.end();
  }

  async #waitForReader(): Promise<void> {
    if (this.#isGone) return;
    const onRead = this.#lines.watchReader(() => {
      this.#onGone();
      // Closes the connection immediately, because `end` alone would leave it open until the web page reads or closes it.
      if (this.#res.destroy === undefined) this.#res.end();
      else this.#res.destroy();
    });
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    onRead();
  }

  release(): void {
    this.#lines.leave();
    this.#res.off("drain", this.#onDrain);
    this.#res.off("close", this.#onGone);
    this.#res.off("error", this.#onGone);
  }
}
