import type { ToolOutcome } from "turnwright";
import { type ContextRestart, detectContextRestart } from "turnwright/parts";

export function restartOf(outcome: ToolOutcome): ContextRestart | undefined {
  return detectContextRestart(outcome, undefined);
}
