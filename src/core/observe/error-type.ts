// What of a run is an error, and what the error is called.

import type { LoopStatus, StreamStatus, EndReason } from "../types/termination.ts";

/** Whether a run or an iteration has failed. Whoever stops a run, or is not answered, has seen no error. */
export function isFailed(status: LoopStatus | StreamStatus): boolean {
  return status === "error" || status === "timeout";
}

/** What the error of a run is called: a provider's by its code, others by their reason. Undefined for what is no error. */
export function errorTypeOf(status: LoopStatus, reason: EndReason): string | undefined {
  if (!isFailed(status)) return undefined;
  return reason.kind === "provider-error" ? reason.error.code : reason.kind;
}
