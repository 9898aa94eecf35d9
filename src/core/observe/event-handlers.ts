// What an observer does with the events that it hears.

import type { LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";

/** What is done with events, by their type. */
export type EventHandlers<Observer> = {
  readonly [Type in LoopEventType]?: (observer: Observer, event: LoopEvents[Type]) => void;
};

/** The events that something is done with. */
export function heardBy<Observer>(handlers: EventHandlers<Observer>): readonly LoopEventType[] {
  return Object.keys(handlers) as LoopEventType[];
}

/** Hands an event to its handler, if there is one. */
export function handleEvent<Observer>(handlers: EventHandlers<Observer>, observer: Observer, event: LoopEvent): void {
  // The compiler cannot see that the handler is the one of this very event.
  (handlers[event.type] as ((observer: Observer, event: LoopEvent) => void) | undefined)?.(observer, event);
}
