import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { type Journal, type LoopResult, memoryJournal, runToolLoop, type SavedJournal } from "turnwright";
import { fileJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text } from "turnwright/testing";
import { checkSpending } from "./check-spending.ts";
import { Crash, createDurableStore, type DurableStore, type Fate } from "./durable-store.ts";
import { answersOf } from "./play.ts";
import { type Plan, plans, type Verb } from "./random-run.ts";
import { calmly, checkMessages, checkTranscript, comparable, type Ended, runPlan, savedOf, untouchable } from "./run-plan.ts";
import { textsOf } from "./transcript-lines.ts";

/** Returns the latest time in milliseconds at which the run may end. */
function latestEnd({ verbs, limits, toolCleanupMs }: Plan): number {
  const ends = verbs.flatMap(({ atMs, verb }) => {
    if (verb === "stop") return [Math.max(0, atMs) + toolCleanupMs];
    return verb === "kill" || verb === "abort" ? [Math.max(0, atMs)] : [];
  });
  return Math.min(...ends, (limits.wallClockMs ?? Number.POSITIVE_INFINITY) + toolCleanupMs);
}

/** If a fallback discards an attempt with eager tools, calls that have run may be missing in the messages. */
const movesCalls = ({ eager, wrapping }: Plan): boolean => eager && wrapping === "fallback";

/**
 * Checks that a call ran exactly once if its outcome says so, and otherwise never. `flaky` may run more often, because the loop
 * retries it.
 */
function checkRan({ result, workshop }: Ended): void {
  const answers = answersOf(result);
  for (const { callId, name, outcome } of answers) {
    const times = workshop.ran.filter((id) => id === callId).length;
    const isRun = ["completed", "restarted", "failed", "timed-out", "interrupted"].includes(outcome);
    if (!isRun) expect([callId, outcome, times]).toEqual([callId, outcome, 0]);
    else if (name === "flaky") expect(times).toBeGreaterThan(0);
    else expect([callId, outcome, times]).toEqual([callId, outcome, 1]);
  }
  expect(workshop.ran.filter((id) => !answers.some((part) => part.callId === id))).toEqual([]);
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
  checkSpending(result, plan);
  // After a pause, a request may contain an assistant message whose calls have no results yet.
  for (const { messages } of ended.provider.requests)
    checkTranscript({ messages: messages.at(-1)?.role === "assistant" ? messages.slice(0, -1) : messages });
  if (!movesCalls(plan)) checkRan(ended);

  const next = await runToolLoop({
    provider: createMockProvider([text("Next.")]),
    messages: [...result.messages, { role: "user", content: "And?" }],
  });
  expect(next.text).toBe("Next.");

  await checkReplay(plan, result, memoryJournal(savedOf(result)));
  if (result.status !== "suspended") {
    const again = await runPlan(calmly(plan), {
      provider: untouchable,
      limits: plan.limits,
      journal: memoryJournal(savedOf(result)),
    });
    expect(comparable(again.result)).toEqual(comparable(result));
    expect(again.workshop.ran).toEqual([]);
  }

  // A journal with only some of the records continues the run, and a complete journal allows a retry. Recorded calls must not run
  // again.
  const entries = Object.entries(savedOf(result).steps);
  await checkResumed(plan, Object.fromEntries(entries.slice(0, Math.floor(plan.cutAt * entries.length))));
  await checkResumed(plan, Object.fromEntries(entries), "retry-last");
}

