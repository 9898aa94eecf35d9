import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLoopControl, defineTool, structuredOutput, type UserMessage } from "turnwright";
import { createConversation, fileConversationStore, memoryConversationStore } from "turnwright/conversation";
import { guardrails, type InputCheck } from "turnwright/middleware";
import { fileJournal } from "turnwright/journal";
import {
  createMockProvider,
  createTestClock,
  fail,
  type MockScript,
  stall,
  type TestClock,
  text,
  toolCall,
} from "turnwright/testing";
import { open, sent } from "./chat-stage.ts";
import { makeFolder, removeFolders, show } from "./stage.ts";

afterAll(removeFolders);

describe("conversation.send()", () => {
  it("sends the messages of all earlier runs, including runs started by another conversation object", async () => {
    const stage = open([toolCall("dig"), text("Gold."), text("At noon."), text("Bye.")]);
    const { conversation, another } = stage;
    expect((await conversation.send("What is there?")).text).toBe("Gold.");
    await another().send("When was it found?");
    const result = await conversation.send({ role: "user", content: "Bye!" });
    const transcript = [
      "user: What is there?",
      "model: dig()",
      "tool: dig completed",
      "model: Gold.",
      "user: When was it found?",
      "model: At noon.",
      "user: Bye!",
      "model: Bye.",
    ];
    expect(sent(stage)).toEqual(transcript.slice(0, -1));
    expect(show(result.messages)).toEqual(transcript);
    expect(show(await another().messages())).toEqual(transcript);
  });

  it("sends several messages in one run, with `pinned` and content parts unchanged", async () => {
    const { conversation, provider } = open([text("Yes."), text("Good.")]);
    const parts: UserMessage = { role: "user", content: [{ type: "text", text: "Look." }], pinned: true };
    await conversation.send([parts, { role: "user", content: "Is it right?" }]);
    await conversation.send("Go on.");
    expect(provider.requests.at(-1)?.messages[0]).toEqual(parts);
    expect((await conversation.messages())[0]).toEqual(parts);
  });

  it("stores the message before the run begins", async () => {
    const seen: (readonly string[])[] = [];
    const stage = open(() => {
      void Promise.resolve(stage.another().messages()).then((messages) => seen.push(show(messages)));
      return [text("Yes.")];
    });
    await stage.conversation.send("Is it on?");
    expect(seen).toEqual([["user: Is it on?"]]);
  });

  it("answers the last message after a failed run if called without a message", async () => {
    const stage = open([fail({ status: 401, message: "No key" }), text("Now it works.")]);
    const { conversation } = stage;
    const { status } = await conversation.send("Is it on?");
    expect([status, show(await conversation.messages())]).toEqual(["error", ["user: Is it on?"]]);
    await conversation.send();
    expect(sent(stage)).toEqual(["user: Is it on?"]);
    expect(show(await conversation.messages())).toEqual(["user: Is it on?", "model: Now it works."]);
  });

  it("refuses to run if no message needs an answer", async () => {
    const { conversation, provider } = open([text("Yes.")]);
    await expect(conversation.send()).rejects.toMatchObject({ code: "invalid-option", details: { option: "message" } });
    await conversation.send("Is it on?");
    await expect(conversation.send([])).rejects.toMatchObject({ code: "invalid-option", details: { option: "message" } });
    expect([provider.calls, (await conversation.usage()).runs]).toEqual([1, 1]);
    // The refusals have released the lock.
    await expect(conversation.send("One more?")).resolves.toMatchObject({ status: "error" });
  });

  it("begins the next run with the message that interrupted the last run", async () => {
    const control = createLoopControl();
    const script: MockScript = (_request, index) => {
      if (index > 0) return [text("Rain.")];
      control.interrupt("In one sentence.");
      return [text("Once upon a time"), stall()];
    };
    const stage = open(script, {}, { control });
    const first = await stage.conversation.send("Tell me of the weather.");
    expect(first.reason.kind).toBe("interrupted");
    const { undelivered } = (await stage.another().status()) ?? {};
    expect(undelivered).toEqual([{ role: "user", content: "In one sentence." }]);
    await stage.another().send();
    expect(sent(stage)).toEqual(["user: Tell me of the weather.", "user: In one sentence."]);
    expect((await stage.conversation.status())?.undelivered).toEqual([]);
  });

  it("sends the undelivered message of a stopped run in the next run", async () => {
    const control = createLoopControl();
    const tool = defineTool({
      name: "dig",
      description: "Digs a hole",
      inputSchema: { type: "object" },
      execute: () => {
        control.steer("Leave the gold out.");
        control.stop();
      },
    });
    const stage = open([toolCall("dig"), text("Stones.")], {}, { control, tools: [tool] });
    const { status, undelivered } = await stage.conversation.send("Dig!");
    expect([status, undelivered.length]).toEqual(["stopped-by-user", 1]);
    await stage.conversation.send("Go on.");
    expect(sent(stage)).toEqual([
      "user: Dig!",
      "model: dig()",
      "tool: dig interrupted",
      "user: Leave the gold out.",
      "user: Go on.",
    ]);
  });

  it("merges a run's options into the conversation's options", async () => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      execute: (_args, { session }) => void seen.push(session),
    });
    const stage = open(() => [toolCall("look")], {}, { tools: [look], limits: { maxIterations: 1 }, session: { locale: "nb" } });
    const first = await stage.conversation.send("Look.", { session: { userId: "ada" }, system: "Be brief.", limits: {} });
    const second = await stage.conversation.send("Look.", { session: { conversationId: "own" } });
    expect([first.reason, second.reason].map(({ kind }) => kind)).toEqual(["max-iterations", "max-iterations"]);
    expect(seen).toEqual([
      { conversationId: "chat-17", locale: "nb", userId: "ada" },
      { conversationId: "own", locale: "nb" },
    ]);
    expect(stage.provider.requests.map(({ system }) => system)).toEqual(["Be brief.", undefined]);
  });

  it("returns the validated value of `structuredOutput`", async () => {
    const { conversation } = open([text('{"coat":true}')]);
    const output = structuredOutput(z.object({ coat: z.boolean() }));
    const result = await conversation.send("Do I need a coat?", { middleware: [output] });
    const coat: boolean | undefined = result.output?.coat;
    expect(coat).toBe(true);
  });
});

