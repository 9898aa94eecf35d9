import { EventEmitter } from "eventemitter3";
import type { LoopEmitter, LoopEvent } from "../types/loop-event.ts";
import type { Plain } from "../types/common.ts";
import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { MiddlewareList, ResultFields } from "../types/middleware.ts";
import { EventQueue } from "../../shared/event-queue.ts";
import { beginRun } from "./run-tool-loop.ts";

/**
 * Creates a typed eventemitter3 emitter for the `events` option.
 *
 * @example
 * const events = createLoopEvents();
 * events.on("text-delta", ({ text }) => process.stdout.write(text));
 * await runToolLoop({ provider, messages, events });
 */
export function createLoopEvents(): LoopEmitter {
  return new EventEmitter();
}

/** The number of unread events at which the model is paused. */
const capacity = 64;

/**
 * A run's events as an async iterable, and its result. `T` is the union of the tool types. `Fields` are the
 * fields that middleware adds to the result.
 */
export interface LoopStream<Output = unknown, T extends Tool = Tool, Fields = unknown> extends AsyncIterable<LoopEvent<T>> {
  /** Resolves to the result when the run has ended. A caller that only awaits `result` never slows the run down. */
  readonly result: Promise<LoopResult<Output, T> & Fields>;
}

/**
 * Starts a run immediately and yields its events as `{ type, ...payload }`. After the first `next()`, a slow reader pauses the
 * model and its timeouts. Leaving the `for await` loop early stops the run. The events can be read only once: a later
 * `for await` throws. Invalid options synchronously throw the same LoopErrors as `runToolLoop`.
 *
 * @example
 * const stream = streamToolLoop({ provider, tools, messages });
 * for await (const event of stream) if (event.type === "text-delta") process.stdout.write(event.text);
 * const { status } = await stream.result;
 */
export function streamToolLoop<
  Output = unknown,
  T extends Tool = Tool,
  List extends readonly [] | readonly unknown[] = readonly [],
>(
  options: LoopOptions<Output, T> & { readonly middleware?: List | MiddlewareList<Output> | undefined },
): LoopStream<Plain<Output>, T, ResultFields<List>> {
  const queue = new EventQueue<LoopEvent>(capacity);
  const begun = beginRun(options, { reader: queue });
  // Safe cast: the type parameters come from the schema, the tools and the middleware in `options`.
  const result = begun.result as Promise<LoopResult<Plain<Output>, T> & ResultFields<List>>;
  // Marks the promise as handled for callers that only read events. Awaiting `result` still throws the error.
  result.catch(() => {});
  const iterator: AsyncIterator<LoopEvent, undefined> = {
    next: () => queue.next(),
    return: () => {
      queue.leave();
      begun.stop("The reader left.");
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  let isRead = false;
  const read = (): AsyncIterator<LoopEvent<T>, undefined> => {
    // Without this error, a second `for await` would end at once, as if the run had no events.
    if (isRead && queue.isOver)
      throw new TypeError("This run's events have already been read. Save them as you read, or pass `events`.");
    isRead = true;
    return iterator as AsyncIterator<LoopEvent<T>, undefined>;
  };
  return { result, [Symbol.asyncIterator]: read };
}
