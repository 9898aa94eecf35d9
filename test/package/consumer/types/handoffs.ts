import { type LoopResult, runToolLoop } from "turnwright";
import type { Handoff } from "turnwright/kit";
import {
  type AgentHandoffs,
  type AgentOptions,
  createHandoffs,
  type HandoffOptions,
  type HistoryFilter,
  withoutToolCalls,
} from "turnwright/middleware";

const history: HistoryFilter = (messages) => withoutToolCalls(messages).slice(-5);
const billing: AgentOptions = { description: "Knows invoices.", history, handoffs: ["triage"], tools: ["find_invoice"] };

export const options: HandoffOptions = {
  start: "triage",
  maxHandoffs: 3,
  agents: { triage: { description: "Finds out the topic.", handoffs: ["billing"] }, billing },
};
export const agents: AgentHandoffs = createHandoffs(options);

export async function next(
  result: LoopResult,
  provider: Parameters<typeof runToolLoop>[0]["provider"],
): Promise<readonly Handoff[]> {
  const current = agents.startWith(result.agent);
  const { handoffs = [] } = await runToolLoop({
    provider,
    messages: result.messages,
    tools: current.tools,
    middleware: [current],
  });
  return handoffs;
}
