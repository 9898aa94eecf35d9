// Opens a conversation in a process that kills itself at a given moment.

import { join } from "node:path";
import { Pool } from "pg";
import { defineTool, type Journal } from "turnwright";
import {
  type Conversation,
  type ConversationStore,
  createConversation,
  fileConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import type { ConversationLock } from "../../src/conversation/conversation-store.ts";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

/** The moments of a run at which a process can die, in order. Each run makes two changes of its conversation. */
export const deaths = [
  "before store write 1",
  "after store write 1",
  "during the model request",
  "during the tool call",
  "before store write 2",
  "after store write 2",
] as const;
export type Death = (typeof deaths)[number];

export interface Life {
  readonly folder: string;
  /** The database of the conversation, if it is not in the folder. */
  readonly postgresUrl?: string | undefined;
  readonly hasJournal: boolean;
  readonly message: string;
  readonly death: Death;
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

function mortal(store: ConversationStore, death: Death | undefined): ConversationStore {
  const wrap = (lock: ConversationLock): ConversationLock => {
    let count = 0;
    return {
      ...lock,
      append: async (change) => {
        count += 1;
        if (death === `before store write ${count}`) await die();
        await lock.append(change);
        if (death === `after store write ${count}`) await die();
      },
    };
  };
  return { ...store, lock: async (id) => wrap(await store.lock(id)) };
}

export function openChat(
  { folder, hasJournal }: Pick<Life, "folder" | "hasJournal">,
  store: ConversationStore,
  death?: Death,
): Conversation {
  const provider = createMockProvider(({ messages }) => {
    if (death === "during the model request") void die();
    const last = messages.at(-1);
    if (last?.role === "tool") return [text(`It was ${last.results.map(({ outcome }) => outcome).join()}.`)];
    const said = messages.filter(({ role }) => role === "user").length;
    return said === 1 ? [toolCall("dig")] : [text(`You wrote ${said} messages.`)];
  });
  const dig = defineTool({
    name: "dig",
    description: "Digs a hole",
    inputSchema: { type: "object" },
    execute: () => (death === "during the tool call" ? die() : "gold"),
  });
  return createConversation({
    id: "chat-17",
    store: mortal(store, death),
    options: { provider, tools: [dig], pricing: () => 1 },
    journal: hasJournal ? (runId): Journal => fileJournal(join(folder, `${runId}.jsonl`), { fsync: false }) : undefined,
    waitMs: 10_000,
  });
}

export async function liveAndDie(life: Life): Promise<void> {
  const { folder, postgresUrl, message, death } = life;
  const store =
    postgresUrl === undefined
      ? fileConversationStore(folder, { fsync: false })
      : postgresConversationStore(new Pool({ connectionString: postgresUrl }), { leaseMs: 500 });
  await openChat(life, store, death).send(message);
}
