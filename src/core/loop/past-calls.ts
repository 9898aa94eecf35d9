// The part of the past of a run that its calls need.

import type { WaitOptions } from "../types/wait.ts";
import type { Outcome, Wait } from "../types/middleware.ts";
import type { Activity, Parked } from "./activity.ts";
import type { Past } from "./past.ts";
import type { Run } from "./run.ts";

export type OpenedWait = Pick<Wait, "id" | "what" | "facts" | "until" | "call" | "schema" | "fromPage">;

export interface CallPast extends Past {
  /** Reads the answer to a wait, or takes it from the option `answers`. Opens the wait again if what was shown has changed. */
  findAnswer<Answer>(activity: Activity, wait: OpenedWait, options: WaitOptions<Answer>): Promise<Answer | Parked>;
  /**
   * Returns the recorded end of a call that ended without its tool, so that the tool does not run now. Parks a call that was waiting when
   * the run ended, although its middleware does not wait any more.
   */
  findEnd(activity: Activity, keys: readonly string[]): Promise<Outcome | Parked | undefined>;
  /**
   * Returns the recorded outcome of a durable tool, after its code has run again over its records. `execute` runs the code. Parks the
   * call if it waits, and the run was cancelled before it did anything new.
   */
  recallOutcome(activity: Activity, key: string, execute: (fork: Activity) => Promise<Outcome>): Promise<Outcome | undefined>;
}

export function pastOf({ past }: Run): CallPast | undefined {
  return past as CallPast | undefined;
}
