// Calls that wait for a decision or a result, as hosts and pages identify and show them.

import type { ToolResultPart } from "../types/message.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";

const waiting: ReadonlySet<string> = new Set(["awaiting-approval", "awaiting-result", "deferred"]);

/** True if the call still waits, so that its result in the transcript is only a placeholder. */
export function isWaiting({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return waiting.has(outcome);
}

/** Returns the ids of the outer calls and of the call, joined by "/". Removes a suffix such as `#2`, which numbers the questions. */
export function toCallPath({ id, callId }: Pick<WaitingCall, "id" | "callId">): string {
  const bare = id.replace(/#\d+$/, "");
  return bare === callId || bare.endsWith(`/${callId}`) ? bare : id;
}
