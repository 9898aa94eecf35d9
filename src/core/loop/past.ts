// The part of a run that only journals and answers need. The code is in ./replay: `enableJournals` adds it, so that a bundle of a
// program without journals leaves it out.

import type { Journal } from "../types/journal.ts";
import type { NestedSpending, ToolCall } from "../types/tool-outcome.ts";
import type { Answer, Ending, State } from "../types/middleware.ts";
import type { FirstRecord } from "./journals.ts";
import type { Looking, NextStep } from "./next-step.ts";
import type { Again } from "./state.ts";

/** The facts that the records have about a call. */
export interface Recalled {
  /** True if the tool has returned. Its result may still come from outside. */
  readonly hasRun: boolean;
  readonly hasEnded: boolean;
  /** True if the call waits for an approval, or waited for one. */
  readonly wasAsked: boolean;
}

/** The answer of middleware about an ending. */
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
  /** The spending of middleware. */
  readonly spent?: NestedSpending | undefined;
};

/** The records of earlier executions of a run, and the answers of this one. */
export interface Past {
  /** The journal of the caller, with a time limit. Undefined for a run without the option `journal`. */
  readonly journal: Journal | undefined;
  /** True until this execution does something new. */
  readonly isReplayed: boolean;
  /** True if the journal has the ending of the calls that are replayed, so that their waits take no answers any more. */
  readonly isSettled: boolean;
  /** True if the calls that are replayed have ended, in this run or an outer run, so that nothing new may happen in them. */
  readonly isSealed: boolean;
  /** True until this execution does something new, if the run was stopped before it began, or if it has answers to use. */
  readonly isUndone: boolean;
  /** The calls of the newest message that an earlier execution has recorded, by call id. */
  readonly recalled: ReadonlyMap<string, Recalled>;
  /** True if an earlier execution may have recorded steps of the calls of the newest message. */
  readonly isRecalling: boolean;
  /** Opens the journal, and checks the answers. Returns the ending of a run whose time is over before. */
  open(): Promise<Ending | undefined>;
  close(): Promise<void>;
  /** Closes the journal of a run that has failed. Returns the error of the run. */
  fail(error: unknown): Promise<unknown>;
  release(): void;
  /** Throws LoopError "journal-mismatch" if the journal is that of another run. */
  compare(first: FirstRecord, now: FirstRecord): void;
  /** Throws if the run must not go on, because the journal has failed, or an answer was refused. */
  check(): void;
  /** Records a step. */
  record<T>(key: string, body: () => T | PromiseLike<T>, journal: Journal): Promise<T>;
  /** Called when an effect of an earlier execution was replayed. */
  noteReplayed(): void;
  /** Called before the first new effect, or before the end. */
  endReplay(): void;
  /** Returns what comes next: the journal may go on although this execution would end the run. */
  follow(decided: NextStep): Promise<NextStep>;
  /** Restores what the calls of a recorded answer need, and sends its events again. */
  showRecorded(answer: Answer): void;
  /** Reads what the records say about the calls of a message. Throws LoopError "tools-changed". */
  recallCalls(calls: readonly ToolCall[]): Promise<void>;
  /** True if an earlier execution has asked about this call, which has not run, and its tool has changed since. */
  isChanged(call: ToolCall): boolean;
  /** True if an earlier execution made the request that failed, but did not record its end, and this execution makes it again. */
  isRetried(planned: Ending | undefined): boolean;
  /** Records what middleware said about an ending. */
  recordAsked(key: string, end: NewEnd): Promise<AskedEnd>;
  /** Returns the ending of a run whose calls wait. */
  endUndone(ending: Ending): Ending;
  /** Takes the newest message back, because its request is made again. */
  takeBack(): void;
  /** An earlier execution ended here. Decides whether this one goes on. */
  findContinuation(ending: Ending): Promise<Looking | undefined>;
}
