import { type LoopEmitter, wrapJournal } from "../core/kit.ts";
import { createLoopEvents, type Journal, type LoopEvent, type LoopOptions, type LoopResult, runToolLoop } from "../core/index.ts";
import { eventTypes } from "../shared/event-table.ts";
import { listenTo } from "../shared/listen-to.ts";
import { followSignal } from "../shared/signals.ts";
import type { Changed } from "../conversation/conversation-state.ts";
import type { BoundLock } from "./bound-store.ts";
import type { HostedLoopOptions } from "./run-host.ts";
import type { RunTurn } from "./run-turn.ts";

export interface ExecutionPlan {
  readonly loop: HostedLoopOptions;
  readonly messages: LoopOptions["messages"];
  readonly journal: Journal;
  readonly isResumed: boolean;
  /** True if `turn.log` already contains the events from before a resume. */
  readonly isContinued: boolean;
}

interface Ports {
  /** The conversation's lock, which this turn holds. */
  readonly lock: BoundLock;
  /** How the conversation changes when the run begins. Stored when the journal is open and the run has done nothing yet. */
  readonly changed: Changed;
  readonly wrapOptions: ((options: LoopOptions) => LoopOptions) | undefined;
}

export type ExecutionEnd =
  | { readonly kind: "ended"; readonly result: LoopResult }
  /** The run rejected with `error`. If `isRefused` is true, the run had done nothing new before the error. */
  | { readonly kind: "broken"; readonly error: unknown; readonly isRefused: boolean };

export async function executeRun(
  turn: RunTurn,
  plan: ExecutionPlan,
  { lock, changed, wrapOptions }: Ports,
): Promise<ExecutionEnd> {
  const { log, control, runId } = turn;
  let hasWorked = false;
  const append = (event: LoopEvent): void => log.append(event);
  const take = plan.isContinued ? skipRecalled(append) : append;
  const events = createEmitter((event) => {
    if (!hasWorked && event.replayed !== true && event.type !== "run-start" && event.type !== "listener-error") {
      hasWorked = true;
      turn.begun.resolve(undefined);
    }
    take(event);
    if (event.type === "run-end" && event.path === undefined) turn.isEnding = true;
  });
  const begin = async (): Promise<void> => {
    await lock.append(changed.change);
    log.begin();
    turn.open(changed.stored, lock);
    if (!plan.isResumed) turn.begun.resolve(undefined);
  };
  const stop = followSignal(plan.loop.signal, lock.lost);
  try {
    const journal = claimJournal(plan.journal, begin);
    const { signal } = stop;
    const options: LoopOptions = { ...plan.loop, signal, messages: plan.messages, runId, events, control, journal };
    const result = await runToolLoop(wrapOptions?.(options) ?? options);
    log.end();
    return { kind: "ended", result: withJournal(result, plan.journal) };
  } catch (error) {
    turn.isEnding = true;
    log.end(hasWorked || !plan.isContinued ? { error } : undefined);
    return { kind: "broken", error, isRefused: !hasWorked };
  } finally {
    stop.release();
  }
}

/** Returns a journal that calls `begin` before it is used. If `begin` rejects, the run is refused. */
function claimJournal(journal: Journal, begin: () => Promise<void>): Journal {
  const open: NonNullable<Journal["open"]> = async (how) => {
    const close = (await journal.open?.(how)) ?? (() => Promise.resolve());
    try {
      await begin();
    } catch (error) {
      await Promise.resolve(close()).catch(() => {});
      throw error;
    }
    return close;
  };
  return { ...wrapJournal(journal), open };
}

/** Sets `result.journal` to the journal from the store. `JSON.stringify(result)` includes the journal only if it has `toJSON`. */
function withJournal(result: LoopResult, journal: Journal): LoopResult {
  return Object.defineProperty({ ...result }, "journal", { value: journal, enumerable: "toJSON" in journal });
}

export function createEmitter(take: (event: LoopEvent) => void): LoopEmitter {
  const events = createLoopEvents();
  listenTo(events, eventTypes, take);
  return events;
}

/**
 * Returns a function that passes new events to `take`, and drops replayed events, because the log already contains them.
 *
 * `run-start` and `run-end` are never marked as replayed. Each `run-start` is therefore held back until its run has a new event.
 * Otherwise a replayed nested run would appear twice, and a refused resume would leave a `run-start` without a `run-end`.
 */
function skipRecalled(take: (event: LoopEvent) => void): (event: LoopEvent) => void {
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

/** True if `event` belongs to the run that began with the given `run-start`, or to one of its nested runs. */
function isAround({ runId, path = [] }: LoopEvent, event: LoopEvent): boolean {
  const inner = event.path ?? [];
  if (path.length === inner.length) return event.runId === runId;
  return path.length < inner.length && path.every((id, index) => id === inner[index]);
}
