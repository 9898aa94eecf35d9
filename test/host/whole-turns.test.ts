// A message of a page has an identity: it makes one turn, however often it arrives.

import { describe, expect, it } from "vitest";
import { approve, type LoopResult, type Message, type UserMessage } from "turnwright";
import { type Compaction, compactMessages } from "turnwright/middleware";
import { type ConversationStore, createConversation, memoryConversationStore } from "turnwright/conversation";
import type { PageMessage } from "../../src/web/read-user-message.ts";
import type { StartOptions } from "../../src/host/run-host.ts";
import { createMockProvider, fail, type MockPart, type MockScript, stall, text, toolCall, wait } from "turnwright/testing";
import { show } from "../conversation/stage.ts";
import { crashing, createStage, readAll, readStart, sharedStore, type Stage, textOf, tool } from "./stage.ts";

const say = (content: string, id: string, more: Partial<PageMessage> = {}): PageMessage => ({
  role: "user",
  content,
  id,
  ...more,
});

function open(
  script: MockScript,
  store?: ConversationStore,
): Stage & {
  start(message: PageMessage, more?: Partial<StartOptions>): ReturnType<Stage["host"]["start"]>;
  readonly paid: string[];
  readonly options: Pick<StartOptions, "provider" | "tools" | "clock">;
  shown(): Promise<readonly string[]>;
} {
  const stage = createStage(store === undefined ? {} : { store });
  const paid: string[] = [];
  const pay = tool("pay", (_args, { callId }) => `paid ${paid.push(callId)}`);
  const provider = createMockProvider(script);
  const options = { provider, tools: [pay], clock: stage.clock };
  return {
    ...stage,
    paid,
    options,
    start: (message, more = {}) => stage.host.start(stage.id, { ...options, ...more, message } as StartOptions),
    shown: async () => show((await stage.host.status(stage.id))?.messages ?? []),
  };
}

const paying: MockScript = ({ messages }) => (messages.at(-1)?.role === "user" ? toolCall("pay") : text("Paid."));
const echo: MockScript = ({ messages }) => {
  const last = messages.at(-1);
  return text(`About ${last?.role === "user" && typeof last.content === "string" ? last.content : "?"}.`);
};

/** Fails `failures` times after the call, and then answers. */
function breaking(failures: number, ...parts: readonly MockPart[]): MockScript {
  let left = failures;
  return ({ messages }) => {
    if (messages.at(-1)?.role === "user") return toolCall("pay");
    left -= 1;
    return left < 0 ? text("Paid.") : parts;
  };
}

