// Passes the events of one execution of a run to its log.

import type { LoopEmitter, LoopEvent, LoopEventType } from "../core/entry-kit.ts";
import { createLoopEvents } from "../core/index.ts";

/** Every event: one without an entry does not compile. */
const eventTypes: { readonly [Type in LoopEventType]: true } = {
  "run-start": true,
  "run-end": true,
  "replay-end": true,
  "iteration-start": true,
  "iteration-end": true,
  "text-delta": true,
  "reasoning-delta": true,
  "tool-args-delta": true,
  "tool-args-end": true,
  "tool-start": true,
  "tool-progress": true,
  "tool-end": true,
  notice: true,
  "hidden-notice": true,
  restart: true,
  "approval-asked": true,
  "approval-decided": true,
  "loop-detected": true,
  "result-processed": true,
  "result-extracted": true,
  "result-cached": true,
  masked: true,
  steered: true,
  "attempt-discarded": true,
  "late-result": true,
  "listener-error": true,
};

/** Makes an emitter that passes every event to one function. */
export function createEmitter(take: (event: LoopEvent) => void): LoopEmitter {
  const events = createLoopEvents();
  // The loop emits payloads that include their type.
  for (const type of Object.keys(eventTypes)) events.on(type as LoopEventType, (event) => take(event as LoopEvent));
  return events;
}

/**
 * Passes on what a log does not have yet, of an execution that replays what the log has. Recalled events are dropped. A `run-start` is
 * held back until something follows that is new: the starts and ends of runs have no mark, so a run inside a call that is only told
 * again would be doubled, and an execution that is refused at once would leave a start without an end.
 */
export function skipRecalled(take: (event: LoopEvent) => void): (event: LoopEvent) => void {
  const held = new Map<string, LoopEvent>();
  return (event) => {
    if (event.replayed === true || event.type === "replay-end") return;
    if (event.type === "run-start") {
      held.set(event.runId, event);
      return;
    }
    if (event.type === "run-end" && event.path !== undefined && held.delete(event.runId)) return;
    if (held.size > 0) {
      for (const [runId, start] of held) {
        if (!isAround(start, event)) continue;
        held.delete(runId);
        take(start);
      }
    }
    take(event);
  };
}

/** True if an event belongs to a run, or to a run inside its calls. */
function isAround({ runId, path = [] }: LoopEvent, event: LoopEvent): boolean {
  const inner = event.path ?? [];
  if (path.length === inner.length) return event.runId === runId;
  return path.length < inner.length && path.every((id, index) => id === inner[index]);
}
