// Calls that wait, and what answers to them, changed tools and limits do.

import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  ask,
  createLoopControl,
  defer,
  defineAgentTool,
  defineTool,
  type Journal,
  type LoopResult,
  runNested,
  type Tool,
  type ToolContext,
} from "turnwright";
import type { Middleware } from "../../src/core/types/middleware.ts";
import {
  createMockProvider,
  createTestClock,
  type MockMessage,
  type MockProvider,
  recordEvents,
  text,
  toolCall,
} from "turnwright/testing";
import { approve } from "../../src/core/middleware/approve.ts";
import { recordSteps } from "../../src/core/loop/journals.ts";
import { runToolLoop } from "../../src/core/loop/run-tool-loop.ts";
import type { SeamOptions } from "../../src/core/loop/run.ts";
import { waitsOf } from "../../src/core/loop/durability/waiting-calls.ts";

const messages = [{ role: "user", content: "Go." }] as const;
const inputSchema = { type: "object" } as const;
const never = new Promise<never>(() => {});

function tool(name: string, execute: (args: unknown, context: ToolContext) => unknown, traits: object = {}): Tool {
  return { name, description: name, inputSchema, execute, ...traits };
}

function scripted(...turns: readonly MockMessage[]): MockProvider {
  return createMockProvider(
    ({ messages: all }) => turns[all.filter(({ role }) => role === "assistant").length] ?? [text("Done.")],
  );
}

function setUp(tools: readonly Tool[], calls: MockMessage) {
  const records = new Map<string, unknown>();
  const journal = recordSteps(records);
  const provider = scripted(calls);
  const run = (more: Partial<SeamOptions> = {}): Promise<LoopResult> =>
    runToolLoop({ provider, tools, messages, journal, runId: "r", ...more });
  return { journal, records, provider, run };
}

const outcomesOf = ({ messages: all }: LoopResult): readonly (string | undefined)[] =>
  all.flatMap((message) => (message.role === "tool" ? message.results.map(({ outcome }) => outcome) : []));

describe("the `answers` option", () => {
  const later = defineTool({
    name: "later",
    description: "Takes days",
    inputSchema: z.object({}),
    outputSchema: z.object({ made: z.number() }),
    execute: () => defer(),
  });
  const ran: string[] = [];
  const pay = tool("pay", () => ran.push("pay"), { needsApproval: true });
  const permit = tool("permit", (_, context) => context.wait("permission", null, { schema: z.object({ by: z.string() }) }), {
    durable: true,
  });
  const yes = { kind: "approve" } as const;
  const ofPage = { kind: "result", result: { made: 1 } } as const;

  it.for<[what: string, answers: NonNullable<SeamOptions["answers"]>, code: string, details: object]>([
    ["an unknown id", { call_9: yes }, "unknown-decision", { call: "call_9", waiting: ["call_i0_0", "call_i0_1"] }],
    ["a result for an approval", { call_i0_0: { kind: "result", result: 1 } }, "invalid-decision", { waitsFor: "approval" }],
    ["an approval for a result", { call_i0_1: yes }, "invalid-decision", { waitsFor: "result", problem: 'is "approve"' }],
    [
      "a result that does not match its schema",
      { call_i0_1: { kind: "result", result: {} } },
      "invalid-decision",
      { call: "call_i0_1" },
    ],
    ["a decision of an unknown kind", { call_i0_0: { kind: "maybe" } }, "invalid-decision", { problem: 'is "maybe"' }],
    ['fromPage: "true" instead of true', { call_i0_1: { ...ofPage, fromPage: "true" } }, "invalid-option", {}],
    ["an answer that does not match the schema of a wait", { call_i0_2: { by: 1 } }, "invalid-decision", { waitsFor: "answer" }],
    ["a result from a page", { call_i0_1: { ...ofPage, fromPage: true } }, "invalid-decision", {}],
  ])("is refused before anything runs or is recorded if it has %s", async ([, answers, code, details]) => {
    const { journal, run } = setUp([pay, later, permit], [toolCall("pay"), toolCall("later"), toolCall("permit")]);
    await run();
    const before = [...journal.keys()];
    await expect(run({ answers: { call_i0_0: yes, ...answers } })).rejects.toMatchObject({ code, details });
    expect([[...journal.keys()], ran]).toEqual([before, []]);
  });

  it("is refused for a nested call if the result does not match the tool's schema, even if a tool catches the error", async () => {
    const inner = { messages, provider: scripted([toolCall("later")]), tools: [later] };
    const team = tool(
      "team",
      async (_, context) =>
        runNested(context, inner).then(
          ({ text: said }) => said,
          () => "caught",
        ),
      { durable: true },
    );
    const { journal, run } = setUp([team], [toolCall("team")]);
    expect(waitsOf(await run()).map(({ id }) => id)).toEqual(["call_i0_0/call_i0_0"]);
    const answers = { "call_i0_0/call_i0_0": { kind: "result", result: "none" } } as const;
    const before = [...journal.keys()];
    await expect(run({ answers })).rejects.toMatchObject({ code: "invalid-decision" });
    expect([...journal.keys()]).toEqual(before);
    const fits = { "call_i0_0/call_i0_0": { kind: "result", result: { made: 1 } } } as const;
    expect((await run({ answers: fits })).messages.at(-2)).toMatchObject({ results: [{ result: "Done." }] });
  });

  it("may repeat an answer that was already used, but is refused if the repeated answer differs", async () => {
    const { run } = setUp([later], [toolCall("later")]);
    const answers = { call_i0_0: { kind: "result", result: { made: 1 } } } as const;
    await run();
    for (let times = 0; times < 2; times += 1) expect((await run({ answers })).text).toBe("Done.");
    const other = { call_i0_0: { kind: "result", result: { made: 2 } } } as const;
    await expect(run({ answers: other })).rejects.toMatchObject({ code: "unknown-decision" });
  });

  it("is refused for a call that was still waiting when its run was stopped", async () => {
    const control = createLoopControl();
    const { run } = setUp([pay, tool("stop", () => control.stop())], [toolCall("pay"), toolCall("stop")]);
    expect(outcomesOf(await run({ control }))).toEqual(["not-run", "interrupted"]);
    await expect(run({ answers: { call_i0_0: yes } })).rejects.toMatchObject({ code: "unknown-decision" });
    expect(ran).toEqual([]);
  });
});

