// The texts that pages show for failures. The texts contain no error messages, because error messages may contain secrets.

import type { EndReason, LoopStatus } from "../types/termination.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";

/** A failure that a page shows to its user. */
export type UIFailure =
  /** The run ended with status "error", "timeout" or "empty-response". */
  | { readonly kind: "run"; readonly status: LoopStatus; readonly reason: EndReason }
  /** A call did not complete. `result` is the result that the model gets. */
  | { readonly kind: "tool"; readonly toolName: string; readonly outcome: ToolOutcome["kind"]; readonly result: unknown }
  /** The source of the events threw `error`, or ended before the end of the run. */
  | { readonly kind: "thrown"; readonly error: unknown };

/** Returns the text that the page shows for a failure. */
export type OnError = (failure: UIFailure) => string;

export const failedStatuses: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "empty-response"]);

const toolTexts = new Map<string, string>([
  ["failed", "The tool failed."],
  ["timed-out", "The tool took too long."],
  ["blocked", "The tool is not allowed here."],
  ["denied", "The call was denied."],
  ["approval-failed", "The call could not be approved."],
  ["unknown-tool", "The tool does not exist."],
  ["invalid-input", "The arguments do not fit the tool."],
  ["malformed", "The arguments are not valid JSON."],
  ["truncated", "The arguments were cut off."],
  ["interrupted", "The call was stopped."],
  ["not-run", "The call did not run."],
  ["limit", "The call did not run, because the maximum number of calls is reached."],
]);

export function toFailureText(failure: UIFailure, onError: OnError | undefined): string {
  try {
    const text: unknown = onError?.(failure);
    if (typeof text === "string") return text;
  } catch {
    // Falls back to the default text.
  }
  return neutralText(failure);
}

function neutralText(failure: UIFailure): string {
  return failure.kind === "tool" ? (toolTexts.get(failure.outcome) ?? "The call did not complete.") : "An error occurred.";
}
