// Shared setup for tests of stop conditions.

import type { LoopOptions, LoopResult, Tool } from "turnwright";
import { tool } from "./play.ts";

/** The tool `echo` runs; the tool `final_answer` must never run. */
export const tools: readonly Tool[] = [tool("echo", (args) => args), tool("final_answer", () => "never run")];

export const stopWhen = (condition: NonNullable<LoopOptions["policies"]>["stopWhen"]): Partial<LoopOptions> => ({
  tools,
  policies: { stopWhen: condition },
});

export const endOf = ({ status, reason, pendingCalls }: LoopResult): unknown => [
  status,
  reason,
  pendingCalls.map(({ callId }) => callId),
];