describe("a tool that changes while its run is suspended", () => {
  const ran: string[] = [];
  const make = (description: string, traits: object = {}): Tool =>
    tool("pay", () => void ran.push(description), { description, ...traits });
  const asks = { middleware: [approve(() => ({ kind: "ask" }))] };
  const stricter = { inputSchema: { type: "object", required: ["to"] } };

  it("waits for approval again under a different id, and ignores an approval of the old version", async () => {
    ran.length = 0;
    const { run } = setUp([make("old")], [toolCall("pay")]);
    await run(asks);
    const changed = { ...asks, tools: [make("new")] };
    const yes = { kind: "approve" } as const;
    const second = await run({ ...changed, answers: { call_i0_0: yes } });
    const facts = { tool: { description: "new" } };
    const toolChanges = [{ toolName: "pay", kind: "description-changed" }];
    expect(waitsOf(second)).toMatchObject([{ id: "call_i0_0~2", facts, toolChanges }]);
    expect((await run({ ...changed, answers: { call_i0_0: yes } })).status).toBe("suspended");
    expect([(await run({ ...changed, answers: { "call_i0_0~2": yes } })).text, ran]).toEqual(["Done.", ["new"]]);
    // A call that has run is not asked about again.
    expect((await run({ ...asks, tools: [make("newest")] })).text).toBe("Done.");
  });

  it("still needs approval even if its new version or the middleware no longer requires approval", async () => {
    ran.length = 0;
    const { run } = setUp([make("pay", { needsApproval: true })], [toolCall("pay")]);
    await run();
    expect([(await run({ tools: [make("pay")] })).status, ran]).toEqual(["suspended", []]);
    const asked = setUp([make("pay")], [toolCall("pay")]);
    await asked.run(asks);
    expect([(await asked.run({ middleware: [approve()] })).status, ran]).toEqual(["suspended", []]);
  });

  it("makes the run reject if an unfinished call no longer matches the tool's schema, unless allowToolChange allows the change", async () => {
    ran.length = 0;
    const { journal, records, run } = setUp([make("pay")], [toolCall("pay")]);
    await run();
    for (const key of journal.keys()) if (/outcome|next|i1/.test(key)) records.delete(key);
    ran.length = 0;
    const tools = [make("pay", stricter)];
    await expect(run({ tools })).rejects.toMatchObject({ code: "tools-changed", details: { changed: ["pay"] } });
    await expect(run({ tools: [] })).rejects.toMatchObject({ details: { changes: [{ kind: "removed" }] } });
    expect([(await run({ tools, allowToolChange: () => true })).text, ran]).toEqual(["Done.", ["pay"]]);
  });
});

