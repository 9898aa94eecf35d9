// Runs the loop, and yields its events as an async iterable.

import { EventEmitter } from "eventemitter3";
import type { LoopEmitter, LoopEvent } from "../types/loop-event.ts";
import type { Plain } from "../types/json.ts";
import type { LoopOptions } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { EventQueue } from "../utils/event-queue.ts";
import { driveRun, nest } from "./run-tool-loop.ts";
import { startRun } from "./start/start-run.ts";

/**
 * Creates a typed eventemitter3 emitter for the option `events`.
 *
 * @example
 * const events = createLoopEvents();
 * events.on("text-delta", ({ text }) => process.stdout.write(text));
 * await runToolLoop({ provider, messages, events });
 */
export function createLoopEvents(): LoopEmitter {
  return new EventEmitter();
}

/** With this number of unread events, the model is paused. */
const capacity = 64;

/** The events of a run as an async iterable, and the result of the run. */
export interface LoopStream<Output = unknown> extends AsyncIterable<LoopEvent> {
  /** Resolves to the result when the run has ended. A caller that only awaits `result` never slows the run down. */
  readonly result: Promise<LoopResult<Output>>;
}

/**
 * Starts a run immediately and yields its events as `{ type, ...payload }`. After the first `next()`, a slow reader pauses the
 * model and the timeouts of the model. Leaving the `for await` loop early stops the run. Invalid options throw the LoopErrors of
 * `runToolLoop` synchronously.
 *
 * @example
 * const stream = streamToolLoop({ provider, tools, messages });
 * for await (const event of stream) if (event.type === "text-delta") process.stdout.write(event.text);
 * const { status } = await stream.result;
 */
export function streamToolLoop<Output = unknown>(options: LoopOptions<Output>): LoopStream<Plain<Output>> {
  const queue = new EventQueue<LoopEvent>(capacity);
  const run = startRun(options, { nest, queue });
  // The schema in `options` determines the type of the output.
  const result = driveRun(run) as Promise<LoopResult<Plain<Output>>>;
  // Prevents an unhandled rejection for callers that only read events. A caller that awaits `result` still gets the error.
  result.catch(() => {});
  const iterator: AsyncIterator<LoopEvent, undefined> = {
    next: () => queue.next(),
    return: () => {
      queue.leave();
      run.scope.cancel({ kind: "stop", note: "The reader left." });
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { result, [Symbol.asyncIterator]: () => iterator };
}
