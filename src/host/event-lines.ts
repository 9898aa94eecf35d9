// The events of a run as Server-Sent Events.

import {
  type Check,
  checkFields,
  type Clock,
  dropPromise,
  is,
  longestTimerMs,
  type LoopEvent,
  numberWithin,
  systemClock,
} from "../core/entry-kit.ts";
import { isInternal, toEventJson } from "./event-json.ts";
import type { HostedEvent } from "./hosted-event.ts";

/** A source of events: the stream of `streamToolLoop`, or a reader of a host. */
export type EventSource = AsyncIterable<LoopEvent | HostedEvent> & {
  readonly restarted?: boolean | undefined;
  readonly isOver?: boolean | undefined;
};

/** How events are sent. */
export interface EventStreamOptions {
  /**
   * True if the metadata of `toolResult({ metadata })` and the events `hidden-notice` and `listener-error` are sent. They are meant for
   * your listeners. Default false.
   */
  readonly includeMetadata?: boolean | undefined;
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

const checks: { readonly [Name in keyof Required<EventStreamOptions>]: Check } = {
  includeMetadata: is.flag,
  headers: ["an object of texts", isTexts],
  keepAliveMs: /* @__PURE__ */ numberWithin({ min: 1, max: longestTimerMs }),
  clock: ["a clock", (value) => typeof value === "object" && value !== null && "setTimeout" in value && "clearTimeout" in value],
};

function isTexts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string");
}

/** Returns the headers of the response. Those of the caller come last, so that they take precedence. */
export function toHeaders({ headers = {} }: EventStreamOptions): { readonly [name: string]: string } {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    // Keeps nginx from collecting the stream.
    "x-accel-buffering": "no",
    ...Object.fromEntries(own),
  };
}

type Next = IteratorResult<LoopEvent | HostedEvent> | { readonly error: unknown };

const keepAlive = ": keep-alive\n\n";
const reset = "event: reset\ndata: {}\n\n";
/** The error of a source may hold secrets, so a page gets a neutral text. "error" is the name that EventSource uses itself. */
const failure = 'event: failure\ndata: {"message":"The run could not be read to its end."}\n\n';

/** Reads a source as text, one event at a time. */
export class EventLines {
  readonly #iterator: AsyncIterator<LoopEvent | HostedEvent>;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  readonly #includeMetadata: boolean;
  #first: string | undefined;
  #pending: Promise<Next> | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(source: EventSource, options: EventStreamOptions) {
    checkFields("options", options, checks);
    const { includeMetadata = false, keepAliveMs = 15_000, clock = systemClock } = options;
    this.#iterator = source[Symbol.asyncIterator]();
    this.#clock = clock;
    this.#keepAliveMs = keepAliveMs;
    this.#includeMetadata = includeMetadata;
    this.#first = source.restarted === true ? reset : undefined;
  }

  /** Returns the next lines; undefined after the last ones, or once the reader has left. */
  async next(): Promise<string | undefined> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return first;
    for (;;) {
      if (this.#isOver) return undefined;
      this.#pending ??= this.#read();
      const next = await this.#race(this.#pending);
      if (next === "left") return undefined;
      if (next === "silent") return keepAlive;
      this.#pending = undefined;
      const lines = this.#toLines(next);
      if (lines !== undefined) return lines;
    }
  }

  /** Leaves the source. A `next` that waits returns. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      dropPromise(this.#iterator.return?.());
    } catch {
      // The reader has left, so this error cannot be reported.
    }
    this.#wake?.();
  }

  /** Returns undefined for an event that is not sent. */
  #toLines(next: Next): string | undefined {
    if ("error" in next || next.done === true) {
      this.#isOver = true;
      return "error" in next ? failure : undefined;
    }
    const { value } = next;
    const event = "type" in value ? value : value.event;
    if (!this.#includeMetadata && isInternal(event)) return undefined;
    const id = "type" in value ? "" : `id: ${value.id}\n`;
    return `${id}event: ${event.type}\ndata: ${toEventJson(event, this.#includeMetadata)}\n\n`;
  }

  async #read(): Promise<Next> {
    try {
      return await this.#iterator.next();
    } catch (error) {
      return { error };
    }
  }

  #race(pending: Promise<Next>): Promise<"left" | "silent" | Next> {
    return new Promise((resolve) => {
      const timer =
        this.#keepAliveMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#clock.setTimeout(() => settle("silent"), this.#keepAliveMs);
      const settle = (value: "left" | "silent" | Next): void => {
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        this.#wake = undefined;
        resolve(value);
      };
      this.#wake = () => settle("left");
      void pending.then(settle);
    });
  }
}
