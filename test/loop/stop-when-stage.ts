// The run that stops by a condition: what its tests have in common.

import type { LoopOptions, LoopResult, Tool } from "turnwright";
import { tool } from "./play.ts";

/** One that runs, and one that is only asked for. */
export const tools: readonly Tool[] = [tool("echo", (args) => args), tool("final_answer", () => "never run")];

/** The options of a run that stops so. */
export const stopWhen = (condition: NonNullable<LoopOptions["policies"]>["stopWhen"]): Partial<LoopOptions> => ({
  tools,
  policies: { stopWhen: condition },
});

/** How a run ended, and what it had been asked for. */
export const endOf = ({ status, reason, pendingCalls }: LoopResult): unknown => [
  status,
  reason,
  pendingCalls.map(({ callId }) => callId),
];
