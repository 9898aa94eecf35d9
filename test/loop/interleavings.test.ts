import fc from "fast-check";
import { expect, it } from "vitest";
import {
  createLoopControl,
  type Journal,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Provider,
  runToolLoop,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, createTestClock, type MockProvider, type MockScript, recordEvents, text } from "turnwright/testing";
import { countListeners } from "./count-listeners.ts";
import { Crash, createDurableStore } from "./durable-store.ts";
import { answersOf } from "./play.ts";
import { approvalOf, openWorkshop, type Plan, plans, type Workshop } from "./random-run.ts";

const listeners = countListeners();

interface Ended {
  readonly result: LoopResult;
  readonly endedAt: number;
  readonly provider: MockProvider;
  readonly workshop: Workshop;
  readonly options: LoopOptions;
}

/** Runs a plan to its end, on a clock of its own, and checks that it leaves nothing behind. */
async function run(plan: Plan, more: Partial<LoopOptions> = {}, ran: string[] = []): Promise<Ended> {
  const clock = createTestClock();
  const control = createLoopControl();
  const abort = new AbortController();
  const workshop = openWorkshop(clock, ran);
  const provider = createMockProvider(turnsOf(plan));
  const recording = recordEvents();
  const { limits, settleMs, hooks } = plan;
  const options: LoopOptions = {
    provider,
    messages: [{ role: "user", content: "Go." }],
    tools: workshop.tools,
    runId: "random",
    clock,
    control,
    signal: abort.signal,
    events: recording.emitter,
    limits,
    timeouts: { settleMs, streamIdleMs: 400, firstChunkMs: 600, toolMs: 350, hookMs: 100, approvalMs: 250 },
    policies: { approve: approvalOf(plan, workshop), finalAnswer: plan.finalAnswer },
    ...(hooks && { hooks: { preparePass: async () => ({ toolChoice: "auto" }), onIteration: async () => undefined } }),
    ...more,
  };
  let atEnd: { readonly now: number; readonly timers: number; readonly listeners: number } | undefined;
  const running = runToolLoop(options).finally(() => {
    atEnd = { now: clock.now(), timers: clock.pending - workshop.timers(), listeners: listeners.on(abort.signal) };
  });
  // It is awaited below, when time has gone on.
  running.catch(() => undefined);
  for (const { atMs, verb } of [...plan.verbs].sort((a, b) => a.atMs - b.atMs)) {
    await clock.advance(atMs - clock.now());
    if (verb === "abort") abort.abort("gone");
    else control[verb]();
  }
  await clock.runAll();
  if (atEnd === undefined) throw new Error("The run hangs.");
  const result = await running;
  expect(atEnd).toMatchObject({ timers: 0, listeners: 0 });
  expect(recording.types().filter((type) => type === "run-end")).toHaveLength(1);
  expect(recording.types().at(-1)).toBe("run-end");
  const seen = recording.of("text-delta").map((event) => event.text);
  expect(result.streamResults.map((pass) => pass.text).join("")).toBe(seen.join(""));
  return { result, endedAt: atEnd.now, provider, workshop, options };
}

/** A turn for each request, and an answer where there are no more turns. */
function turnsOf({ turns }: Plan): MockScript {
  return (_, index) => turns[index] ?? text("The end.");
}

/** The moment by which a plan has to have ended, as far as anybody ends it. */
function latestEnd({ verbs, limits, settleMs }: Plan): number {
  const ends = verbs.map(({ atMs, verb }) => atMs + (verb === "stop" ? settleMs : 0));
  return Math.min(...ends, (limits.wallClockMs ?? Number.POSITIVE_INFINITY) + settleMs);
}

function checkTranscript({ messages }: LoopResult): void {
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : []));
    const next = messages[index + 1];
    expect(next?.role === "tool" ? next.results.map((part) => part.callId) : []).toEqual(calls);
  });
  const ids = answersOf({ messages }).map((part) => part.callId);
  expect(new Set(ids).size).toBe(ids.length);
}

/** What must not be reached on replay. */
const untouchable: Provider = {
  id: "mock",
  model: "mock-model",
  stream: () => {
    throw new Error("asked again");
  },
};

const comparable = ({ journal: _, ...rest }: LoopResult): unknown => JSON.parse(JSON.stringify(rest));
const savedOf = ({ journal }: LoopResult): SavedJournal => JSON.parse(JSON.stringify(journal));
const calmly = (plan: Plan): Plan => ({ ...plan, verbs: [], limits: { ...plan.limits, wallClockMs: undefined } });