describe("a message's calls", () => {
  it("count toward limits.maxToolCalls together, even if they start at the same time", async () => {
    const ran: unknown[] = [];
    const work = tool("work", (_, { callId }) => ran.push(callId));
    const { run } = setUp([work], [toolCall("work"), toolCall("work"), toolCall("work")]);
    expect([outcomesOf(await run({ limits: { maxToolCalls: 2 } })), ran.length]).toEqual([
      ["completed", "completed", "limit"],
      2,
    ]);
  });

  it.each([
    { calls: ["held", "first", "slow"], maxToolCalls: 2, outcomes: ["completed", "completed", "limit"] },
    { calls: ["slow", "first", "held"], maxToolCalls: 3, outcomes: ["completed", "completed", "completed"] },
  ])("count toward limits.maxToolCalls in message order even while middleware delays one of them: $calls", async (row) => {
    let release = (): void => {};
    const firstEnded = new Promise<void>((resolve) => (release = resolve));
    const hold: Middleware = {
      name: "hold",
      async call(call, next) {
        if (call.name === "held") await firstEnded;
        const outcome = await next(call);
        if (call.name === "first") release();
        return outcome;
      },
    };
    let heldRan = (): void => {};
    const heldEnded = new Promise<void>((resolve) => (heldRan = resolve));
    const tools = [tool("held", () => heldRan()), tool("first", () => 1), tool("slow", () => heldEnded)];
    const calls = row.calls.map((name) => toolCall(name));
    const { run } = setUp(tools, calls);
    const result = await run({ middleware: [hold], limits: { maxToolCalls: row.maxToolCalls } });
    expect(outcomesOf(result)).toEqual(row.outcomes);
  });

  it("never start before an earlier sequential call, even if a waiting call delays it", async () => {
    const ran: string[] = [];
    const note = (name: string, traits: object = {}): Tool => tool(name, () => void ran.push(name), traits);
    const tools = [note("ask", { needsApproval: true }), note("look"), note("alone", { sequential: true }), note("last")];
    const { run } = setUp(
      tools,
      ["ask", "look", "alone", "last"].map((name) => toolCall(name)),
    );
    await run();
    expect(ran).toEqual(["look"]);
    await run({ answers: { call_i0_0: { kind: "approve" } } });
    expect(ran).toEqual(["look", "ask", "alone", "last"]);
  });

  it("count as executed only if their tools have started", async () => {
    const tools = [tool("ask", () => 1, { needsApproval: true }), tool("later", () => defer())];
    const { run } = setUp(tools, [toolCall("ask"), toolCall("later")]);
    expect((await run()).toolCallsExecuted).toBe(1);
  });
});

describe("ask", () => {
  const schema = z.object({ city: z.string().refine((city) => city !== "Atlantis", "there is no such city") });
  const book = tool("book", async (_, context) => ask(context, { question: "Which city?", schema } as never), { durable: true });

  it("repeats the question with the validation issues if an answer breaks a rule of the schema", async () => {
    const { run } = setUp([book], [toolCall("book")]);
    await run();
    const answerWith = (city: string): object => ({ kind: "result", result: { city } });
    const second = await run({ answers: { call_i0_0: answerWith("Atlantis") } as never });
    expect(waitsOf(second)).toMatchObject([{ id: "call_i0_0#2", facts: { question: { issues: [{ path: ["city"] }] } } }]);
    const third = await run({ answers: { "call_i0_0#2": answerWith("Oslo") } as never });
    expect(third.messages.at(-2)).toMatchObject({ results: [{ result: { city: "Oslo" } }] });
  });

  it("with wait: true, takes the answer from control.answer(), and keeps the answer in a resumed run", async () => {
    const control = createLoopControl();
    const { emitter } = recordEvents();
    emitter.on("question-asked", ({ id }) => void control.answer(id, { kind: "result", result: "Oslo" }));
    const live = tool("live", async (_, context) => ask(context, { question: "Which city?", wait: true }), { durable: true });
    const { run } = setUp([live], [toolCall("live")]);
    const first = await run({ control, events: emitter });
    expect(first.messages.at(-2)).toMatchObject({ results: [{ result: "Oslo" }] });
    expect((await run()).messages).toEqual(first.messages);
  });
});

