import fc from "fast-check";
import { expect, it } from "vitest";
import { type Journal, type LoopResult, memoryJournal, runToolLoop, type SavedJournal } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { Crash, createDurableStore } from "./durable-store.ts";
import { answersOf } from "./play.ts";
import { type Plan, plans, type Verb } from "./random-run.ts";
import { calmly, checkMessages, checkTranscript, comparable, type Ended, runPlan, savedOf, untouchable } from "./run-plan.ts";
import { textsOf } from "./transcript-lines.ts";

/** The moment by which a plan has to have ended, as far as anybody ends it. */
function latestEnd({ verbs, limits, settleMs }: Plan): number {
  const ends = verbs.flatMap(({ atMs, verb }) => {
    if (verb === "stop") return [Math.max(0, atMs) + settleMs];
    return verb === "kill" || verb === "abort" ? [Math.max(0, atMs)] : [];
  });
  return Math.min(...ends, (limits.wallClockMs ?? Number.POSITIVE_INFINITY) + settleMs);
}

async function checkPlan(plan: Plan): Promise<void> {
  const ended = await runPlan(plan);
  const { result, workshop, endedAt } = ended;
  expect(endedAt, "the end").toBeLessThanOrEqual(latestEnd(plan));
  checkTranscript(result);
  checkMessages(ended);

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

  // Over its own records it ends the same, and touches nothing; behind a suspension it goes on, see below.
  if (result.status !== "suspended") {
    const again = await runPlan(calmly(plan), {
      provider: untouchable,
      limits: plan.limits,
      journal: memoryJournal(savedOf(result)),
    });
    expect(comparable(again.result)).toEqual(comparable(result));
    expect(again.workshop.ran).toEqual([]);
  }

  // Over a part of them it goes on, and over all of them it can be tried again; nothing runs that is recorded.
  const entries = Object.entries(savedOf(result).steps);
  await checkResumed(plan, Object.fromEntries(entries.slice(0, Math.floor(plan.cutAt * entries.length))));
  await checkResumed(plan, Object.fromEntries(entries), "retry-last");
}

async function checkResumed(plan: Plan, steps: SavedJournal["steps"], resume?: "retry-last"): Promise<void> {
  const { result, workshop } = await runPlan(calmly(plan), { journal: memoryJournal({ steps }), resume });
  checkTranscript(result);
  const recorded = Object.entries(steps).flatMap(([key, answer]) => (key.includes("/tool/") ? [JSON.stringify(answer)] : []));
  for (const callId of workshop.ran) expect(recorded.filter((answer) => answer.includes(`"callId":"${callId}"`))).toEqual([]);
  const again = await runPlan(calmly(plan), { provider: untouchable, journal: memoryJournal(savedOf(result)) });
  expect(comparable(again.result)).toEqual(comparable(result));
}

/** Runs a plan over records that outlive it, in processes that die after so many records each. */
async function checkCrashes(plan: Plan, lives: readonly number[]): Promise<void> {
  const store = createDurableStore();
  const ran: string[] = [];
  const survive = async (journal: Journal): Promise<LoopResult | undefined> => {
    try {
      return (await runPlan(calmly(plan), { journal }, ran)).result;
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
  expect(comparable((await runPlan(calmly(plan), { provider: untouchable, journal: store.open() })).result)).toEqual(
    comparable(result),
  );
}

/** Runs a plan over records that outlive it, and puts it aside after so many milliseconds of each life. */
async function checkDrains(plan: Plan, lives: readonly number[]): Promise<void> {
  const store = createDurableStore();
  const ran: string[] = [];
  const given: string[] = [];
  const back: string[] = [];
  let ended: Ended | undefined;
  for (const [id, atMs] of [...lives, undefined].entries()) {
    const said: Verb = { verb: "steer", atMs: (atMs ?? 0) - 10, id };
    const verbs: readonly Verb[] = [...(atMs === undefined ? [] : [{ verb: "drain" as const, atMs, id }]), said];
    ended = await runPlan({ ...calmly(plan), verbs }, { journal: store.open() }, ran);
    given.push(...ended.accepted);
    back.push(...textsOf(ended.result.undelivered));
    if (ended.result.status !== "suspended") break;
  }
  if (ended === undefined) return;
  const { result } = ended;
  checkTranscript(result);
  // What came back with a suspension came back once, and is not sent; all else is sent.
  expect(back.filter((said, index) => back.indexOf(said) < index)).toEqual([]);
  checkMessages({ ...ended, result: { ...result, undelivered: [] }, accepted: given.filter((said) => !back.includes(said)) });
  const answers = answersOf(result);
  for (const { callId, name, outcome } of answers) {
    const isRun = ["completed", "restarted", "failed", "timed-out", "interrupted"].includes(outcome);
    const times = ran.filter((id) => id === callId).length;
    if (isRun && name === "flaky") expect(times).toBeGreaterThan(0);
    else expect([callId, outcome, times]).toEqual([callId, outcome, isRun ? 1 : 0]);
  }
  const again = await runPlan(calmly(plan), { provider: untouchable, journal: store.open() }, ran.slice());
  expect(comparable(again.result)).toEqual(comparable(result));
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

it("every run can be put aside at any time, and goes on where it was", { timeout: 600_000 }, async () => {
  const lives = fc.array(fc.integer({ min: -5, max: 400 }), { minLength: 1, maxLength: 5 });
  await fc.assert(fc.asyncProperty(plans, lives, checkDrains), { numRuns: runs / 2, seed });
});
