import { defineTool, type Message, type Tool, type UserMessage } from "turnwright";
import { type AgentHandoffs, createHandoffs, type HistoryFilter } from "turnwright/middleware";
import { type MockPart, type MockProvider, toolCall } from "turnwright/testing";

export const messages: readonly UserMessage[] = [{ role: "user", content: "My invoice is wrong." }];
export const tool = (name: string): Tool =>
  defineTool({ name, description: "", inputSchema: { type: "object" }, replay: "safe", execute: () => `${name} ran` });
export const search: Tool = tool("search");
export const invoice: Tool = tool("find_invoice");
export const shared: Tool = tool("get_time");

export function createAgents(maxHandoffs?: number, history?: HistoryFilter): AgentHandoffs {
  return createHandoffs({
    start: "triage",
    maxHandoffs,
    agents: {
      triage: { description: "Finds out the topic.", system: "You are triage.", tools: [search], handoffs: ["billing"] },
      billing: { description: "Knows invoices.", system: "You are billing.", tools: [invoice], handoffs: ["triage"], history },
    },
  });
}

export const toBilling: MockPart = toolCall("transfer_to_billing", { reason: "an invoice" });
export const toTriage: MockPart = toolCall("transfer_to_triage", {});

export const outline = (list: readonly Message[]): readonly string[] =>
  list.map(
    ({ role, ...message }) =>
      `${role} ${JSON.stringify(message).match(/transfer_to_\w+|search|find_invoice|My invoice|Done/)?.[0] ?? ""}`,
  );

export const facts = (provider: MockProvider): unknown =>
  provider.requests.map(({ system, tools }) => [system, tools.map(({ name }) => name)]);