describe("host.start() with a message that has already arrived", () => {
  it("returns the message's run with all its events, and does not repeat any tools", async () => {
    const stage = open(paying);
    await readStart(stage.start(say("Pay.", "m1")));
    const again = await stage.start(say("Pay.", "m1"));
    expect(again).toMatchObject({ kind: "started", repeated: true, runId: `${stage.id}/1` });
    expect(again.kind === "started" ? textOf(await readAll(again.join())) : "").toBe("Paid.");
    expect([await stage.shown(), stage.paid.length]).toEqual([
      ["user: Pay.", "model: pay()", "tool: pay completed", "model: Paid."],
      1,
    ]);
  });

  it("joins the live run instead of waiting for it or steering it", async () => {
    const stage = open(() => [wait(100), text("Yes.")]);
    for (const whenBusy of ["refuse", "steer", "queue"] as const) {
      const first = await stage.start(say("Hello.", whenBusy), { whenBusy: "queue" });
      const again = await stage.start(say("Hello.", whenBusy), { whenBusy });
      expect(again).toMatchObject({ kind: "started", repeated: true });
      await stage.clock.advance(1_000);
      await readStart(first);
    }
    expect((await stage.shown()).filter((line) => line.startsWith("user")).length).toBe(3);
  });

  it("creates one turn for two requests that arrive at the same time", async () => {
    const stage = open(paying);
    const both = await Promise.all([stage.start(say("Pay.", "m1")), stage.start(say("Pay.", "m1"))]);
    await Promise.all(both.map(readStart));
    expect([both.map(({ kind }) => kind), stage.paid.length]).toEqual([["started", "started"], 1]);
  });

  it("continues the run after a crash has interrupted it", async () => {
    const store = sharedStore();
    const dying = open(paying, crashing(store, 4));
    await dying.start(say("Pay.", "m1")).catch(() => {});
    await dying.host.close();
    const stage = createStage({ store });
    const provider = createMockProvider(paying);
    const tools = [tool("pay", () => "paid again", { replay: "safe" })];
    const answer = await stage.host.start(dying.id, { provider, tools, message: say("Pay.", "m1") });
    expect(answer).toMatchObject({ kind: "started", repeated: true, runId: `${dying.id}/1` });
    await readStart(answer);
    const lines = show((await stage.host.status(dying.id))?.messages ?? []);
    expect(lines.filter((line) => line.startsWith("user"))).toEqual(["user: Pay."]);
  });

  it("retries after a failed run, and keeps its calls' results", async () => {
    let requests = 0;
    const stage = open(({ messages }) => {
      requests += 1;
      if (messages.at(-1)?.role === "user") return toolCall("pay");
      return requests === 2 ? fail({ status: 401, message: "No key" }) : text("Paid.");
    });
    expect((await readStart(stage.start(say("Pay.", "m1")))).status).toBe("error");
    expect(await readStart(stage.start(say("Pay.", "m1")))).toMatchObject({ status: "completed", text: "Paid." });
    expect([stage.paid.length, (await stage.shown()).length]).toEqual([1, 4]);
  });

  it("retries after a second failure", async () => {
    const stage = open(breaking(2, fail({ status: 503, message: "Overloaded" })));
    for (const status of ["error", "error", "completed"])
      expect((await readStart(stage.start(say("Pay.", "m1")))).status).toBe(status);
    expect(stage.paid.length).toBe(1);
  });

  it("shows a suspended run again while its calls keep waiting", async () => {
    const middleware = [approve(() => ({ kind: "ask" as const }))];
    const stage = open(paying);
    await readStart(stage.start(say("Pay.", "m1"), { middleware }));
    const again = await stage.start(say("Pay.", "m1"), { middleware });
    expect(again).toMatchObject({ kind: "started", repeated: true });
    expect((await readStart(again)).reason).toMatchObject({ kind: "approval-required" });
    expect([(await stage.host.status(stage.id))?.status, stage.paid.length]).toEqual(["suspended", 0]);
  });

  it("changes nothing for a message from an earlier turn", async () => {
    const stage = open(echo);
    await readStart(stage.start(say("one", "m1")));
    await readStart(stage.start(say("two", "m2")));
    expect(await stage.start(say("one", "m1"))).toEqual({ kind: "repeated", runId: `${stage.id}/2` });
    expect((await stage.shown()).length).toBe(4);
  });

  it("changes nothing if the run's journal was removed", async () => {
    const store = sharedStore();
    const stage = open(echo, { ...store, journal: store.journal });
    await readStart(stage.start(say("one", "m1")));
    const empty = createStage({ store: { ...store, journal: sharedStore().journal } });
    const answer = await empty.host.start(stage.id, { provider: createMockProvider(echo), message: say("one", "m1") });
    expect(answer).toEqual({ kind: "repeated", runId: `${stage.id}/1` });
  });

  it("does not add a steered message a second time", async () => {
    const stage = open(({ messages }) => (messages.length > 1 ? text("Yes.") : [text("Hm."), wait(10)]));
    const first = await stage.start(say("one", "m1"));
    expect((await stage.start(say("faster", "s1"), { whenBusy: "steer" })).kind).toBe("steered");
    expect(await stage.start(say("faster", "s1"), { whenBusy: "steer" })).toMatchObject({ kind: "started", repeated: true });
    await stage.clock.advance(1_000);
    await readStart(first);
    expect((await stage.shown()).filter((line) => line.includes("faster")).length).toBe(1);
  });

  it.each<[title: string, message: PageMessage, kind: string]>([
    ["a message from an earlier turn", say("one", "m1"), "repeated"],
    ["a different message with the id of an earlier one", say("three", "m1"), "unknown-message"],
  ])("does not steer the live run with %s", async (_title, message, kind) => {
    const stage = open(() => [text("Hm."), wait(10)]);
    const first = await stage.start(say("one", "m1"));
    await stage.clock.advance(100);
    await readStart(first);
    await stage.start(say("two", "m2"));
    expect(await stage.start(message, { whenBusy: "steer" })).toMatchObject({ kind });
    await stage.clock.advance(100);
    expect((await stage.shown()).filter((line) => line.startsWith("user"))).toEqual(["user: one", "user: two"]);
  });

  it("adds the message again if it has no id", async () => {
    const stage = open(echo);
    for (let turn = 0; turn < 2; turn += 1) await readStart(stage.start({ role: "user", content: "yes" }));
    expect((await stage.shown()).length).toBe(4);
  });
});

