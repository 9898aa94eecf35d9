import type { LoopEmitter, LoopEvent, LoopEventType } from "../core/entry-kit.ts";
import { createLoopEvents } from "../core/index.ts";

/** All event types. If a type is missing here, this object does not compile. */
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
  "tool-emit": true,
  "tool-end": true,
  notice: true,
  "hidden-notice": true,
  restart: true,
  handoff: true,
  guardrail: true,
  "approval-asked": true,
  "approval-decided": true,
  "question-asked": true,
  "question-answered": true,
  "loop-detected": true,
  "result-processed": true,
  "result-extracted": true,
  "result-cached": true,
  masked: true,
  "compaction-start": true,
  "compaction-end": true,
  "cache-break": true,
  steered: true,
  "attempt-discarded": true,
  "late-result": true,
  "listener-error": true,
};

export function createEmitter(take: (event: LoopEvent) => void): LoopEmitter {
  const events = createLoopEvents();
  // The cast is safe, because every event of the loop has a `type`.
  for (const type of Object.keys(eventTypes)) events.on(type as LoopEventType, (event) => take(event as LoopEvent));
  return events;
}

/**
 * Returns a function that passes new events to `take`, and drops replayed events, because the log already has them.
 *
 * `run-start` and `run-end` are never marked as replayed. Each `run-start` is therefore held back until its run has a new event.
 * Otherwise a replayed nested run would appear twice, and a refused resume would leave a `run-start` without a `run-end`.
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

/** True if `event` belongs to the run that began with the given `run-start`, or to a run nested in that run. */
function isAround({ runId, path = [] }: LoopEvent, event: LoopEvent): boolean {
  const inner = event.path ?? [];
  if (path.length === inner.length) return event.runId === runId;
  return path.length < inner.length && path.every((id, index) => id === inner[index]);
}
