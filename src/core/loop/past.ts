// Declares how a run reads its earlier executions. The code is in ./replay and is added by `enableJournals`, so programs without journals
// do not bundle it.

import type { Journal } from "../types/journal.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import type { Answer, Ending, State } from "../types/middleware.ts";
import type { FirstRecord } from "./journals.ts";
import type { Looking, NextStep } from "./next-step.ts";
import type { Again } from "./state.ts";

/** The recorded facts about a call. */
export interface Recalled {
  /** True if the tool has returned. Its result may still come from outside. */
  readonly hasRun: boolean;
  readonly hasEnded: boolean;
  /** True if the call is waiting or has waited for an approval. */
  readonly wasAsked: boolean;
}

/** The run or the activity that records a step. */
export interface Recording {
  readonly journal: Journal;
}

/** A middleware's decision about an ending. */
export type Said = { readonly ending: Ending } | ({ readonly ending: Ending } & Again);

export interface NewEnd {
  readonly record: AskedEnd;
  /** True if the middleware has changed the ending. */
  readonly isChanged: boolean;
}

/** The record of an ending that middleware has changed, for readers that do not run the middleware. */
export type AskedEnd = Said & {
  readonly phase: State["phase"];
  readonly planned: Ending;
  /** The usage and cost of the middleware. */
  readonly spent?: NestedSpending | undefined;
};

/** Gives access to what a run's earlier executions recorded, and to this execution's answers. */
export interface Past {
  /** The caller's journal, with a time limit for each operation. Undefined for a run without the `journal` option. */
  readonly journal: Journal | undefined;
  /** True until this execution does something new. */
  readonly isReplayed: boolean;
  /** True if the journal already contains the ending of the replayed calls, so their waits no longer accept answers. */
  readonly isSettled: boolean;
  /** True if the replayed calls have ended, in this run or an outer run, so nothing new may happen in them. */
  readonly isSealed: boolean;
  /** True until this execution does something new, if the run was stopped before this execution or still has answers to use. */
  readonly isUndone: boolean;
  /** The calls in the newest message that an earlier execution has recorded, by call id. */
  readonly recalled: ReadonlyMap<string, Recalled>;
  /** Opens the journal, and checks the answers. Returns an ending if the run's time limit is reached first. */
  open(): Promise<Ending | undefined>;
  close(): Promise<void>;
  /** Closes a failed run's journal. Returns the run's error. */
  fail(error: unknown): Promise<unknown>;
  release(): void;
  /** Throws LoopError "journal-mismatch" if the journal belongs to a different run. */
  compare(first: FirstRecord, now: FirstRecord): void;
  /** Throws if the run must not continue because the journal failed or an answer was refused. */
  check(): void;
  /** Records a step. */
  record<T>(key: string, body: () => T | PromiseLike<T>, by: Recording): Promise<T>;
  /** Called before the first new effect, or before the run ends. */
  endReplay(): void;
  /** Returns the next step. The recorded run may have continued even if this execution would end it. */
  follow(decided: NextStep): Promise<NextStep>;
  /** Prepares a recorded answer's calls, and sends the answer's events again. */
  showRecorded(answer: Answer): void;
  /** Reads what the records say about a message's calls. Throws LoopError "tools-changed" if a call's tool has changed too much. */
  recallCalls(calls: readonly ToolCall[]): Promise<void>;
  /** True if this execution repeats a failed request from an earlier execution that did not record how the run ended. */
  isRetried(planned: Ending | undefined): boolean;
  /** Records what middleware decided about an ending. */
  recordAsked(key: string, end: NewEnd): Promise<AskedEnd>;
  /** Returns the ending for a run whose calls are waiting. */
  endUndone(ending: Ending): Ending;
  /** Removes the newest message, because its request is repeated. */
  takeBack(): void;
  /** Decides whether this execution continues where an earlier one ended. */
  findContinuation(ending: Ending): Promise<Looking | undefined>;
}