describe("host.start() with a message that replaces another", () => {
  const history = async (stage: ReturnType<typeof open>) => {
    for (const [index, said] of ["cats", "dogs", "birds"].entries()) await readStart(stage.start(say(said, `m${index + 1}`)));
  };

  it.each<[title: string, message: PageMessage, expected: readonly string[]]>([
    ["edits the first message", say("fish", "m1", { edited: true }), ["user: fish", "model: About fish."]],
    [
      "edits a message in the middle",
      say("fish", "m2", { edited: true }),
      ["user: cats", "model: About cats.", "user: fish", "model: About fish."],
    ],
    ["answers the first message again", say("cats", "m1", { again: true }), ["user: cats", "model: About cats."]],
    [
      "answers a message again if the page shows it with different text",
      say("fish", "m2", { again: true }),
      ["user: cats", "model: About cats.", "user: fish", "model: About fish."],
    ],
    [
      "answers a message again if the page knows it by its position",
      say("dogs", "history-2", { again: true }),
      ["user: cats", "model: About cats.", "user: dogs", "model: About dogs."],
    ],
  ])("%s, and removes all later messages", async (_title, message, expected) => {
    const isPlaced = message.id === "history-2";
    const stage = open(echo);
    if (!isPlaced) await history(stage);
    else for (const said of ["cats", "dogs", "birds"]) await readStart(stage.start({ role: "user", content: said }));
    const answer = await stage.start(message);
    expect(answer).toMatchObject({ kind: "started", runId: `${stage.id}/4` });
    await readStart(answer);
    expect(await stage.shown()).toEqual(expected);
    expect((await stage.host.status(stage.id))?.turns.at(-1)).toMatchObject({ runId: `${stage.id}/4`, to: expected.length });
  });

  it("creates one turn for an edit that arrives twice", async () => {
    const stage = open(echo);
    await history(stage);
    await readStart(stage.start(say("fish", "m2", { edited: true })));
    expect(await stage.start(say("fish", "m2", { edited: true }))).toMatchObject({ repeated: true, runId: `${stage.id}/4` });
  });

  it("creates one turn if a request for a new answer arrives twice", async () => {
    const stage = open(echo);
    await history(stage);
    const again = say("birds", "m3", { again: `${stage.id}/3` });
    await readStart(stage.start(again));
    expect(await stage.start(again)).toMatchObject({ kind: "started", repeated: true, runId: `${stage.id}/4` });
  });

  it.each<[title: string, message: PageMessage]>([
    ["a new answer to a message that the conversation does not have", say("dogs", "other", { again: true })],
    ["an edit of a message that the conversation does not have", say("dogs", "other", { edited: true })],
    ["a different message with the id of an earlier one", say("fish", "m2")],
  ])('returns "unknown-message" for %s', async (_title, message) => {
    const stage = open(echo);
    await history(stage);
    const before = await stage.shown();
    expect(await stage.start(message)).toEqual({ kind: "unknown-message" });
    expect(await stage.shown()).toEqual(before);
  });

  it.each(["rules", "history-0"])("does not let a client edit a pinned message with the id %s", async (id) => {
    const stage = open(echo);
    const pinned: UserMessage = { role: "user", content: "Be polite.", pinned: true, ...(id === "rules" && { id }) };
    const messages: readonly Message[] = [pinned, { role: "user", content: "Hello." }];
    await readStart(stage.host.start(stage.id, { provider: createMockProvider(echo), messages }));
    expect(await stage.start(say("Be rude.", id, { edited: true }))).toEqual({ kind: "unknown-message" });
    expect((await stage.shown())[0]).toBe("user: Be polite.");
  });

  it("drops the summary and the handoff of removed messages", async () => {
    const { host, id, clock } = createStage();
    const started: unknown[] = [];
    const compaction: Compaction = {
      ...compactMessages({ when: 2_000, keep: 100 }),
      startWith: (found) => {
        started.push(found);
        return compactMessages({ when: 2_000, keep: 100 }).startWith(found);
      },
    };
    const middleware = [compaction];
    const long: MockScript = ({ purpose }) => text(purpose === "summary" ? "A summary." : "word ".repeat(1_000));
    for (const said of ["cats", "dogs", "birds", "fish"])
      await readStart(host.start(id, { provider: createMockProvider(long), clock, middleware, message: say(said, said) }));
    expect(started.at(-1)).toMatchObject({ summary: "A summary." });
    await readStart(
      host.start(id, { provider: createMockProvider(long), clock, middleware, message: say("cows", "cats", { edited: true }) }),
    );
    expect(started.at(-1)).toBeUndefined();
  });
});

