// A new message while calls of the last run wait for decisions or results.

import { describe, expect, it } from "vitest";
import { isLoopError, type LoopOptions, type Message } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import type { WhenSuspended } from "../../src/conversation/waiting-calls.ts";
import { createMockProvider, createTestClock, type MockScript, text, toolCall } from "turnwright/testing";
import { show } from "../conversation/stage.ts";
import { createStage, readAll, readStart, sharedStore, tool } from "./stage.ts";

const script: MockScript = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "user") return text("Done.");
  return last.content === "Pay." ? [toolCall("pay"), toolCall("ask_user")] : text(`About ${last.content as string}`);
};

function createRun(): Pick<LoopOptions, "provider" | "tools"> {
  const pay = tool("pay", () => "paid", { needsApproval: true });
  const { execute: _, ...ask } = tool("ask_user", () => "");
  return { provider: createMockProvider(script), tools: [pay, ask] };
}

interface Chat {
  send(message: string): Promise<unknown>;
  decide(): Promise<unknown>;
  cancel(): Promise<unknown>;
  status(): Promise<string | undefined>;
  messages(): Promise<readonly Message[]>;
}

const answers = { call_i0_0: { kind: "approve" }, call_i0_1: { kind: "result", result: "yes" } } as const;
let chats = 0;

function openHost(whenSuspended: WhenSuspended | undefined): Chat {
  const host = createRunHost({ whenSuspended, whenBusy: whenSuspended === "queue" ? "queue" : "refuse" });
  const run = createRun();
  const id = `waiting-${(chats += 1)}`;
  return {
    send: async (message) => {
      const answer = await host.start(id, { ...run, message });
      if (answer.kind === "waiting") throw answer.error;
      return readStart(answer);
    },
    decide: async () => {
      const answer = await host.resume(id, { ...run, answers });
      return answer.kind === "started" ? answer.result : answer;
    },
    cancel: () => host.cancel(id),
    status: async () => (await host.status(id))?.status,
    messages: async () => (await host.status(id))?.messages ?? [],
  };
}

function openConversation(whenSuspended: WhenSuspended | undefined): Chat {
  const options = createRun();
  const conversation = createConversation({
    id: `waiting-${(chats += 1)}`,
    store: memoryConversationStore(),
    options,
    whenSuspended,
    ...(whenSuspended === "queue" && { waitMs: 5_000 }),
  });
  return {
    send: (message) => conversation.send(message),
    decide: () => conversation.resume({ answers }),
    cancel: () => conversation.cancel(),
    status: async () => (await conversation.status())?.status,
    messages: () => conversation.messages(),
  };
}

const waiting = ["user: Pay.", "model: pay() ask_user()", "tool: pay awaiting-approval, ask_user awaiting-result"];
const done = [...waiting.slice(0, 2), "tool: pay completed, ask_user completed", "model: Done."];

describe.each([
  ["createRunHost", openHost],
  ["createConversation", openConversation],
])("%s while calls wait", (_name, open) => {
  it("refuses a new message by default, and names the calls", async () => {
    const chat = open(undefined);
    await chat.send("Pay.");
    const error: unknown = await chat.send("Hello").catch((thrown: unknown) => thrown);
    expect(isLoopError(error, "conversation-refused") && error.details.calls?.map(({ id }) => id)).toEqual([
      "call_i0_0",
      "call_i0_1",
    ]);
    expect(String(error)).toContain('"pay" (id "call_i0_0") needs a decision, "ask_user" (id "call_i0_1") needs a result');
    expect([await chat.status(), show(await chat.messages())]).toEqual(["suspended", waiting]);
    await chat.decide();
    await chat.send("Hello");
    expect(show(await chat.messages())).toEqual([...done, "user: Hello", "model: About Hello"]);
  });

  it('ends the calls with whenSuspended: "deny"', async () => {
    const chat = open("deny");
    await chat.send("Pay.");
    await chat.send("Hello");
    expect(show(await chat.messages())).toEqual([
      ...waiting.slice(0, 2),
      "tool: pay denied, ask_user interrupted",
      "user: Hello",
      "model: About Hello",
    ]);
  });

  it('waits for the decisions with whenSuspended: "queue", and keeps the messages in order', async () => {
    const chat = open("queue");
    await chat.send("Pay.");
    const queued = ["one", "two", "three"].map((message) => chat.send(message));
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    expect(await chat.status()).toBe("suspended");
    await chat.decide();
    await Promise.all(queued);
    const asked = ["one", "two", "three"].flatMap((said) => [`user: ${said}`, `model: About ${said}`]);
    expect(show(await chat.messages())).toEqual([...done, ...asked]);
  });

  it("ends the suspended run with cancel()", async () => {
    const chat = open(undefined);
    await chat.send("Pay.");
    await chat.cancel();
    expect([await chat.status(), show(await chat.messages())]).toEqual([
      "stopped-by-user",
      [...waiting.slice(0, 2), "tool: pay denied, ask_user interrupted"],
    ]);
    await chat.send("Hello");
    expect(show(await chat.messages()).at(-1)).toBe("model: About Hello");
  });
});

