// Declares how the calls and requests of a run are recorded, and how they read what earlier executions have recorded.

import type { Json } from "../../types/common.ts";
import type { Answer, EarlierCall, NextCall, Outcome, Wait } from "../../types/middleware.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import type { WaitOptions } from "../../types/wait.ts";
import type { Activity, Parked } from "../activity.ts";
import type { Past } from "../past.ts";
import type { Durability, Run } from "../run.ts";

export type OpenedWait = Pick<Wait, "id" | "what" | "facts" | "until" | "call" | "schema" | "fromPage">;

export interface CallPast extends Past {
  /** Returns what earlier executions have recorded about a call. `owner` is the middleware that asks. */
  findEarlier(activity: Activity, owner: string): EarlierCall;
  /**
   * Reads the recorded answer to a wait, or takes it from the `answers` option. Opens the wait again if the facts shown to the person have
   * changed.
   */
  findAnswer<Answer>(activity: Activity, wait: OpenedWait, options: WaitOptions<Answer>): Promise<Answer | Parked>;
  /**
   * Returns the recorded outcome of a call that ended without running its tool, so that the tool does not run now. Parks a call that was
   * waiting when the run ended, even if its middleware would no longer wait.
   */
  findEnd(activity: Activity, keys: readonly string[]): Promise<Outcome | Parked | undefined>;
  /**
   * Returns the recorded outcome of a durable tool, after `execute` has run its code again with the recorded results. Parks the call if it
   * is waiting and the run was cancelled before anything new happened.
   */
  recallOutcome(activity: Activity, key: string, execute: (fork: Activity) => Promise<Outcome>): Promise<Outcome | undefined>;
}

/** The past of a call, or undefined if no earlier execution can have recorded it. */
export function pastOf({ past }: Run): CallPast | undefined {
  return past as CallPast | undefined;
}

/** A call as it reaches its tool. */
export interface GivenCall {
  /** The call as the model sent it. */
  readonly made: ToolCall;
  /** The call with the arguments that middleware has chosen. */
  readonly given: NextCall;
  readonly signal: AbortSignal | undefined;
}

/** The recorder of a middleware or a tool. Its activity is under a hidden key. */
export interface Owner {
  readonly callId: string;
  readonly owner: string | undefined;
  /** The call that was passed to the hook. */
  readonly given: ToolCall | undefined;
}

/** The purpose of a wait. */
export interface AskedFor<Answer> {
  readonly what: string;
  readonly facts: Json;
  readonly options: WaitOptions<Answer>;
}

export interface CallDurability extends Durability {
  /** Runs a call's tool, unless an earlier execution has run it. */
  runCall(activity: Activity, call: GivenCall): Promise<Outcome>;
  /** Records what middleware has changed about a call's outcome. */
  recordCallEnd(activity: Activity, outcome: Outcome): PromiseLike<unknown> | undefined;
  /** Records what middleware has changed about a request's answer. */
  recordRequestEnd(activity: Activity, answer: Answer, streamed: Answer | undefined): Promise<void>;
  /** Waits for an answer from outside. */
  wait<Answer>(by: Owner, asked: AskedFor<Answer>): Promise<Answer | null>;
  /** Calls another tool of the run, through the same middleware. */
  call(by: Owner, name: string, args: Json): Promise<Json>;
}

export function durabilityOf({ durability }: Run): CallDurability | undefined {
  return durability as CallDurability | undefined;
}
