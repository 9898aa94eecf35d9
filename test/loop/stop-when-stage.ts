import { type LoopOptions, type LoopResult, stopWhen, type Tool } from "turnwright";
import { tool } from "./play.ts";

export const tools: readonly Tool[] = [tool("echo", (args) => args), tool("final_answer", () => "never run")];

export const stopping = (condition: Parameters<typeof stopWhen>[0]): Partial<LoopOptions> => ({
  tools,
  middleware: [stopWhen(condition)],
});

export const endOf = ({ status, reason, pendingCalls }: LoopResult): unknown => [
  status,
  reason,
  pendingCalls.map(({ callId }) => callId),
];
