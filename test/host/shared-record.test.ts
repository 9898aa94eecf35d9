// A run host and a conversation share the record and the lock of a conversation.

import { expect, it } from "vitest";
import { type ConversationStore, createConversation, memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";
import { createStage, playing, readStart, tool } from "./stage.ts";

const pay = tool("pay", () => "paid", { needsApproval: true });
const run = {
  provider: createMockProvider(({ messages }) => {
    const last = messages.at(-1);
    return last?.role === "user" && last.content === "Pay." ? toolCall("pay") : text("Yes.");
  }),
  tools: [pay],
};
const approved = { call_i0_0: { kind: "approve" } } as const;

const chatOf = (store: ConversationStore, id: string) =>
  createConversation({ id, store, options: run, journal: store.journal, removeJournal: store.removeJournal });

it("a conversation continues the run of a host, and a host continues the run of a conversation", async () => {
  const store = memoryConversationStore();
  const { host, id } = createStage({ store });
  await readStart(host.start(id, { ...run, message: "Pay." }));
  const chat = chatOf(store, id);
  expect((await chat.resume({ answers: approved })).status).toBe("completed");
  expect((await host.status(id))?.turns.map(({ runId, to }) => [runId, to])).toEqual([[`${id}/1`, 4]]);
  expect((await chat.send("Pay.")).status).toBe("suspended");
  const resumed = await host.resume(id, { ...run, answers: { call_i0_0_1: { kind: "approve" } } });
  expect(resumed.kind === "started" && (await resumed.result).status).toBe("completed");
  const { messages, runs, usage } = (await host.status(id)) ?? {};
  expect([messages?.map(({ role }) => role), runs]).toEqual([
    ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"],
    2,
  ]);
  expect(usage).toEqual((await chat.usage()).usage);
});

it('a host returns "busy" while a conversation object holds the lock, and vice versa', async () => {
  const store = memoryConversationStore();
  const { host, id, clock } = createStage({ store });
  const started = await host.start(id, { ...playing([stall()], clock), message: "Wait." });
  await expect(chatOf(store, id).send("Me too.")).rejects.toMatchObject({ code: "conversation-busy" });
  host.stop(id);
  if (started.kind === "started") await started.result;
  const lock = await store.lock(id);
  expect(await host.start(id, { ...run, message: "Now?" })).toEqual({ kind: "busy", runId: `${id}/1` });
  await lock.release();
  expect((await readStart(host.start(id, { ...run, message: "Now?" }))).status).toBe("completed");
});

it("a host stops a run whose lock is lost, and stores nothing more", async () => {
  const memory = memoryConversationStore();
  const lost = new AbortController();
  let isLost = false;
  const store: ConversationStore = {
    ...memory,
    lock: async (name) => {
      const lock = await memory.lock(name);
      const append: typeof lock.append = (change) => {
        if (isLost) throw new Error("Another process has the lock.");
        return lock.append(change);
      };
      return { ...lock, lost: lost.signal, append };
    },
  };
  const { host, clock, id } = createStage({ store });
  const started = await host.start(id, { ...playing([[text("One moment."), stall()]], clock), message: "Go." });
  isLost = true;
  lost.abort(new Error("Another process has the lock."));
  const result = started.kind === "started" ? await started.result : undefined;
  expect(result?.reason).toMatchObject({ kind: "aborted" });
  expect((await memory.load(id))?.state.lastRun?.status).toBe("running");
});

it("a lock that is acquired only after the storeMs timeout is released", async () => {
  const memory = memoryConversationStore();
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const lock: ConversationStore["lock"] = async (name) => {
    await opened;
    return memory.lock(name);
  };
  const { host, clock, id } = createStage({ store: { ...memory, lock }, storeMs: 1_000 });
  const refused = host.start(id, { ...playing([text("Hi.")], clock), message: "Go." }).catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await refused).toMatchObject({ code: "store-unresponsive", details: { verb: "lock" } });
  open();
  await clock.flush();
  expect(await memory.isLocked(id)).toBe(false);
});