describe("conversation.stream()", () => {
  it("yields a run's events, and stores the run before `result` resolves", async () => {
    const { conversation, another } = open([toolCall("dig"), text("Gold.")]);
    const stream = conversation.stream("What is there?");
    const types = new Set<string>();
    for await (const { type } of stream) types.add(type);
    expect((await stream.result).text).toBe("Gold.");
    expect([...types]).toEqual(expect.arrayContaining(["run-start", "tool-start", "tool-end", "text-delta", "run-end"]));
    expect(show(await another().messages()).at(-1)).toBe("model: Gold.");
  });

  it("runs to the end if only `result` is awaited", async () => {
    const { conversation } = open([Array.from({ length: 500 }, (_, index) => text(`${index} `))]);
    expect((await conversation.stream("Count.").result).text).toMatch(/499$/);
  });

  it("stops and stores the run if the reader stops reading", async () => {
    const { conversation, provider } = open([[text("Once"), stall()], text("Rain.")]);
    const stream = conversation.stream("Tell me of the weather.");
    for await (const { type } of stream) if (type === "text-delta") break;
    expect([(await stream.result).status, provider.active]).toEqual(["stopped-by-user", 0]);
    await expect(conversation.send("In short?")).resolves.toMatchObject({ text: "Rain." });
  });

  it.each([
    ["memoryConversationStore", () => memoryConversationStore()],
    ["fileConversationStore", () => fileConversationStore(makeFolder(), { fsync: false })],
  ])("keeps `isLive` true for the conversation until %s has stored the end of the run", async (_name, makeStore) => {
    const { conversation, another } = open([[text("Once"), stall()]], { store: makeStore() });
    const live = conversation.stream("First");
    const reader = live[Symbol.asyncIterator]();
    await reader.next();
    expect(await another().status()).toMatchObject({ status: "running", isLive: true });
    await reader.return?.();
    await live.result;
    expect(await another().status()).toMatchObject({ status: "stopped-by-user", isLive: false });
  });

  it("rejects `result` and the iterator if the conversation is busy", async () => {
    const { conversation, another, provider } = open([[text("Once"), stall()]]);
    expect(() => conversation.stream("")).toThrow(expect.objectContaining({ code: "invalid-option" }));
    const live = conversation.stream("First");
    const reader = live[Symbol.asyncIterator]();
    await reader.next();
    const refused = another().stream("Second");
    await expect(refused.result).rejects.toMatchObject({ code: "conversation-busy" });
    await expect(refused[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "conversation-busy" });
    await reader.return?.();
    await live.result;
    expect([provider.calls, show(await another().messages())[0]]).toEqual([1, "user: First"]);
  });
});

