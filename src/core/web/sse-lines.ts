import { longestTimerMs, systemClock } from "../cancellation/signals.ts";
import { type Checks, numberWithin } from "../errors/check-fields.ts";
import type { Clock } from "../types/common.ts";
import { isLiteral, isRecord } from "../utils/guards.ts";
import type { ChunkBatches } from "./chunk-batches.ts";

/** The options of a response with Server-Sent Events. */
export interface SSEOptions {
  /**
   * Additional headers of the response as a plain object, for example for CORS. These headers override the headers that the
   * library sets. Default: none.
   */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * The time without an event after which a comment is sent, so that proxies keep the connection open. In milliseconds. With
   * `Infinity`, no comments are sent. Default 15,000.
   */
  readonly keepAliveMs?: number | undefined;
  /** The clock for `keepAliveMs`. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

export const sseChecks: Checks<SSEOptions> = {
  headers: ["a plain object whose values are strings (Object.fromEntries converts a Headers object)", isTexts],
  keepAliveMs: /* @__PURE__ */ numberWithin({ min: 1, max: longestTimerMs }),
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

const keepAlive = ": keep-alive\n\n";

/** Converts the chunks of a run to Server-Sent Events. */
export class SSELines<Chunk> {
  /** The response headers, in lower case. Headers from the options override those of the library. */
  readonly headers: { readonly [name: string]: string };
  readonly #batches: ChunkBatches<Chunk>;
  readonly #writer: LineWriter<Chunk>;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  #first: string | undefined;
  #pending: Promise<readonly Chunk[] | undefined> | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(batches: ChunkBatches<Chunk>, writer: LineWriter<Chunk>, options: SSEOptions) {
    const { headers = {}, keepAliveMs = 15_000, clock = systemClock } = options;
    this.headers = {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // Turns off the buffering of nginx.
      "x-accel-buffering": "no",
      ...writer.headers,
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    };
    this.#batches = batches;
    this.#writer = writer;
    this.#first = writer.first;
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
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
  /** Writes text. Returns false if the write buffer is full. The caller must then wait for the event "drain". */
  write(text: string): boolean;
  end(): unknown;
  on(event: "drain" | "close" | "error", listener: () => void): unknown;
  off(event: "drain" | "close" | "error", listener: () => void): unknown;
}

/** Creates lines on demand. Cancelling the stream closes the source of the chunks. */
export function toByteStream<Chunk>(lines: SSELines<Chunk>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const text = await lines.next();
        if (text === undefined) controller.close();
        else controller.enqueue(encoder.encode(text));
      },
      cancel: () => lines.leave(),
    },
    // With 0, no line is created before the stream is read.
    { highWaterMark: 0 },
  );
}

export function toLineResponse<Chunk>(lines: SSELines<Chunk>): Response {
  return new Response(toByteStream(lines), { headers: lines.headers });
}

/** Writes the lines to a node:http response. Resolves when the response has ended or the page has disconnected. */
export async function pipeLines<Chunk>(lines: SSELines<Chunk>, res: NodeResponse): Promise<void> {
  if (res.destroyed || res.writableEnded) return lines.leave();
  let isGone = false;
  let wake: (() => void) | undefined;
  const onDrain = (): void => wake?.();
  const onGone = (): void => {
    isGone = true;
    lines.leave();
    wake?.();
  };
  res.on("drain", onDrain);
  res.on("close", onGone);
  res.on("error", onGone);
  try {
    res.writeHead(200, { ...lines.headers });
    res.flushHeaders();
    for (let text = await lines.next(); text !== undefined; text = await lines.next()) {
      if (res.write(text) || isGone) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (!isGone) res.end();
  } finally {
    lines.leave();
    res.off("drain", onDrain);
    res.off("close", onGone);
    res.off("error", onGone);
  }
}