async function checkPlan(plan: Plan): Promise<void> {
  const ended = await run(plan);
  const { result, workshop, endedAt } = ended;
  expect(endedAt, "the end").toBeLessThanOrEqual(latestEnd(plan));
  checkTranscript(result);

  const { limits } = plan;
  expect(result.iterations).toBeLessThanOrEqual(limits.maxIterations ?? 0);
  expect(result.toolCallsExecuted).toBeLessThanOrEqual(limits.maxToolCalls ?? Number.POSITIVE_INFINITY);
  expect(workshop.peak()).toBeLessThanOrEqual(limits.toolConcurrency ?? 0);
  expect(result.usage.totalTokens).toBe(result.streamResults.reduce((sum, pass) => sum + (pass.usage?.totalTokens ?? 0), 0));

  // Who was answered as run did run, once; who was answered as not run did not.
  const answers = answersOf(result);
  for (const { callId, name, outcome } of answers) {
    const times = workshop.ran.filter((id) => id === callId).length;
    const isRun = ["completed", "restarted", "failed", "timed-out", "interrupted"].includes(outcome);
    if (!isRun) expect([callId, outcome, times]).toEqual([callId, outcome, 0]);
    else if (name === "flaky") expect(times).toBeGreaterThan(0);
    else expect([callId, outcome, times]).toEqual([callId, outcome, 1]);
  }
  expect(workshop.ran.filter((id) => !answers.some((part) => part.callId === id))).toEqual([]);

  // The conversation goes on in another run.
  const next = await runToolLoop({
    provider: createMockProvider([text("Next.")]),
    messages: [...result.messages, { role: "user", content: "And?" }],
  });
  expect(next.text).toBe("Next.");

  // Over its own records it ends the same, and touches nothing.
  const again = await run(calmly(plan), { provider: untouchable, limits: plan.limits, journal: memoryJournal(savedOf(result)) });
  expect(comparable(again.result)).toEqual(comparable(result));
  expect(again.workshop.ran).toEqual([]);

  // Over a part of them it goes on, and over all of them it can be tried again; nothing runs that is recorded.
  const entries = Object.entries(savedOf(result).steps);
  await checkResumed(plan, Object.fromEntries(entries.slice(0, Math.floor(plan.cutAt * entries.length))));
  await checkResumed(plan, Object.fromEntries(entries), "retry-last");
}

async function checkResumed(plan: Plan, steps: SavedJournal["steps"], resume?: "retry-last"): Promise<void> {
  const { result, workshop } = await run(calmly(plan), { journal: memoryJournal({ steps }), resume });
  checkTranscript(result);
  const recorded = Object.entries(steps).flatMap(([key, answer]) => (key.includes("/tool/") ? [JSON.stringify(answer)] : []));
  for (const callId of workshop.ran) expect(recorded.filter((answer) => answer.includes(`"callId":"${callId}"`))).toEqual([]);
  const again = await run(calmly(plan), { provider: untouchable, journal: memoryJournal(savedOf(result)) });
  expect(comparable(again.result)).toEqual(comparable(result));
}

/** Runs a plan over records that outlive it, in processes that die after so many records each. */
async function checkCrashes(plan: Plan, lives: readonly number[]): Promise<void> {
  const store = createDurableStore();
  const ran: string[] = [];
  const survive = async (journal: Journal): Promise<LoopResult | undefined> => {
    try {
      return (await run(calmly(plan), { journal }, ran)).result;
    } catch (error) {
      if (error instanceof Crash) return undefined;
      throw error;
    }
  };
  for (const afterRecords of lives) if ((await survive(store.open({ afterRecords }))) !== undefined) break;
  const result = await survive(store.open());
  if (result === undefined) throw new Error("Nothing crashes any more.");
  checkTranscript(result);
  const flaky = answersOf(result).flatMap((part) => (part.name === "flaky" ? [part.callId] : []));
  const once = ran.filter((id) => !flaky.includes(id));
  expect(once).toEqual([...new Set(once)]);
  for (const { callId, outcome } of answersOf(result)) {
    const isRun = ["completed", "restarted", "failed", "timed-out"].includes(outcome);
    // What was interrupted by a crash may have run, or not.
    if (outcome !== "interrupted") expect([callId, outcome, ran.includes(callId)]).toEqual([callId, outcome, isRun]);
  }
  expect(comparable((await run(calmly(plan), { provider: untouchable, journal: store.open() })).result)).toEqual(
    comparable(result),
  );
}

// To look further: INTERLEAVINGS=10000 SEED=7 npx vitest run test/loop/interleavings.test.ts
const runs = Number(process.env["INTERLEAVINGS"] ?? 200);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("every run ends in time, loses nothing, leaves nothing, and can be replayed", { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(plans, checkPlan), { numRuns: runs, seed });
});

it("every run gets over crashes, and runs no tool twice", { timeout: 600_000 }, async () => {
  const lives = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 });
  await fc.assert(fc.asyncProperty(plans, lives, checkCrashes), { numRuns: runs / 2, seed });
});
