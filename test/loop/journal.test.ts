import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  finalAnswer,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Message,
  onIteration,
  prepareIteration,
  runToolLoop,
  type Tool,
} from "turnwright";
import {
  createMockProvider,
  createTestClock,
  finish,
  type MockProvider,
  type MockMessage,
  reasoning,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import { Crash, createDurableStore, type DurableStore, type Fate } from "./durable-store.ts";
import { answersOf, tool } from "./play.ts";

const messages: readonly Message[] = [{ role: "user", content: "Go." }];

const turns: readonly MockMessage[] = [
  [
    reasoning("Hm."),
    text("Working. "),
    toolCall("slow", { n: 1 }),
    toolCall("quick", { n: 2 }),
    toolCall("broken"),
    toolCall("alone", { n: 3 }),
    usage({ inputTokens: 3, outputTokens: 9 }),
  ],
  [toolCall("quick", { n: 4 }), toolCall("nope"), usage({ inputTokens: 5, outputTokens: 2 })],
  [text("Done."), usage({ inputTokens: 8, outputTokens: 1 })],
];

const provider = (): MockProvider => createMockProvider(({ iteration }) => turns[iteration]);

interface Process {
  readonly result: LoopResult | Crash;
  readonly ran: readonly string[];
}

async function live(store: DurableStore, fate: Fate, traits: Partial<Tool>): Promise<Process> {
  const clock = createTestClock();
  const ran: string[] = [];
  const note = (context: { readonly idempotencyKey: string }): void => void ran.push(context.idempotencyKey);
  const tools = [
    tool(
      "slow",
      (args, context) => (note(context), new Promise((resolve) => void clock.setTimeout(() => resolve(args), 100))),
      traits,
    ),
    tool("quick", (args, context) => (note(context), args), traits),
    tool("broken", (_, context) => (note(context), Promise.reject(new Error("out of order"))), traits),
    tool("alone", (args, context) => (note(context), args), { ...traits, sequential: true }),
  ];
  const running = runToolLoop({ provider: provider(), messages, tools, clock, runId: "r", journal: store.open(fate) });
  const ended = running.catch((error: unknown) => {
    if (error instanceof Crash) return error;
    throw error;
  });
  await clock.runAll();
  const result = await ended;
  expect(clock.pending).toBe(0);
  return { result, ran };
}

const said = ({ result }: Process): unknown =>
  result instanceof Crash
    ? result
    : {
        text: result.text,
        reason: result.reason,
        messages: result.messages,
        history: result.functionHistory.map((entry) => [entry.functionCall, entry.outcome]),
        usage: result.usage,
      };

describe("journal keys", () => {
  it("contain each step's iteration, kind and position", async () => {
    const store = createDurableStore();
    const tools = [tool("a", () => 1), tool("b", () => contextRestart({ type: "context_restart_x" }), { sequential: true })];
    const script: readonly MockMessage[] = [
      [toolCall("a"), toolCall("b"), toolCall("nope"), toolCall("a")],
      [text("One "), finish("paused")],
      [text("two"), finish("continue")],
      [toolCall("a")],
      text("Short."),
    ];
    const options: LoopOptions = {
      provider: createMockProvider(script),
      messages,
      tools,
      runId: "r",
      limits: { maxIterations: 2 },
      middleware: [
        onIteration(() => undefined),
        prepareIteration(() => ({})),
        finalAnswer(),
        approve(() => ({ kind: "approve" })),
      ],
    };
    await runToolLoop({ ...options, journal: store.open() });
    expect([...store.records.keys()].join("\n")).toMatchInlineSnapshot(`
      "run
      begin
      i0/request/@prepare-iteration/plan
      i0/request/model
      i0/call/0/a/@approve/decision
      i0/call/1/b/@approve/decision
      i0/call/3/a/@approve/decision
      i0/call/0/a/begun
      i0/call/0/a/outcome
      i0/call/1/b/begun
      i0/call/1/b/outcome
      i0/call/3/a/begun
      i0/call/3/a/outcome
      i0/after/@on-iteration/said
      i0/next
      i1/request/@prepare-iteration/plan
      i1/request/model
      i1/request~2/@prepare-iteration/plan
      i1/request~2/model
      i1/request~3/@prepare-iteration/plan
      i1/request~3/model
      i1/call/0/a/@approve/decision
      i1/call/0/a/begun
      i1/call/0/a/outcome
      i1/after/@on-iteration/said
      i1/next
      i1/end/ended
      i2/request/@prepare-iteration/plan
      i2/request/model
      i2/request/ended
      i2/answered"
    `);
    const again = await runToolLoop({ ...options, provider: createMockProvider(script) });
    const inMemory = memoryJournal(JSON.parse(JSON.stringify(again.journal))).keys();
    expect([...store.records.keys()].filter((key) => !key.endsWith("/begun")).sort()).toEqual([...inMemory].sort());
  });

  it("are used once each, and in the same order on replay", async () => {
    const store = createDurableStore();
    await live(store, {}, {});
    const first = store.asked.splice(0);
    await live(store, {}, {});
    expect(store.asked).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });
});

const undisturbed = createDurableStore();
const whole = await live(undisturbed, {}, {});
const boundaries = [...undisturbed.records.keys()].map((key, index) => [index + 1, key] as const);

function isStepOf(callId: string, key: string): boolean {
  const [, place = "", index = ""] = /^call_i(\d+)_(\d+)$/.exec(callId) ?? [];
  return key.startsWith(`i${place}/call/${index}/`);
}

describe("a crashed run", () => {
  it.for(boundaries)("resumes after record %d (%s) without running a recorded tool again", async ([afterRecords, key]) => {
    const broken = createDurableStore();
    const first = await live(broken, { afterRecords }, { replay: "safe" });
    const isRecorded = new Set(broken.records.keys());
    const second = await live(broken, {}, { replay: "safe" });
    expect(said(second)).toEqual(said(whole));
    expect([first.result instanceof Crash, [...isRecorded].at(-1)]).toEqual([true, key]);
    const twice = first.ran.filter((step) => second.ran.includes(step));
    expect(twice.filter((step) => isRecorded.has(`${step.slice("r/".length)}/outcome`))).toEqual([]);
    expect([...new Set([...first.ran, ...second.ran])].sort()).toEqual([...whole.ran].sort());
    expect(said(await live(broken, {}, {}))).toEqual(said(whole));
  });

  it.for(boundaries)("resumes after record %d (%s) without running a started tool again", async ([afterRecords]) => {
    const broken = createDurableStore();
    const first = await live(broken, { afterRecords }, {});
    const intended = [...broken.records.keys()]
      .filter((key) => key.endsWith("/begun"))
      .map((key) => key.slice(0, -"/begun".length));
    const unknown = intended.filter((key) => !broken.records.has(`${key}/outcome`));
    const second = await live(broken, {}, {});
    expect(second.ran.filter((step) => first.ran.includes(step) || intended.includes(step.slice("r/".length)))).toEqual([]);
    if (second.result instanceof Crash || whole.result instanceof Crash) throw new Error("Nothing crashes any more.");
    const wholeAnswers = answersOf(whole.result);
    expect(
      answersOf(second.result).map((part) => (part.outcome === "interrupted" ? `interrupted ${part.callId}` : part)),
    ).toEqual(
      wholeAnswers.map((part) => (unknown.some((key) => isStepOf(part.callId, key)) ? `interrupted ${part.callId}` : part)),
    );
  });

  it("reports a tool that the crash interrupted as interrupted", async () => {
    const broken = createDurableStore();
    const first = await live(broken, { within: "i1/call/0/quick/outcome" }, {});
    expect(first.ran).toContain("r/i1/call/0/quick");
    const second = await live(broken, {}, {});
    if (second.result instanceof Crash) throw second.result;
    const answer = answersOf(second.result).find((part) => part.callId === "call_i1_0");
    expect(answer).toEqual({
      callId: "call_i1_0",
      name: "quick",
      outcome: "interrupted",
      result: { status: "interrupted", reason: "the call was cut off before it ended, so it may have run", tool_name: "quick" },
    });
    expect([second.ran, second.result.reason.kind, second.result.toolCallsExecuted]).toEqual([[], "answered", 5]);
  });

  it('runs an interrupted tool again, with the same idempotency key, if the tool has replay: "safe"', async () => {
    const broken = createDurableStore();
    const first = await live(broken, { within: "i1/call/0/quick/outcome" }, { replay: "safe" });
    const second = await live(broken, {}, { replay: "safe" });
    expect([first.ran.at(-1), second.ran]).toEqual(["r/i1/call/0/quick", ["r/i1/call/0/quick"]]);
    expect(said(second)).toEqual(said(whole));
  });

  it("ends like an uninterrupted run after a crash at each record in turn", async () => {
    const broken = createDurableStore();
    const ran: string[] = [];
    for (let process = 0; process < 50; process += 1) {
      const { result, ran: here } = await live(broken, { afterRecords: 1 }, { replay: "safe" });
      ran.push(...here);
      if (!(result instanceof Crash)) break;
    }
    expect(said(await live(broken, {}, {}))).toEqual(said(whole));
    expect(new Set(ran)).toEqual(new Set(whole.ran));
  });
});
