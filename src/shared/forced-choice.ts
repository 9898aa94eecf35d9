import type { ToolChoice } from "../core/types/provider.ts";

/** A tool choice that forces the model to call a tool. */
export type ForcedChoice = Exclude<ToolChoice, "auto" | "none">;

export function isForced(choice: ToolChoice | undefined): choice is ForcedChoice {
  return choice === "required" || typeof choice === "object";
}

/** Writes the instruction that replaces a forced tool choice, for models that refuse one. */
export function toForcedText(choice: ForcedChoice): string {
  if (choice === "required") return "Call at least one of the tools now, instead of answering.";
  return `Call the tool ${JSON.stringify(choice.name)} now, instead of answering.`;
}
