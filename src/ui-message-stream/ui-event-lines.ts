// The chunks of a run as Server-Sent Events.

import { type Check, type Clock, longestTimerMs, numberWithin, systemClock } from "../core/entry-kit.ts";
import type { UIEventItem } from "./create-ui-message-mapper.ts";
import { ChunkBatches } from "./to-ui-message-stream.ts";
import type { UIMessageChunk } from "./ui-message-chunk.ts";
import { checkMessageOptions, type UIMessageOptions } from "./ui-message-options.ts";

/** How a run is sent to a page. */
export interface UIResponseOptions extends UIMessageOptions {
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

const checks: { readonly [Name in Exclude<keyof UIResponseOptions, keyof UIMessageOptions>]: Check } = {
  headers: ["an object of texts", isTexts],
  keepAliveMs: /* @__PURE__ */ numberWithin({ min: 1, max: longestTimerMs }),
  clock: ["a clock", (value) => typeof value === "object" && value !== null && "setTimeout" in value && "clearTimeout" in value],
};

function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string");
}

/** Returns the headers of the response. Those of the caller come last, so that they take precedence. */
export function toHeaders({ headers = {} }: UIResponseOptions): { readonly [name: string]: string } {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    // Keeps nginx from collecting the stream.
    "x-accel-buffering": "no",
    "x-vercel-ai-ui-message-stream": "v1",
    ...Object.fromEntries(own),
  };
}

type Batch = readonly UIMessageChunk[] | undefined;

const lastLine = "data: [DONE]\n\n";
const keepAlive = ": keep-alive\n\n";

/** Reads a run as text, one event of it at a time. */
export class UIEventLines {
  readonly #batches: ChunkBatches;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  #pending: Promise<Batch> | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(events: AsyncIterable<UIEventItem>, options: UIResponseOptions) {
    checkMessageOptions(options, checks);
    const { headers: _, keepAliveMs = 15_000, clock = systemClock, ...messageOptions } = options;
    this.#batches = new ChunkBatches(events, messageOptions);
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Returns the next lines; undefined after the last ones, or once the reader has left. */
  async next(): Promise<string | undefined> {
    if (this.#isOver) return undefined;
    this.#pending ??= this.#batches.next();
    const raced = await this.#race(this.#pending);
    if (raced === "left") return undefined;
    if (raced === "silent") return keepAlive;
    this.#pending = undefined;
    if (raced.batch !== undefined) return raced.batch.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    this.#isOver = true;
    return lastLine;
  }

  /** Leaves the source. A `next` that waits returns. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#batches.leave();
    this.#wake?.();
  }

  #race(pending: Promise<Batch>): Promise<"left" | "silent" | { readonly batch: Batch }> {
    return new Promise((resolve) => {
      const timer =
        this.#keepAliveMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#clock.setTimeout(() => settle("silent"), this.#keepAliveMs);
      const settle = (value: "left" | "silent" | { readonly batch: Batch }): void => {
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        this.#wake = undefined;
        resolve(value);
      };
      this.#wake = () => settle("left");
      void pending.then((batch) => settle({ batch }));
    });
  }
}
