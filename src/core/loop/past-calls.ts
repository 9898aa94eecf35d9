// Declares how a call reads what earlier executions have recorded.

import type { WaitOptions } from "../types/wait.ts";
import type { EarlierCall, Outcome, Wait } from "../types/middleware.ts";
import type { Activity, Parked } from "./activity.ts";
import type { Past } from "./past.ts";
import type { Run } from "./run.ts";

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

export function pastOf({ past }: Run): CallPast | undefined {
  return past as CallPast | undefined;
}
