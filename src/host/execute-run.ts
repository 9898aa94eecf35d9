// Runs one execution of a run: its events go to the log, and its journal is opened by the host.

import { type Journal, type LoopEvent, type LoopOptions, type LoopResult, runToolLoop } from "../core/entry-kit.ts";
import { createEmitter, skipRecalled } from "./execution-events.ts";
import type { HostedLoopOptions } from "./run-host.ts";
import type { RunTurn } from "./run-turn.ts";

/** The plan of an execution, besides its turn. */
export interface ExecutionPlan {
  readonly loop: HostedLoopOptions;
  readonly messages: LoopOptions["messages"];
  readonly journal: Journal;
  /** True if the run continues from its journal. */
  readonly isResumed: boolean;
  /** True if the log has its earlier executions. */
  readonly isContinued: boolean;
  readonly wrapOptions: ((options: LoopOptions) => LoopOptions) | undefined;
  /** Called once the journal is open, before anything else happens. The run is refused if it rejects. */
  claim(): Promise<void>;
}

/** How an execution ended. */
export type ExecutionEnd =
  | { readonly kind: "ended"; readonly result: LoopResult }
  /** `isRefused` is true if the run did nothing new. */
  | { readonly kind: "broken"; readonly error: unknown; readonly isRefused: boolean };

/** Runs an execution to its end. Never rejects. */
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

/** The work of the host while it holds the journal of a run. */
interface Claim {
  /** Called once the journal is open. The run is refused if it rejects. */
  begin(): Promise<void>;
  /** Called before the journal is closed. Another process may take the run over afterwards. */
  finish(): Promise<void>;
}

/** Adds the work of the host to the opening and closing of a journal. Its methods are bound, because a journal may be a class. */
function claimJournal(journal: Journal, claim: Claim): Journal {
  const { durable, ordered } = journal;
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
  return {
    durable,
    ordered,
    open,
    step: journal.step.bind(journal),
    all: journal.all.bind(journal),
    ...(journal.has === undefined ? {} : { has: journal.has.bind(journal) }),
    ...(journal.replays === undefined ? {} : { replays: journal.replays.bind(journal) }),
    ...(journal.read === undefined ? {} : { read: journal.read.bind(journal) }),
    ...(journal.wait === undefined ? {} : { wait: journal.wait.bind(journal) }),
  };
}

/** Gives the result the journal of the store. As in other results, one without `toJSON` stays out of JSON. */
function withJournal(result: LoopResult, journal: Journal): LoopResult {
  return Object.defineProperty({ ...result }, "journal", { value: journal, enumerable: "toJSON" in journal });
}
