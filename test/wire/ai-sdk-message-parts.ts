import type { AssistantMessage, ToolMessage } from "turnwright";

export const metadata = (provider: string, model: string, ...items: readonly object[]): AssistantMessage["providerMetadata"] =>
  items.map((item) => ({ provider, model, item: JSON.parse(JSON.stringify(item)) }));
export const part = (fields: object): object => ({ part: fields });
export const call = (id: string, name = "search"): AssistantMessage["content"][number] => ({
  type: "tool-call",
  callId: id,
  name,
  args: { q: 1 },
});
export const answer = (callId: string, rest: Partial<ToolMessage["results"][number]> = {}): ToolMessage["results"][number] => ({
  callId,
  name: "search",
  outcome: "completed",
  result: { n: 1 },
  ...rest,
});
