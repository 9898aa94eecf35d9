import type { LoopOptions, LoopResult, Tool } from "turnwright";
import { tool } from "./play.ts";

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
