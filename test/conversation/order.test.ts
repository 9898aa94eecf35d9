// Messages of one conversation are answered in the order in which they came.

import { setImmediate } from "node:timers/promises";
import { isLoopError } from "turnwright";
import { afterAll, describe, expect, it } from "vitest";
import {
  type ConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
} from "turnwright/conversation";
import { createMockProvider, createTestClock, text, wait } from "turnwright/testing";
import { makeFolder, removeFolders } from "./stage.ts";

afterAll(removeFolders);

const folder = makeFolder();
const memory = memoryConversationStore();

describe.each<[string, () => ConversationStore]>([
  ["one memoryConversationStore", () => memory],
  ["several fileConversationStore objects for one folder", () => fileConversationStore(folder, { fsync: false })],
])("conversation.send() with waitMs and %s", (_name, create) => {
  it("answers messages in the order of the calls", async () => {
    const clock = createTestClock();
    const answered: unknown[] = [];
    const provider = createMockProvider(({ messages }) => {
      answered.push(messages.at(-1)?.role === "user" ? (messages.at(-1) as { content: unknown }).content : undefined);
      return [wait(40), text("Yes.")];
    });
    const said = Array.from({ length: 12 }, (_, index) => `${index}`);
    const open = () => createConversation({ id: "order", store: create(), options: { provider, clock }, waitMs: 10_000_000 });
    const all = Promise.all(said.map((message) => open().send(message)));
    // The file store needs real time for each of its changes.
    while (provider.calls < said.length || provider.active > 0) {
      await setImmediate();
      await clock.advance(15);
    }
    await all;
    expect(answered).toEqual(said);
    expect(clock.pending).toBe(0);
  });
});

it("conversation.send() removes a call from the queue after waitMs, and answers the other messages", async () => {
  const clock = createTestClock();
  const answered: unknown[] = [];
  const provider = createMockProvider(({ messages }) => {
    answered.push((messages.at(-1) as { content: unknown }).content);
    return [wait(1_000), text("Yes.")];
  });
  const store = memoryConversationStore();
  const open = (waitMs: number) => createConversation({ id: "patience", store, options: { provider, clock }, waitMs });
  const first = open(0).send("one");
  const impatient = open(100)
    .send("two")
    .catch((error: unknown) => error);
  const third = open(20_000).send("three");
  const refused = open(0)
    .send("four")
    .catch((error: unknown) => error);
  for (let turn = 0; turn < 100; turn += 1) await clock.advance(50);
  const errors = await Promise.all([impatient, refused]);
  expect(errors.map((error) => isLoopError(error, "conversation-busy"))).toEqual([true, true]);
  await Promise.all([first, third]);
  expect(answered).toEqual(["one", "three"]);
});
