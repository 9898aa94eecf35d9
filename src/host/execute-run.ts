import { bindJournal, type Journal, type LoopEvent, type LoopOptions, type LoopResult, runToolLoop } from "../core/entry-kit.ts";
import { createEmitter, skipRecalled } from "./execution-events.ts";
import type { HostedLoopOptions } from "./run-host.ts";
import type { RunTurn } from "./run-turn.ts";

export interface ExecutionPlan {
  readonly loop: HostedLoopOptions;
  readonly messages: LoopOptions["messages"];
  readonly journal: Journal;
  /** True for a resume, which continues a run from its journal. */
  readonly isResumed: boolean;
  /** True if `turn.log` already has the events from before a resume. */
  readonly isContinued: boolean;
  readonly wrapOptions: ((options: LoopOptions) => LoopOptions) | undefined;
  /** Called after the journal was opened, before the run does anything else. If `claim` rejects, the run is refused. */
  claim(): Promise<void>;
}

export type ExecutionEnd =
  | { readonly kind: "ended"; readonly result: LoopResult }
  /** The run rejected with `error`. If `isRefused` is true, the run had done nothing new before that. */
  | { readonly kind: "broken"; readonly error: unknown; readonly isRefused: boolean };

export async function executeRun(turn: RunTurn, plan: ExecutionPlan): Promise<ExecutionEnd> {
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
    await plan.claim();
    log.begin();
    turn.open();
    if (!plan.isResumed) turn.begun.resolve(undefined);
  };
  try {
    const journal = claimJournal(plan.journal, { begin, finish: () => turn.finishWrites() });
    const options: LoopOptions = { ...plan.loop, messages: plan.messages, runId, events, control, journal };
    const result = await runToolLoop(plan.wrapOptions?.(options) ?? options);
    log.end();
    return { kind: "ended", result: withJournal(result, plan.journal) };
  } catch (error) {
    turn.isEnding = true;
    log.end(hasWorked || !plan.isContinued ? { error } : undefined);
    return { kind: "broken", error, isRefused: !hasWorked };
  }
}

interface Claim {
  /** Called after the journal was opened. If `begin` rejects, the run is refused. */
  begin(): Promise<void>;
  /** Called before the journal is closed. After the journal is closed, another process may take over the run. */
  finish(): Promise<void>;
}

/** Returns a journal that also calls `claim.begin` after opening and `claim.finish` before closing. */
function claimJournal(journal: Journal, claim: Claim): Journal {
  const open: NonNullable<Journal["open"]> = async (how) => {
    const close = (await journal.open?.(how)) ?? (() => Promise.resolve());
    try {
      await claim.begin();
    } catch (error) {
      await Promise.resolve(close()).catch(() => {});
      throw error;
    }
    return async () => {
      await claim.finish();
      await close();
    };
  };
  return { ...bindJournal(journal), open };
}

/** Sets `result.journal` to the journal from the store. `JSON.stringify(result)` includes the journal only if it has `toJSON`. */
function withJournal(result: LoopResult, journal: Journal): LoopResult {
  return Object.defineProperty({ ...result }, "journal", { value: journal, enumerable: "toJSON" in journal });
}