describe("a request for a new answer after an error", () => {
  const overloaded = fail({ status: 503, message: "Overloaded" });

  it.each<[title: string, failures: number, parts: readonly MockPart[]]>([
    ["before its answer", 1, [overloaded]],
    ["during its answer", 1, [text("Pai"), overloaded]],
    ["twice", 2, [text("Pai"), overloaded]],
    ["because the key was wrong", 1, [fail({ status: 401, message: "No key" })]],
  ])("keeps the results of calls from a run that failed %s", async (_title, failures, parts) => {
    const stage = open(breaking(failures, ...parts));
    await readStart(stage.start(say("Pay.", "m1")));
    for (let run = 1; run <= failures; run += 1)
      await readStart(stage.start(say("Pay.", "m1", { again: run === 1 ? true : `${stage.id}/${run}` })));
    expect(stage.paid.length).toBe(1);
    expect((await stage.shown()).at(-1)).toBe("model: Paid.");
    expect((await stage.shown()).length).toBe(4);
  });

  it("creates only one turn if it arrives twice", async () => {
    const stage = open(breaking(1, overloaded));
    await readStart(stage.start(say("Pay.", "m1")));
    const again = say("Pay.", "m1", { again: `${stage.id}/1` });
    await readStart(stage.start(again));
    expect(await stage.start(again)).toMatchObject({ kind: "started", repeated: true, runId: `${stage.id}/2` });
    expect(stage.paid.length).toBe(1);
  });

  it.each<[title: string, parts: readonly MockPart[], more: Partial<PageMessage>]>([
    ["if the service refuses the transcript", [fail({ status: 400, message: "Bad request" })], { again: true }],
    ["if the last run has answered", [text("Paid.")], { again: true }],
    ["if the user has edited the question", [overloaded], { edited: true, content: "Pay it." }],
  ])("starts again from the question %s", async (_title, parts, more) => {
    const stage = open(breaking(1, ...parts));
    await readStart(stage.start(say("Pay.", "m1")));
    await readStart(stage.start(say("Pay.", "m1", more)));
    expect(stage.paid.length).toBe(2);
  });
});

describe("host.resume() with decisions that have already arrived", () => {
  const middleware = [approve(() => ({ kind: "ask" as const }))];

  it("retries a failed run without repeating a call", async () => {
    const stage = open(breaking(1, text("Pai"), fail({ status: 503, message: "Overloaded" })));
    const { reason } = await readStart(stage.start(say("Pay.", "m1"), { middleware }));
    const [call] = "calls" in reason ? reason.calls : [];
    const provider = createMockProvider(breaking(0));
    const approve = (id = ""): ReturnType<Stage["host"]["resume"]> =>
      stage.host.resume(stage.id, { ...stage.options, middleware, answers: { [id]: { kind: "approve" } } });
    const readResume = async (): Promise<LoopResult | undefined> => {
      const answer = await approve(call?.id);
      return answer.kind === "started" ? answer.result : undefined;
    };
    expect((await readResume())?.status).toBe("error");
    expect(await stage.host.resume(stage.id, { ...stage.options, provider, middleware })).toMatchObject({
      kind: "not-resumable",
    });
    expect(await approve("call_i7_0")).toMatchObject({ kind: "not-resumable", status: "error" });
    expect(await readResume()).toMatchObject({ status: "completed", text: "Paid." });
    expect(await approve(call?.id)).toMatchObject({ kind: "not-resumable", status: "completed" });
    expect(stage.paid.length).toBe(1);
  });
});

describe("a start after a stop", () => {
  it.each<[title: string, script: MockScript]>([
    ["a model that stalls", () => [text("Hm."), stall()]],
    ["a tool that cleans up", () => toolCall("work")],
  ])("waits until the stopped run has ended, with %s", async (_title, script) => {
    const { host, id, clock } = createStage();
    const work = tool(
      "work",
      (_args, { signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => clock.setTimeout(() => resolve("clean"), 300))),
    );
    const first = await host.start(id, { provider: createMockProvider(script), tools: [work], clock, message: "Work." });
    await clock.advance(50);
    expect(host.stop(id)).toBe("accepted");
    const next = host.start(id, { provider: createMockProvider(echo), clock, message: "What time is it?" });
    await clock.advance(1_000);
    expect([(await readStart(first)).status, (await readStart(next)).status]).toEqual(["stopped-by-user", "completed"]);
  });
});

describe("conversation.send() with a message that has already arrived", () => {
  it("answers an unanswered message once, and refuses an answered one", async () => {
    let requests = 0;
    const provider = createMockProvider(() => ((requests += 1) === 1 ? fail({ status: 401, message: "No key" }) : text("Yes.")));
    const conversation = createConversation({ id: "twice", store: memoryConversationStore(), options: { provider } });
    const message = { role: "user", content: "Is it on?", id: "m1" } as const;
    await conversation.send(message);
    await conversation.send(message);
    expect(show(await conversation.messages())).toEqual(["user: Is it on?", "model: Yes."]);
    await expect(conversation.send(message)).rejects.toMatchObject({ code: "conversation-refused" });
    expect(requests).toBe(2);
  });
});

it("host.start() refuses a message whose id is not a string", async () => {
  const { host, id } = createStage();
  const message = { role: "user", content: "Hi", id: 7 } as never;
  const start = host.start(id, { provider: createMockProvider(echo), message });
  await expect(start).rejects.toMatchObject({ code: "invalid-option" });
});
