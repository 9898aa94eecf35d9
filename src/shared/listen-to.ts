import type { LoopEmitter, LoopEvent, LoopEventType } from "../core/types/loop-event.ts";

/**
 * Passes events of these types to `take`. Returns a function that removes the listeners. Adds the type to events that lack it, because the
 * caller's code may emit such events.
 */
export function listenTo(events: LoopEmitter, types: readonly LoopEventType[], take: (event: LoopEvent) => void): () => void {
  const listeners = types.map((type) => {
    const listener = (event: object): void => take(("type" in event ? event : { type, ...event }) as LoopEvent);
    events.on(type, listener);
    return () => events.off(type, listener);
  });
  return () => {
    for (const remove of listeners) remove();
  };
}
