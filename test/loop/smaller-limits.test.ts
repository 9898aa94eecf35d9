import { describe, expect, it } from "vitest";
import {
  finalAnswer,
  type Journal,
  type LoopLimits,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  runToolLoop,
  structuredOutput,
} from "turnwright";
import { replayJournal } from "turnwright/journal";
import { createMockProvider, createTestClock, type MockMessage, text, toolCall, usage, wait } from "turnwright/testing";
import { z } from "zod";
import { createDurableStore } from "./durable-store.ts";
import { tool } from "./play.ts";

const spent = usage({ inputTokens: 100, outputTokens: 100 });
const messages = [{ role: "user", content: "Go." }] as const;
const look = tool("look", () => "found");
const breaks = tool("breaks", () => Promise.reject(new Error("no")));
const more: Partial<LoopOptions> = { tools: [look, breaks], pricing: () => 1, runId: "r" };

const calls = (name: string): MockMessage[] => [0, 1, 2].map((n) => [wait(1_000), toolCall(name, { n }), spent]);
const turns = [...calls("look"), [wait(1_000), text("Done."), spent]];

interface Recorded {
  readonly result: LoopResult;
  open(): Journal;
}

async function record(script: readonly MockMessage[], options: Partial<LoopOptions> = {}): Promise<Recorded> {
  const clock = createTestClock();
  const store = createDurableStore();
  const provider = createMockProvider([...script]);
  const running = runToolLoop({ ...more, provider, messages, clock, journal: store.open(), ...options });
  await clock.runAll();
  return { result: await running, open: () => ({ ...store.open() }) };
}

/** Resumes with a provider that has no answers, so that a new request would fail. */
async function resume({ open }: Recorded, options: Partial<LoopOptions>): Promise<LoopResult> {
  const clock = createTestClock();
  const provider = createMockProvider([]);
  const running = runToolLoop({ ...more, provider, messages, clock, journal: open(), ...options });
  await clock.runAll();
  expect(provider.calls).toBe(0);
  return running;
}

const smaller: readonly LoopLimits[] = [
  { maxIterations: 1 },
  { maxIterations: 3 },
  { maxTokens: 250 },
  { maxCostUSD: 1.5 },
  { wallClockMs: 1_500 },
  { maxToolCalls: 1 },
  { maxIterations: 2, maxTokens: 1, maxCostUSD: 0, wallClockMs: 1 },
];

describe("a run that is resumed with smaller limits", () => {
  it.each(smaller)("ends with the recorded answer: %j", async (limits) => {
    const recorded = await record(turns);
    const again = await resume(recorded, { limits });
    const { status, reason, text: answer, messages: all } = recorded.result;
    expect([again.status, again.reason, again.text, again.messages]).toEqual([status, reason, answer, all]);
    expect(reason.kind).toBe("answered");
  });

  it.each(smaller)("ends with the recorded answer in a replay with finalAnswer: %j", async (limits) => {
    const recorded = await record(turns, { middleware: [finalAnswer()] });
    const open = (): Journal => replayJournal(recorded.open());
    const { reason } = await resume({ ...recorded, open }, { limits, middleware: [finalAnswer()] });
    expect(reason.kind).toBe("answered");
  });

  it.each([{ maxConsecutiveToolErrors: 1 }, { maxConsecutiveToolErrors: 2 }])(
    "does not apply %j to recorded tool errors",
    async (limits) => {
      const recorded = await record([...calls("breaks"), text("Done.")], { limits: { maxConsecutiveToolErrors: 4 } });
      expect((await resume(recorded, { limits })).reason.kind).toBe("answered");
    },
  );

  it("reports the limit that ended the recorded run, with its original value", async () => {
    const recorded = await record(turns, { limits: { maxIterations: 3 } });
    expect(recorded.result.reason).toEqual({ kind: "max-iterations", limit: 3 });
    expect((await resume(recorded, { limits: { maxIterations: 2 } })).reason).toEqual({ kind: "max-iterations", limit: 3 });
  });

  it("ends with the recorded final answer", async () => {
    const options: Partial<LoopOptions> = { limits: { maxIterations: 2 }, middleware: [finalAnswer()] };
    const recorded = await record([...calls("look").slice(0, 2), text("So far.")], options);
    const again = await resume(recorded, { ...options, limits: { maxIterations: 1 } });
    expect([again.reason, again.text, again.finalAnswer]).toEqual([{ kind: "max-iterations", limit: 2 }, "So far.", true]);
  });

  it("ends with the recorded output even if maxRetries is smaller", async () => {
    const recorded = async (journal: Journal, maxRetries: number, script: readonly MockMessage[]): Promise<unknown> => {
      const schema = z.object({ n: z.number() });
      const provider = createMockProvider([...script]);
      return (
        await runToolLoop({
          provider,
          messages,
          journal,
          middleware: [structuredOutput(schema, { maxRetries })],
          runId: "r",
        })
      ).output;
    };
    const journal = memoryJournal();
    expect(await recorded(journal, 2, [text("x"), text("y"), text('{"n":1}')])).toEqual({ n: 1 });
    const saved = memoryJournal(JSON.parse(JSON.stringify(journal)) as never);
    expect(await recorded(saved, 0, [])).toEqual({ n: 1 });
  });

  it("ends like the latest execution if an earlier one ended at a limit", async () => {
    const journal = memoryJournal();
    const run = async (maxIterations: number, script: readonly MockMessage[] = []): Promise<string> => {
      const provider = createMockProvider([...script]);
      const { reason } = await runToolLoop({ ...more, provider, messages, journal, limits: { maxIterations } });
      return reason.kind;
    };
    const [first, second] = [toolCall("look"), toolCall("look", { n: 1 })];
    expect(await run(1, [first])).toBe("max-iterations");
    expect(await run(9, [second, text("Done.")])).toBe("answered");
    expect([await run(1), await run(2), await run(9)]).toEqual(["answered", "answered", "answered"]);
  });

  it("applies the limit to the first new step", async () => {
    const store = createDurableStore();
    const clock = createTestClock();
    const first = runToolLoop({
      ...more,
      provider: createMockProvider([...turns]),
      messages,
      clock,
      journal: store.open({ after: "i1/call/0/look/outcome" }),
    });
    await Promise.allSettled([clock.runAll(), first]);
    const provider = createMockProvider([text("Too late.")]);
    const journal = store.open();
    const again = await runToolLoop({ ...more, provider, messages, journal, limits: { maxIterations: 1 } });
    expect([again.reason, provider.calls]).toEqual([{ kind: "max-iterations", limit: 1 }, 0]);
    expect(again.iterations).toBe(2);
  });

  it("works with an in-memory journal that was saved as JSON", async () => {
    const clock = createTestClock();
    const running = runToolLoop({ ...more, provider: createMockProvider([...turns]), messages, clock });
    await clock.runAll();
    const saved = JSON.parse(JSON.stringify((await running).journal)) as never;
    const again = await runToolLoop({
      ...more,
      provider: createMockProvider([]),
      messages,
      journal: memoryJournal(saved),
      limits: { maxIterations: 1 },
    });
    expect(again.reason.kind).toBe("answered");
  });
});
