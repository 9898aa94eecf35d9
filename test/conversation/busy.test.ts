import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoopControl, defineTool, type Message } from "turnwright";
import {
  type ConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import { createMockProvider, createTestClock, type MockScript, text, toolCall, wait } from "turnwright/testing";
import { type Database, makeFolder, removeFolders, show, startDatabase } from "./stage.ts";

const echo: MockScript = ({ messages }) => [text(`re ${textOf(messages.at(-1))}`)];

function textOf(message: Message | undefined): string {
  return message?.role === "user" && typeof message.content === "string" ? message.content : "";
}

const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

describe("createConversation with several runs at a time", () => {
  const open = (waitMs?: number) => {
    const clock = createTestClock();
    const provider = createMockProvider(({ messages }) => [wait(1_000), text(`re ${textOf(messages.at(-1))}`)]);
    const store = memoryConversationStore();
    return { clock, conversation: createConversation({ id: "a", store, options: { provider, clock }, waitMs }) };
  };

  it("refuses a second run immediately by default, without ending the first run", async () => {
    const { clock, conversation } = open();
    const first = conversation.send("1");
    await expect(conversation.send("2")).rejects.toMatchObject({
      code: "conversation-busy",
      details: { conversation: "a" },
      message: expect.stringContaining('Conversation "a" has a live run'),
    });
    await clock.runAll();
    await first;
    expect(show(await conversation.messages())).toEqual(["user: 1", "model: re 1"]);
  });

  it("starts a run at once for a reader that has read all events of the run before", async () => {
    const memory = memoryConversationStore();
    const store: ConversationStore = {
      ...memory,
      lock: async (id) => {
        const lock = await memory.lock(id);
        const later = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
        return {
          ...lock,
          append: (change) => later().then(() => lock.append(change)),
          release: () => later().then(lock.release),
        };
      },
    };
    const conversation = createConversation({ id: "a", store, options: { provider: createMockProvider(echo) } });
    for (const message of ["1", "2"]) for await (const _ of conversation.stream(message));
    expect(show(await conversation.messages())).toEqual(["user: 1", "model: re 1", "user: 2", "model: re 2"]);
  });

  it("starts a waiting run when the first run has ended", async () => {
    const { clock, conversation } = open(5_000);
    const runs = ["1", "2", "3"].map((message) => conversation.send(message));
    await clock.runAll();
    await Promise.all(runs);
    const shown = show(await conversation.messages());
    expect([shown.length, shown.slice(0, 2)]).toEqual([6, ["user: 1", "model: re 1"]]);
  });

  it("refuses a run that has waited for waitMs", async () => {
    const { clock, conversation } = open(400);
    const first = conversation.send("1");
    const second = failureOf(conversation.send("2"));
    await clock.advance(400);
    expect(await second).toMatchObject({ code: "conversation-busy" });
    await clock.runAll();
    await expect(first).resolves.toMatchObject({ text: "re 1" });
  });

  it("still refuses a second run after the reader of an earlier refused stream has stopped reading", async () => {
    const { clock, conversation } = open();
    const first = conversation.send("1");
    await clock.flush();
    const refused = conversation.stream("2");
    const failure = await failureOf(refused.result);
    await refused[Symbol.asyncIterator]()
      .return?.()
      .catch(() => {});
    const third = failureOf(conversation.send("3"));
    await clock.advance(1_000);
    await first;
    await clock.advance(1_000);
    expect([failure, await third]).toMatchObject([{ code: "conversation-busy" }, { code: "conversation-busy" }]);
  });

  it("waits for a run that is being stopped, even if another call has given up waiting for that run", async () => {
    const clock = createTestClock();
    const cleanUp = defineTool({
      name: "clean_up",
      description: "Takes two seconds.",
      inputSchema: { type: "object" },
      execute: () => new Promise((resolve) => void clock.setTimeout(() => resolve("done"), 2_000)),
    });
    const provider = createMockProvider(({ messages }) => [
      textOf(messages.at(-1)) === "1" ? toolCall("clean_up", {}) : text(`re ${textOf(messages.at(-1))}`),
    ]);
    const store = memoryConversationStore();
    const open = (waitMs: number) =>
      createConversation({ id: "a", store, options: { provider, tools: [cleanUp], clock }, waitMs });
    const control = createLoopControl();
    const first = open(0).send("1", { control });
    await clock.flush();
    const second = failureOf(open(100).send("2"));
    await clock.advance(50);
    control.stop();
    await clock.advance(60);
    const third = failureOf(open(0).send("3"));
    await clock.runAll();
    expect((await first).status).toBe("stopped-by-user");
    expect([await second, await third]).toMatchObject([{ code: "conversation-busy" }, { text: "re 3" }]);
  });

  it.each(["stop", "kill"] as const)(
    "without waitMs, starts a run after control.%s() once the stopped run has ended",
    async (verb) => {
      const clock = createTestClock();
      const provider = createMockProvider(({ messages }) => [wait(1_000), text(`re ${textOf(messages.at(-1))}`)]);
      const store = memoryConversationStore();
      const conversation = createConversation({ id: "a", store, options: { provider, clock } });
      const control = createLoopControl();
      const first = conversation.send("1", { control });
      await clock.flush();
      control[verb]();
      const second = conversation.send("2");
      await clock.runAll();
      expect((await first).status).toBe("stopped-by-user");
      expect((await second).text).toBe("re 2");
      const third = conversation.send("3", { control: createLoopControl() });
      expect(await failureOf(conversation.send("4"))).toMatchObject({ code: "conversation-busy" });
      await clock.runAll();
      await third;
    },
  );

  it("refuses a waiting run if its signal is aborted", async () => {
    const { clock, conversation } = open(60_000);
    const first = conversation.send("1");
    const abort = new AbortController();
    const second = failureOf(conversation.send("2", { signal: abort.signal }));
    abort.abort();
    await clock.advance(50);
    expect(await second).toMatchObject({ code: "conversation-busy" });
    await clock.runAll();
    await first;
  });
});

function orderOf(messages: readonly Message[]): readonly string[] {
  const shown = show(messages);
  for (let index = 0; index < shown.length; index += 2) {
    // Each message has its own answer directly after it, so runs do not interleave.
    expect(shown[index + 1]).toBe(shown[index]?.replace("user: ", "model: re "));
  }
  return shown.filter((line) => line.startsWith("user: ")).map((line) => line.slice("user: ".length));
}

/** Several objects send at the same time. Each object sends its own messages in order. */
async function checkSerial(stores: readonly ConversationStore[], id: string, counts: readonly number[]): Promise<void> {
  const provider = createMockProvider(echo, { record: false });
  const accepted: string[][] = await Promise.all(
    counts.map(async (count, writer) => {
      const store = stores[writer % stores.length] ?? memoryConversationStore();
      const conversation = createConversation({ id, store, options: { provider }, waitMs: writer % 2 === 0 ? 30_000 : 0 });
      const own: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const message = `${writer}.${index}`;
        const { text: answer } = await conversation.send(message).catch(() => ({ text: undefined }));
        if (answer !== undefined) own.push(message);
        if (writer % 2 === 0) expect(answer).toBe(`re ${message}`);
      }
      return own;
    }),
  );
  const [store = memoryConversationStore()] = stores;
  const order = orderOf((await store.load(id))?.messages ?? []);
  // No message is lost or stored twice, and no message of a refused run is stored.
  expect([...order].sort()).toEqual(accepted.flat().sort());
  for (const [writer, own] of accepted.entries()) {
    expect(order.filter((message) => message.startsWith(`${writer}.`))).toEqual(own);
  }
  expect((await store.load(id))?.state.runs).toBe(order.length);
}

