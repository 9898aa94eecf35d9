// Judges whether what the model said before it called its tools was its answer.

import type { PreToolTextPolicy } from "../types/policies.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";

/** An iteration and what became of its calls. */
export interface FinishedIteration {
  readonly text: string;
  readonly family: string | undefined;
  readonly calls: readonly {
    readonly outcome: ToolOutcome;
    readonly restart?: object | undefined;
    readonly needsNoFollowUp?: boolean | undefined;
  }[];
}

/** Whether an iteration that said something and whose every call succeeded ends the run. A call that restarted the context asks for more. */
export function shouldEndAfterPreToolText({ text, family, calls }: FinishedIteration, policy: PreToolTextPolicy = {}): boolean {
  if (calls.length === 0 || text.trim() === "") return false;
  if (!calls.every(({ outcome, restart }) => outcome.kind === "completed" && restart === undefined)) return false;
  const { endAfterTextFamilies = [], suppressFollowUpAfterText = [] } = policy;
  if (family !== undefined && endAfterTextFamilies.includes(family)) return true;
  return calls.every(
    ({ outcome, needsNoFollowUp }) => needsNoFollowUp === true || suppressFollowUpAfterText.includes(outcome.call.name),
  );
}
