import type { LoopResult, LoopStream, Provider } from "turnwright";
import { type ConversationStore, createConversation, fileConversationStore } from "turnwright/conversation";

const store: ConversationStore = fileConversationStore("chats", { fsync: false });

export async function talk(provider: Provider, id: string): Promise<readonly [LoopResult, LoopStream, number | undefined]> {
  const conversation = createConversation({ id, store, options: { provider } });
  const result = await conversation.send("Do I need a coat?");
  const stream = conversation.stream([{ role: "user", content: "And tomorrow?", pinned: true }], {
    limits: { maxIterations: 3 },
  });
  return [result, stream, (await conversation.usage()).costUSD];
}
