import { repairMessages } from "../../shared/repair-messages.ts";
import type { Message, ToolResultPart } from "../../core/index.ts";
import { renderOutcome } from "../../shared/to-outcome.ts";
import type { JournalInspection } from "./inspect-journal.ts";

/**
 * Returns the messages of an interrupted run, with a result for each call. A call without an outcome gets the result
 * "interrupted" if it may have run, and "not-run" otherwise, so that the model does not repeat a call by mistake.
 */
export function endCalls({ messages, pendingCalls }: Pick<JournalInspection, "messages" | "pendingCalls">): readonly Message[] {
  const begun = new Set(
    pendingCalls
      // The last condition leaves out nested runs' calls, whose `id` is a path.
      .filter(({ id, callId, state }) => state !== "not-begun" && state !== "awaiting-approval" && !id.includes(`/${callId}`))
      .map(({ callId }) => callId),
  );
  const endCall = (part: ToolResultPart): ToolResultPart => {
    const { callId, name, outcome } = part;
    if (outcome !== "not-run" || !begun.has(callId)) return part;
    const call = { callId, name, args: {} };
    return { callId, name, outcome: "interrupted", result: renderOutcome({ kind: "interrupted", call, durationMs: 0 }) };
  };
  return repairMessages(messages).map((message) =>
    message.role === "tool" ? { ...message, results: message.results.map(endCall) } : message,
  );
}
