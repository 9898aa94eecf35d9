// Everything that a run tells its listeners, kept in order.

import { EventEmitter } from "eventemitter3";
import type { LoopEmitter, LoopEvent, LoopEvents, LoopEventType } from "../core/entry-kit.ts";
import { eventTypes, outlineEvents } from "./outline-events.ts";

/** Each event with its type, by that type. */
export type EventsByType = { readonly [Type in LoopEventType]: { readonly type: Type } & LoopEvents[Type] };

/** The events that came so far. */
export interface EventRecording {
  /** Hand it to the loop as `events`. */
  readonly emitter: LoopEmitter;
  /** In the order in which they came, as `streamToolLoop` yields them. */
  readonly events: readonly LoopEvent[];
  /** The names of all events, in order. */
  types(): LoopEventType[];
  /** The events of one type, in order. */
  of<Type extends LoopEventType>(type: Type): EventsByType[Type][];
  /** A tree to read and to snapshot: one line an event, indented by run and iteration, neighbouring deltas joined. */
  outline(): string;
  /** Takes the listeners off the emitter; what was recorded stays. */
  stop(): void;
}

/**
 * Records the events of an emitter, or of a new one. With `types` it listens to those only, which also spares the loop the
 * making of the others.
 *
 * @example
 * const recording = recordEvents();
 * await runToolLoop({ provider: createMockProvider([text("Hello", { chunks: 3 })]), messages, events: recording.emitter });
 * expect(recording.outline()).toMatchInlineSnapshot(`
 *   "run-start
 *     iteration-start 0
 *       text-delta "Hello"
 *     iteration-end 0 completed
 *   run-end completed answered"
 * `);
 */
export function recordEvents(
  emitter: LoopEmitter = new EventEmitter(),
  types: readonly LoopEventType[] = eventTypes,
): EventRecording {
  const events: LoopEvent[] = [];
  const stops = types.map((type) => listen(emitter, type, (event) => events.push(event)));
  return {
    emitter,
    events,
    types: () => events.map((event) => event.type),
    of: (type) => events.filter((event) => isOfType(event, type)),
    outline: () => outlineEvents(events),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function isOfType<Type extends LoopEventType>(event: LoopEvent, type: Type): event is EventsByType[Type] {
  return event.type === type;
}

/** Listens to one event; returns what takes the listener off again. */
function listen(emitter: LoopEmitter, type: LoopEventType, take: (event: LoopEvent) => void): () => void {
  // The compiler cannot see that the payload belongs to this very type.
  const listener = (event: LoopEvents[LoopEventType]): void => take({ type, ...event } as LoopEvent);
  emitter.on(type, listener);
  return () => void emitter.off(type, listener);
}
