// Decides what happens to a suspended run's waiting calls when a new message arrives.

import type { Choice } from "../shared/errors/check-fields.ts";
import { cutText, quote } from "../shared/texts.ts";
import { LoopError, type Message, type ToolResultPart } from "../core/index.ts";
import { renderOutcome } from "../shared/to-outcome.ts";
import type { WaitingCall } from "../core/kit.ts";

/**
 * How a new message is handled while calls from the last run are waiting for decisions or results. "refuse" refuses the message. "deny"
 * ends the calls: calls waiting for approval are denied, and calls waiting for a result are interrupted. "queue" waits until the
 * decisions have arrived and the run has ended.
 */
export type WhenSuspended = "refuse" | "deny" | "queue";

export const whenSuspendedCheck: Choice = ["refuse", "deny", "queue"];

const maxNamed = 5;

/** Returns the error for a new message that is refused because calls are waiting. `end` is the method that ends the suspended run. */
export function waitingError(
  conversation: string,
  calls: readonly WaitingCall[],
  end: "cancel" | "stop" = "cancel",
): LoopError<"conversation-refused"> {
  const named = calls.slice(0, maxNamed).map(({ name, id, waitsFor }) => {
    const needs = waitsFor === "approval" ? "a decision" : waitsFor === "answer" ? "an answer" : "a result";
    return `${quote(cutText(name, 60))} (id ${quote(cutText(id, 200))}) needs ${needs}`;
  });
  const more = calls.length > maxNamed ? ` and ${calls.length - maxNamed} more` : "";
  const advice = `Send the decisions with "resume", end the calls with "${end}", or set "whenSuspended" to "deny" or "queue"`;
  const problem = `has calls that are still waiting: ${named.join(", ")}${more}. ${advice}`;
  return new LoopError("conversation-refused", { conversation, problem, calls });
}

/**
 * Ends the calls from an earlier run that are still waiting. That run can no longer be resumed, so the calls would wait forever.
 * `denied` is true if a new message ends the calls.
 */
export function settleWaiting(messages: readonly Message[], denied: boolean): readonly Message[] {
  return messages.map((message) =>
    message.role === "tool" && message.results.some(isWaiting)
      ? { ...message, results: message.results.map((part) => settlePart(part, denied)) }
      : message,
  );
}

const reason = "The user sent another message instead of a decision.";

function isWaiting({ outcome }: ToolResultPart): boolean {
  return outcome === "awaiting-approval" || outcome === "awaiting-result";
}

function settlePart(part: ToolResultPart, denied: boolean): ToolResultPart {
  const { callId, name, outcome } = part;
  if (!isWaiting(part)) return part;
  const facts = { call: { callId, name, args: {} }, durationMs: 0 };
  if (outcome === "awaiting-result") return { callId, name, ...toEnd({ kind: "interrupted", ...facts }) };
  return { callId, name, ...toEnd(denied ? { kind: "denied", reason, ...facts } : { kind: "not-run", ...facts }) };
}

function toEnd(outcome: Parameters<typeof renderOutcome>[0]): Pick<ToolResultPart, "outcome" | "result"> {
  return { outcome: outcome.kind, result: renderOutcome(outcome) };
}
