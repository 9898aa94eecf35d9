import type { LoopOptions } from "turnwright";
import { type ConversationStore, fileConversationStore } from "turnwright/conversation";
import { createRunHost, type HostedEvent, lastEventId, type RunHost, toEventStreamResponse } from "turnwright/host";

const store: ConversationStore = fileConversationStore("runs");
export const host: RunHost = createRunHost({ store, whenBusy: "steer" });

export async function post(id: string, message: string, run: Omit<LoopOptions, "messages">): Promise<Response> {
  const { provider, tools } = run;
  const answer = await host.start(id, { provider, tools, message });
  if (answer.kind !== "started" && answer.kind !== "steered") return new Response(answer.kind, { status: 409 });
  return toEventStreamResponse(answer.join());
}

export async function read(id: string, request: Request): Promise<readonly HostedEvent[]> {
  const items: HostedEvent[] = [];
  for await (const item of host.join(id, { from: lastEventId(request) }) ?? []) items.push(item);
  return items;
}
