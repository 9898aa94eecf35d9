// #region result
import type { LoopResult } from "turnwright";

export function describeEnding({ status, reason, error, text, pendingCalls }: LoopResult): string {
  if (status === "completed") return text;
  if (status === "suspended") return `Waits for ${pendingCalls.map(({ id }) => id).join(", ")}`; // not a failure: pass `answers`
  return `Ended by ${reason.kind}: ${error?.message ?? text}`; // the text so far, usage and messages are kept
}
// #endregion result