const writers = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 4 });

describe("conversations with several writers", () => {
  let database: Database;
  beforeAll(async () => {
    database = await startDatabase();
  }, 60_000);
  afterAll(async () => {
    removeFolders();
    await database.stop();
  });
  let number = 0;

  it("store the runs one at a time, with memoryConversationStore and any interleaving", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), writers, async (scheduler, counts) => {
        const store = memoryConversationStore();
        // The scheduler decides the order in which calls of the store end.
        const delayed: ConversationStore = {
          load: async (id) => {
            await scheduler.schedule(Promise.resolve());
            return store.load(id);
          },
          lock: async (id) => {
            await scheduler.schedule(Promise.resolve());
            const lock = await store.lock(id);
            return {
              ...lock,
              append: async (change) => {
                await scheduler.schedule(Promise.resolve());
                await lock.append(change);
                await scheduler.schedule(Promise.resolve());
              },
            };
          },
          isLocked: store.isLocked,
          remove: store.remove,
        };
        await scheduler.waitFor(checkSerial([delayed], "a", counts));
      }),
      { numRuns: 30 },
    );
  });

  it("store the runs one at a time, with two fileConversationStore objects for one folder", async () => {
    const folder = makeFolder();
    const stores = [1, 2].map(() => fileConversationStore(folder, { fsync: false }));
    await fc.assert(
      fc.asyncProperty(writers, (counts) => checkSerial(stores, `chat-${(number += 1)}`, counts)),
      { numRuns: 10 },
    );
  });

  it("store the runs one at a time, with postgresConversationStore and two pools", async () => {
    const stores = [1, 2].map(() => postgresConversationStore(database.connect()));
    await fc.assert(
      fc.asyncProperty(writers, (counts) => checkSerial(stores, `chat-${(number += 1)}`, counts)),
      { numRuns: 10 },
    );
  });
});
