// Each broken conversation store fails the checks for its fault. The package's own stores are tested in test/conversation.

import { expect, it } from "vitest";
import { memoryConversationStore } from "../conversation/memory-conversation-store.ts";
import type { ConversationChange, ConversationLock, ConversationStore } from "../conversation/conversation-store.ts";
import { conversationStoreSuite } from "./conversation-store-suite.ts";

const titles = conversationStoreSuite({ open: () => memoryConversationStore() }).map(({ title }) => title);

async function findFailures(open: () => ConversationStore): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { title, run } of conversationStoreSuite({ open, withinMs: 2_000 })) {
    await run().catch((error: unknown) => {
      expect(error).toBeInstanceOf(Error);
      failed.push(title);
    });
  }
  return failed;
}

type Fault = (store: ConversationStore) => Partial<ConversationStore>;

/** Creates a faulty store by changing each lock that it hands out. */
const lockFault =
  (change: (lock: ConversationLock) => Partial<ConversationLock>): Fault =>
  (store) => ({
    lock: async (id) => {
      const lock = await store.lock(id);
      return { ...lock, ...change(lock) };
    },
  });

const appendFault = (change: (given: ConversationChange) => ConversationChange): Fault =>
  lockFault((lock) => ({ append: (given) => lock.append(change(given)) }));

/** A store that does not exclude other writers: each change is written under its own lock. */
const unlocked: Fault = (store) => ({
  lock: async (id) => ({
    stored: await store.load(id),
    release: () => {},
    append: async (change) => {
      const lock = await store.lock(id);
      await lock.append(change);
      await lock.release();
    },
  }),
});

const [missing, content, replacement, large, oneWriter, race, released, ids, reader, locked, removal] = titles;

const faults: readonly [string, Fault, readonly (string | undefined)[]][] = [
  ["reports a locked conversation as not locked", () => ({ isLocked: () => false }), [locked]],
  ["reports a released lock", () => ({ isLocked: () => true }), [locked]],
  [
    "returns an empty conversation instead of undefined",
    (store) => ({
      load: async (id) =>
        (await store.load(id)) ?? {
          messages: [],
          state: { runs: 0, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, undelivered: [] },
        },
    }),
    [missing, removal],
  ],
  [
    "loses a field of a message",
    appendFault((change) => ({
      ...change,
      messages: change.messages.map((message) =>
        message.role === "user" ? { role: "user", content: message.content } : message,
      ),
    })),
    [content],
  ],
  [
    "loses the compaction",
    appendFault((change) => ({ ...change, state: { ...change.state, compaction: undefined } })),
    [content],
  ],
  [
    "keeps the messages that a change replaces",
    (store) =>
      lockFault((lock) => {
        let length = lock.stored?.messages.length ?? 0;
        return {
          append: async (change) => {
            await lock.append({ ...change, from: length });
            length += change.messages.length;
          },
        };
      })(store),
    [replacement, oneWriter],
  ],
  ["locks nothing", unlocked, [oneWriter, race, released, locked, removal]],
  ["never frees a lock", lockFault(() => ({ release: () => {} })), titles.filter((title) => title !== race && title !== reader)],
  [
    "ignores the case of conversation ids",
    (store) => ({ load: (id) => store.load(id.toLowerCase()), lock: (id) => store.lock(id.toLowerCase()) }),
    [ids],
  ],
  [
    "writes message by message",
    lockFault((lock) => ({
      append: async ({ from, messages, state }) => {
        for (const [index, message] of messages.entries()) {
          await lock.append({ from: from + index, messages: [message], state });
          if (messages.length <= 10) await new Promise((resolve) => setTimeout(resolve, 3));
        }
        if (messages.length === 0) await lock.append({ from, messages, state });
      },
    })),
    [reader],
  ],
  [
    "truncates long strings",
    appendFault((change) => ({
      ...change,
      messages: change.messages.map((message) =>
        message.role === "user" && typeof message.content === "string"
          ? { ...message, content: message.content.slice(0, 1_000) }
          : message,
      ),
    })),
    [large],
  ],
  ["deletes nothing", () => ({ remove: () => {} }), [removal]],
];

it.each(faults)("conversationStoreSuite: fails for a store that %s", async (_title, fault, expected) => {
  const store = memoryConversationStore();
  const broken = { ...store, ...fault(store) };
  expect(await findFailures(() => broken)).toEqual(expected);
});

it("conversationStoreSuite: rejects a setup without `open`", () => {
  expect(() => conversationStoreSuite({} as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
});
