// The chunks of a run as Server-Sent Events.

import { longestTimerMs, systemClock } from "../cancellation/deadline.ts";
import { type Checks, numberWithin } from "../errors/check-fields.ts";
import type { Clock } from "../types/common.ts";
import type { ChunkBatches } from "./chunk-batches.ts";

/** How a response is sent. */
export interface SSEOptions {
  /** Headers to add, for example for CORS. Default none. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * The silence after which a comment is sent, in milliseconds, so that proxies keep the connection. Default 15,000; `Infinity` sends
   * none.
   */
  readonly keepAliveMs?: number | undefined;
  /** Default: the clock of the platform. */
  readonly clock?: Clock | undefined;
}

/** The checks of the options, for `checkFields`. */
export const sseChecks: Checks<SSEOptions> = {
  headers: ["an object of texts", isTexts],
  keepAliveMs: /* @__PURE__ */ numberWithin({ min: 1, max: longestTimerMs }),
  clock: ["a clock", (value) => typeof value === "object" && value !== null && "setTimeout" in value && "clearTimeout" in value],
};

function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string");
}

/** Writes chunks as lines. */
export interface LineWriter<Chunk> {
  /** Sent before the source is read. */
  readonly first?: string | undefined;
  readonly write: (chunk: Chunk) => string;
  /** Sent after the last chunk. */
  readonly last?: string | undefined;
  /** Headers of the protocol. */
  readonly headers?: { readonly [name: string]: string } | undefined;
}

const keepAlive = ": keep-alive\n\n";

/** Reads a run as text, one event of it at a time. */
export class SSELines<Chunk> {
  /** The headers of the response. Those of the caller come last, so that they take precedence. */
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
      // Keeps nginx from collecting the stream.
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

  /** Returns the next lines; undefined after the last ones, or once the reader has left. */
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

  /** Leaves the source. A `next` that waits returns. */
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
