import type { EndReason } from "../core/types/termination.ts";
import type { WaitingCall } from "../core/types/tool-outcome.ts";

/** Returns the calls that a suspended run waits for. A drained run is suspended too, but none of its calls are waiting. */
export function waitingCallsOf(reason: EndReason | undefined): readonly WaitingCall[] {
  return reason !== undefined && "calls" in reason ? reason.calls : [];
}

/**
 * Removes the numbers from the end of a wait's id: the number of a call's later question, as in `#2`, and the number of a wait that opened
 * again, as in `~3`.
 */
export function withoutRepeats(id: string): string {
  return id.replace(/(#\d+)?(~\d+)?$/, "");
}
