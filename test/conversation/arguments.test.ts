import { describe, expect, it } from "vitest";
import {
  type ConversationOptions,
  type ConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import type { RunOverrides } from "../../src/conversation/conversation.ts";
import { createMockProvider } from "turnwright/testing";
import { open } from "./chat-stage.ts";

describe("createConversation", () => {
  const untouchable: ConversationStore = new Proxy({} as ConversationStore, {
    get: (_target, name) => () => {
      throw new Error(`The store was called: ${String(name)}.`);
    },
  });
  const hostile = ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a\nb", "\ud800", "x".repeat(201), 7, undefined];

  it.each(hostile)("refuses the conversation id %j before any read or write", async (id) => {
    const { conversation } = open([], { store: untouchable });
    expect(() => open([], { id: id as string, store: untouchable })).toThrow(
      expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option: "id" }) }),
    );
    await expect(conversation.fork(id as string)).rejects.toMatchObject({ code: "invalid-option" });
    for (const store of [
      memoryConversationStore(),
      fileConversationStore("/dev/null/none"),
      postgresConversationStore(untouchable as never),
    ]) {
      const calls = [
        async () => store.load(id as string),
        async () => store.lock(id as string),
        async () => store.remove(id as string),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "invalid-option" });
    }
  });

  it.each([
    ["a/b", '(it contains "/")'],
    ["a\\b", '(it contains "\\\\")'],
    ["a\nb", '(it contains "\\n")'],
  ])("names the forbidden character in the error for the id %j", async (id, problem) => {
    expect(() => open([], { id })).toThrow(problem);
    await expect(open([]).conversation.fork(id)).rejects.toThrow(problem);
  });

  const provider = createMockProvider([]);
  const wrong: readonly [string, object, string][] = [
    ["a missing store", { id: "a", options: { provider } }, "store"],
    ["a store without lock", { id: "a", store: { load() {}, remove() {} }, options: { provider } }, "store"],
    ["missing options", { id: "a", store: untouchable }, "options"],
    ["an unknown option", { id: "a", store: untouchable, options: { provider }, journals: 1 }, "journals"],
    ["a missing provider", { id: "a", store: untouchable, options: {} }, "provider"],
    ['the option "messages"', { id: "a", store: untouchable, options: { provider, messages: [] } }, "messages"],
    ['the option "runId"', { id: "a", store: untouchable, options: { provider, runId: "r" } }, "runId"],
    [
      "a negative limit",
      { id: "a", store: untouchable, options: { provider, limits: { maxIterations: -1 } } },
      "limits.maxIterations",
    ],
    ["a negative waitMs", { id: "a", store: untouchable, options: { provider }, waitMs: -1 }, "waitMs"],
  ];
  it.each(wrong)("throws for %s", (_title, options, option) => {
    expect(() => createConversation(options as ConversationOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  const forged: readonly [string, unknown][] = [
    ["a blank text", " "],
    ["a message of the model", { role: "assistant", content: [] }],
    [
      "a list with a tool message",
      [
        { role: "user", content: "Hello" },
        { role: "tool", results: [] },
      ],
    ],
    ["a number", 7],
  ];
  it.each(forged)("refuses %s as a new message", async (_title, message) => {
    const { conversation } = open([], { store: untouchable });
    await expect(conversation.send(message as string)).rejects.toMatchObject({ details: { option: "message" } });
    await expect(conversation.send("Hello", { answers: {} } as RunOverrides)).rejects.toMatchObject({
      details: { option: "answers" },
    });
  });
});
