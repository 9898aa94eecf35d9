// Texts that adapters add to a request, because some services refuse the conversation without them.

import type { ToolChoice } from "../types/provider.ts";

/** Sent as a user message before a conversation that starts with an assistant message. */
export const openingText = "(The conversation begins.)";

/** Sent as a user message after a conversation that ends with an assistant message. */
export const continueText = "Continue.";

/** Sent as an assistant message between tool results and a user message. */
export const resultsReadText = "I have read the results.";

/** Asks for a call in place of a forced tool choice, for models that refuse it. Undefined for a choice that forces no call. */
export function toForcedText(choice: ToolChoice | undefined): string | undefined {
  if (typeof choice === "object") return `Call the tool ${JSON.stringify(choice.name)} now, instead of answering.`;
  return choice === "required" ? "Call at least one of the tools now, instead of answering." : undefined;
}
