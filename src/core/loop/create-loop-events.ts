// Makes the emitter that a caller may hand in to hear a run's events.

import { EventEmitter } from "eventemitter3";
import type { LoopEmitter } from "../types/loop-event.ts";

/**
 * Makes a typed eventemitter3 for the `events` option.
 *
 * @example
 * const events = createLoopEvents();
 * events.on("text-delta", ({ text }) => process.stdout.write(text));
 * await runToolLoop({ provider, messages, events });
 */
export function createLoopEvents(): LoopEmitter {
  return new EventEmitter();
}