describe("conversation.send() after a stop", () => {
  const cleaning = (clock: TestClock) =>
    defineTool({
      name: "dig",
      description: "Digs a hole",
      inputSchema: { type: "object" },
      execute: (_args, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => clock.setTimeout(() => resolve("clean"), 300))),
    });

  it.each(["leaving the stream", "aborting the signal"])("waits for the end of the stopped run after %s", async (how) => {
    const clock = createTestClock();
    const { conversation, another } = open([toolCall("dig"), text("At noon.")], {}, { clock, tools: [cleaning(clock)] });
    const stop = new AbortController();
    const stream = conversation.stream("Dig.", { signal: stop.signal });
    const reader = stream[Symbol.asyncIterator]();
    for (let type = ""; type !== "tool-start";) type = (await reader.next()).value?.type ?? "tool-start";
    if (how === "leaving the stream") void reader.return?.();
    else stop.abort();
    const next = another().send("When?");
    await clock.advance(1_000);
    expect([(await stream.result).status, (await next).text]).toEqual(["stopped-by-user", "At noon."]);
    await expect(another().send("Where?")).resolves.toMatchObject({ status: "error" });
  });
});

it("a conversation in a file can be used after an input check has refused a message", async () => {
  const check: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("evil") ? "refuse" : "pass" }) };
  const options = { provider: createMockProvider(() => text("Yes.")), middleware: [guardrails({ input: [check] })] };
  const store = fileConversationStore(makeFolder(), { fsync: false });
  const chat = () => createConversation({ id: "file", store, options });
  await chat().send("An evil plan.");
  expect(show(await chat().messages())).toEqual([]);
  await chat().send("Hello.");
  expect(show(await chat().messages())).toEqual(["user: Hello.", "model: Yes."]);
});

it("the cost of a conversation stays known if a process is killed before its run records anything", async () => {
  const folder = makeFolder();
  const store = fileConversationStore(join(folder, "chats"), { fsync: false });
  let isKilled = false;
  const journal = (runId: string) => {
    const kept = fileJournal(join(folder, `${runId}.jsonl`));
    // After the kill, nothing of the run is stored except its message.
    return isKilled ? { ...kept, open: () => new Promise<never>(() => {}) } : kept;
  };
  const options = { provider: createMockProvider(() => text("Yes.")), pricing: () => 1 };
  await createConversation({ id: "killed", store, options, journal }).send("one");
  isKilled = true;
  void createConversation({ id: "killed", store, options: { ...options, timeouts: { journalMs: 3_600_000 } }, journal })
    .send("two")
    .catch(() => {});
  while ((await store.load("killed"))?.state.runs !== 2) await setImmediate();
  isKilled = false;
  const stored = await store.load("killed");
  // Another store stands for the next process, because the lock of this one is still held.
  const next = memoryConversationStore();
  const lock = await next.lock("killed");
  await lock.append({ from: 0, messages: stored?.messages ?? [], state: stored?.state ?? ({} as never) });
  await lock.release();
  const conversation = createConversation({ id: "killed", store: next, options, journal });
  await conversation.send("three");
  expect(await conversation.usage()).toMatchObject({ costUSD: 2, knownCostUSD: 2, runs: 3 });
  expect(show(await conversation.messages())).toEqual(["user: one", "model: Yes.", "user: two", "user: three", "model: Yes."]);
});

it("conversation.send() removes a message that an input check refused, so the next run completes", async () => {
  const check: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("evil") ? "refuse" : "pass" }) };
  const provider = createMockProvider((_, index) => text(`Answer ${index}.`));
  const options = { provider, middleware: [guardrails({ input: [check] })] };
  const conversation = createConversation({ id: "g1", store: memoryConversationStore(), options });
  await conversation.send("Hello.");
  expect((await conversation.send("An evil plan.")).reason.kind).toBe("input-guardrail");
  expect((await conversation.send("Sorry, the weather?")).status).toBe("completed");
  expect(JSON.stringify(await conversation.messages())).not.toContain("evil");
});