describe("an agent tool", () => {
  const agent = (fields: object = {}): Tool =>
    defineAgentTool({
      name: "agent",
      description: "agent",
      inputSchema,
      prepare: () => ({ messages, provider: createMockProvider([text("Inside.")]) }),
      ...fields,
    });

  it("returns its nested run's text, and with emitText also streams it to the user", async () => {
    const { emitter, of } = recordEvents();
    const { run } = setUp([agent({ emitText: true })], [toolCall("agent")]);
    const first = await run({ events: emitter });
    expect(first.messages.at(-2)).toMatchObject({ results: [{ result: "Inside." }] });
    expect(of("tool-emit").map(({ part }) => part)).toEqual([{ type: "text", text: "Inside." }]);
    const again = recordEvents();
    expect((await run({ events: again.emitter })).messages).toEqual(first.messages);
    expect(again.of("tool-emit")).toEqual([]);
  });

  it.for<[what: string, outcome: string, fields: object]>([
    ["prepare does not return an object", "failed", { prepare: () => 5 }],
    ["prepare never settles", "failed", { prepare: () => never }],
    ["toResult never settles", "timed-out", { toResult: () => never }],
  ])("ends its call if %s", async ([, outcome, fields]) => {
    const clock = createTestClock();
    const { run } = setUp([agent(fields)], [toolCall("agent")]);
    const running = run({ clock, timeouts: { callbackMs: 50, toolMs: 60 } });
    await clock.runAll();
    expect([outcomesOf(await running), clock.pending, clock.now() <= 60]).toEqual([[outcome], 0, true]);
  });

  it("keeps waiting if its resumed run is stopped before doing anything", async () => {
    const pay = tool("pay", () => "paid", { needsApproval: true });
    const prepare = (): object => ({ messages, provider: scripted([toolCall("pay")]), tools: [pay] });
    const { journal, run } = setUp([agent({ prepare })], [toolCall("agent")]);
    await run();
    const before = [...journal.keys()];
    const control = createLoopControl();
    control.stop();
    expect([(await run({ control })).reason.kind, [...journal.keys()]]).toEqual(["stopped", before]);
    expect((await run({ answers: { "call_i0_0/call_i0_0": { kind: "approve" } } })).text).toBe("Done.");
  });

  it("returns a stopped nested run's undelivered messages, even in a replay", async () => {
    const control = createLoopControl();
    control.steer("Hurry.");
    control.stop();
    const prepare = (): object => ({ messages, control, provider: createMockProvider([text("Inside.")]) });
    const { run } = setUp([agent({ prepare })], [toolCall("agent")]);
    const undelivered = [{ role: "user", content: "Hurry." }];
    expect((await run()).undelivered).toEqual(undelivered);
    expect((await run()).undelivered).toEqual(undelivered);
  });
});

it("an idempotent tool is retried, and its outcome is recorded once", async () => {
  let tries = 0;
  const flaky = tool(
    "flaky",
    () => {
      tries += 1;
      if (tries < 3) throw new Error("out of order");
      return tries;
    },
    { idempotent: true, retry: { maxAttempts: 3 } },
  );
  const { run } = setUp([flaky], [toolCall("flaky")]);
  expect([outcomesOf(await run()), outcomesOf(await run()), tries]).toEqual([["completed"], ["completed"], 3]);
});

it("a call interrupted by a journal failure leaves no outcome", async () => {
  const clock = createTestClock();
  const { journal: inner, provider } = setUp([], [toolCall("slow"), toolCall("quick")]);
  const journal: Journal = {
    durable: true,
    read: (key) => inner.read(key),
    step: (key, body) => (key.endsWith("quick/outcome") ? Promise.reject(new Error("The disk is full.")) : inner.step(key, body)),
  };
  const tools = [tool("slow", () => never), tool("quick", () => 1)];
  await expect(runToolLoop({ provider, tools, messages, journal, clock, runId: "r" })).rejects.toThrow("The disk is full.");
  await clock.runAll();
  expect([...inner.keys()].filter((key) => key.includes("slow"))).toEqual(["i0/call/0/slow/begun"]);
});