describe("createRunHost with queued starts", () => {
  it("begins the queued runs in call order, each after the earlier runs have ended", async () => {
    const { host, id } = createStage({ whenBusy: "queue", whenSuspended: "queue" });
    const run = createRun();
    await readStart(host.start(id, { ...run, message: "Pay." }));
    const starts = ["one", "two"].map((message) => host.start(id, { ...run, message }));
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect((await host.status(id))?.queued).toBe(2);
    const resumed = await host.resume(id, { ...run, answers });
    const late = host.start(id, { ...run, message: "three" });
    for (const start of [resumed, ...starts, late]) await readStart(start as never);
    expect(show((await host.status(id))?.messages ?? []).filter((line) => line.startsWith("user"))).toEqual([
      "user: Pay.",
      "user: one",
      "user: two",
      "user: three",
    ]);
  });

  it('returns "closed" for queued starts when the host is closed', async () => {
    const { host, id } = createStage({ whenSuspended: "queue" });
    const run = createRun();
    await readStart(host.start(id, { ...run, message: "Pay." }));
    const queued = host.start(id, { ...run, message: "Hello" });
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    await host.close();
    expect(await queued).toEqual({ kind: "closed" });
  });

  it("begins the next queued run after a drained run, because none of the drained run's calls are waiting", async () => {
    const store = sharedStore();
    const first = createStage({ store });
    const work = tool("work", () => void first.host.close());
    const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("work") : text("Yes.")));
    await first.host.start(first.id, { provider, tools: [work], message: "Work." });
    await first.host.close();
    const second = createRunHost({ store });
    expect((await second.status(first.id))?.status).toBe("suspended");
    expect((await second.start(first.id, { ...createRun(), message: "Hello" })).kind).toBe("started");
  });

  it.each(["cancel", "remove"] as const)(
    'returns "busy" from %s() during a run, and waits for a stopped run to end',
    async (verb) => {
      const { host, id, clock } = createStage();
      const slow = tool("slow", () => new Promise(() => {}));
      const run = { provider: createMockProvider(() => toolCall("slow")), tools: [slow], clock, message: "Work." };
      await host.start(id, run);
      await clock.advance(1);
      expect(await host[verb](id)).toBe("busy");
      host.stop(id);
      const answer = host[verb](id);
      await clock.advance(100_000);
      expect(await answer).toBe(verb === "cancel" ? "not-suspended" : "removed");
    },
  );
});

it('a conversation that waits with whenSuspended: "queue" gives up after waitMs', async () => {
  const clock = createTestClock();
  const options = { ...createRun(), clock };
  const conversation = createConversation({
    id: "late",
    store: memoryConversationStore(),
    options,
    whenSuspended: "queue",
    waitMs: 1_000,
  });
  await conversation.send("Pay.");
  const refused = conversation.send("Hello").catch((error: unknown) => error);
  await clock.advance(2_000);
  expect(isLoopError(await refused, "conversation-refused")).toBe(true);
  expect([(await conversation.status())?.status, clock.pending]).toEqual(["suspended", 0]);
});

it("host.cancel() lets readers of the suspended run finish, and leaves nothing to resume", async () => {
  const { host, id } = createStage();
  const run = createRun();
  await readStart(host.start(id, { ...run, message: "Pay." }));
  expect(await host.cancel(id, { requester: "user", note: "changed my mind" })).toBe("cancelled");
  expect((await host.status(id))?.reason).toEqual({ kind: "stopped", requester: "user", note: "changed my mind" });
  expect(await host.resume(id, { ...run, answers })).toEqual({ kind: "not-resumable", status: "stopped-by-user" });
  expect((await readAll(host.join(id))).at(-1)?.event.type).toBe("run-end");
  expect([await host.cancel(id), await host.cancel("nobody")]).toEqual(["not-suspended", "not-suspended"]);
});

it('host.resume() does not return "busy" because of a message that is refused at the same time', async () => {
  const { host, id } = createStage();
  const run = createRun();
  await readStart(host.start(id, { ...run, message: "Pay." }));
  const both = await Promise.all([host.start(id, { ...run, message: "Hello" }), host.resume(id, { ...run, answers })]);
  expect(both.map(({ kind }) => kind)).toEqual(["waiting", "started"]);
});