const folder = mkdtempSync(join(tmpdir(), "turnwright-random-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function writeFile({ records }: DurableStore): Promise<Journal> {
  const path = join(folder, `${(files += 1)}.jsonl`);
  const journal = fileJournal(path, { fsync: false });
  const close = await journal.open?.();
  for (const [key, answer] of records) await journal.step(key, () => JSON.parse(answer) as unknown);
  await close?.();
  return fileJournal(path);
}

async function checkReplay(plan: Plan, ended: LoopResult, journal: Journal): Promise<void> {
  const { result, workshop } = await runPlan(calmly(plan), {
    provider: untouchable,
    limits: plan.limits,
    journal: replayJournal(journal),
  });
  expect(comparable(result)).toEqual(comparable(ended));
  expect(workshop.ran).toEqual([]);
}

async function checkResumed(plan: Plan, steps: SavedJournal["steps"], resume?: "retry-last"): Promise<void> {
  const { result, workshop } = await runPlan(calmly(plan), { journal: memoryJournal({ steps }), resume });
  checkTranscript(result);
  const recorded = Object.entries(steps).flatMap(([key, answer]) => (key.endsWith("/outcome") ? [JSON.stringify(answer)] : []));
  for (const callId of workshop.ran) expect(recorded.filter((answer) => answer.includes(`"callId":"${callId}"`))).toEqual([]);
  const again = await runPlan(calmly(plan), { provider: untouchable, journal: memoryJournal(savedOf(result)) });
  expect(comparable(again.result)).toEqual(comparable(result));
}

/** Runs a plan in several processes with one durable store. Each process crashes at the point that its `Fate` names. */
async function checkCrashes(plan: Plan, lives: readonly Fate[]): Promise<void> {
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
  for (const fate of lives) if ((await survive(store.open(fate))) !== undefined) break;
  const result = await survive(store.open());
  if (result === undefined) throw new Error("Nothing crashes any more.");
  checkTranscript(result);
  const again = answersOf(result).flatMap(({ name, callId }) => (name === "flaky" || name === "context_release" ? [callId] : []));
  const once = ran.filter((id) => !again.includes(id));
  // After a crash, only eager calls may run again, because eager tools must be free of side effects.
  if (!plan.eager) expect(once).toEqual([...new Set(once)]);
  for (const { callId, outcome } of answersOf(result)) {
    const isRun = ["completed", "restarted", "failed", "timed-out"].includes(outcome);
    // The number of times is unknown if a crash interrupted the call, or if a repeated request returned other calls.
    const isKnown = outcome !== "interrupted" && !movesCalls(plan) && (isRun || !plan.eager);
    if (isKnown) expect([callId, outcome, ran.includes(callId)]).toEqual([callId, outcome, isRun]);
  }
  const told = await runPlan(calmly(plan), { provider: untouchable, journal: store.open() });
  expect(comparable(told.result)).toEqual(comparable(result));
  if (plan.cutAt > 0.8) await checkReplay(calmly(plan), told.result, await writeFile(store));
}

/** Runs a plan in several processes with one durable store. Each process is drained after its number of milliseconds. */
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
  // A steered message is either sent once, or returned once by a suspended run.
  expect(back.filter((said, index) => back.indexOf(said) < index)).toEqual([]);
  checkMessages({ ...ended, result: { ...result, undelivered: [] }, accepted: given.filter((said) => !back.includes(said)) });
  const answers = movesCalls(plan) ? [] : answersOf(result);
  for (const { callId, name, outcome } of answers) {
    const isRun = ["completed", "restarted", "failed", "timed-out", "interrupted"].includes(outcome);
    const times = ran.filter((id) => id === callId).length;
    if (isRun && name === "flaky") expect(times).toBeGreaterThan(0);
    else expect([callId, outcome, times]).toEqual([callId, outcome, isRun ? 1 : 0]);
  }
  const again = await runPlan(calmly(plan), { provider: untouchable, journal: store.open() }, ran.slice());
  expect(comparable(again.result)).toEqual(comparable(result));
}

// To run more cases: INTERLEAVINGS=10000 SEED=7 npx vitest run test/loop/interleavings.test.ts
const runs = Number(process.env["INTERLEAVINGS"] ?? 50);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("random runs end in time, lose no message, release all resources and can be replayed", { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(plans, checkPlan), { numRuns: runs, seed });
});

it("random runs resume after crashes without running a tool twice", { timeout: 600_000 }, async () => {
  const within = fc.constantFrom(
    "i0/request/model",
    "i1/request/model",
    "i0/call/0/quick/outcome",
    "i0/call/0/slow/outcome",
    "i0/call/0/quick/@process-results/results",
    "i0/next",
    "i0/request/@read-output/output",
  );
  const fate = fc.oneof(
    fc.record({ afterRecords: fc.integer({ min: 1, max: 8 }) }),
    within.map((key): Fate => ({ within: key })),
  );
  const lives = fc.array(fate, { minLength: 1, maxLength: 4 });
  await fc.assert(fc.asyncProperty(plans, lives, checkCrashes), { numRuns: runs / 2, seed });
});

it("random runs can be drained at any time and resumed", { timeout: 600_000 }, async () => {
  const lives = fc.array(fc.integer({ min: -5, max: 400 }), { minLength: 1, maxLength: 5 });
  await fc.assert(fc.asyncProperty(plans, lives, checkDrains), { numRuns: runs / 2, seed });
});
