// Texts about failures that the page reads. The texts are neutral, because messages of errors may hold secrets.

import type { UIFailure, UIMessageOptions } from "./ui-message-options.ts";

const toolTexts = new Map<string, string>([
  ["failed", "The tool failed."],
  ["timed-out", "The tool took too long."],
  ["blocked", "The tool is not allowed here."],
  ["denied", "The call was denied."],
  ["approval-failed", "The call could not be approved."],
  ["unknown-tool", "There is no such tool."],
  ["invalid-input", "The arguments do not fit the tool."],
  ["malformed", "The arguments are not valid JSON."],
  ["truncated", "The arguments were cut off."],
  ["interrupted", "The call was stopped."],
  ["not-run", "The call did not run."],
  ["limit", "The call did not run: the limit of calls is reached."],
]);

/** Returns the text for a failure. A function of the caller that throws or returns no text does not break the stream. */
export function toFailureText(failure: UIFailure, { onError }: Pick<UIMessageOptions, "onError">): string {
  try {
    const text: unknown = onError?.(failure);
    if (typeof text === "string") return text;
  } catch {
    // The page reads the neutral text.
  }
  return neutralText(failure);
}

function neutralText(failure: UIFailure): string {
  return failure.kind === "tool" ? (toolTexts.get(failure.outcome) ?? "The call did not complete.") : "An error occurred.";
}
