// Helpers for hosts and pages that show calls which wait for a decision or a result.

import type { ToolResultPart } from "../types/message.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";

const waiting: ReadonlySet<string> = new Set(["awaiting-approval", "awaiting-result", "deferred"]);

/** True if the call is still waiting. Its result in the transcript is then only a placeholder. */
export function isWaiting({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return waiting.has(outcome);
}

/** Returns the ids of the outer calls and of the call itself, joined by "/". Omits the number of the question, such as `#2`. */
export function toCallPath({ id, callId }: Pick<WaitingCall, "id" | "callId">): string {
  const bare = id.replace(/#\d+$/, "");
  return bare === callId || bare.endsWith(`/${callId}`) ? bare : id;
}
