import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { defer, isLoopError, type Journal, type LoopOptions, type LoopResult, memoryJournal, runToolLoop } from "turnwright";
import { fileJournal, inspectJournal, replayJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { makeFolder } from "../../journal/folder.ts";
import { factsIn, factsOf } from "../../journal/inspection.ts";
import { Crash, createDurableStore } from "../durable-store.ts";
import { nesting, question } from "../nested/nesting.ts";
import { answersOf, tool } from "../play.ts";
import { checkTranscript } from "../run-plan.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;

/**
 * `job`, `ask` and `sign` get results from outside of the run, and `sign` also needs approval. `agent` starts a nested run that
 * calls `job`.
 */
const names = ["job", "job", "ask", "sign", "look", "alone", "agent"] as const;
type Name = (typeof names)[number];

/** One process that executes the run: the number of records before it crashes, and the waiting calls that get results, in order. */
interface Life {
  readonly picks: readonly number[];
  readonly repeats: boolean;
  /** True to add one decision of the wrong kind. */
  readonly errs: boolean;
  readonly afterRecords: number | undefined;
}

interface Plan {
  readonly iterations: readonly (readonly Name[])[];
  readonly concurrency: number;
  readonly lives: readonly Life[];
}

const plans: fc.Arbitrary<Plan> = fc.record({
  iterations: fc.array(fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  lives: fc.array(
    fc.record({
      picks: fc.array(fc.nat({ max: 7 }), { maxLength: 5 }),
      repeats: fc.boolean(),
      errs: fc.boolean(),
      afterRecords: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
    }),
    { maxLength: 8 },
  ),
});

function optionsOf({ iterations, concurrency }: Plan, ran: string[]): Omit<LoopOptions, "journal"> {
  const note = (callId: string): number => ran.push(callId);
  const job = tool("job", (_, { idempotencyKey }) => (note(idempotencyKey), defer()));
  const ask = { name: "ask", description: "Asks", inputSchema: { type: "object" } } as const;
  const sign = tool("sign", (_, { idempotencyKey }) => (note(idempotencyKey), defer()), { needsApproval: true });
  const inside = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("job")] : text("Inside.")));
  return {
    provider: createMockProvider(({ messages }) => {
      const calls = iterations[messages.filter(({ role }) => role === "assistant").length];
      return calls === undefined ? text("Done.") : calls.map((name) => toolCall(name));
    }),
    messages: question,
    runId: "random",
    limits: { toolConcurrency: concurrency },
    tools: [
      ...[job, ask, sign],
      tool("look", (_, { idempotencyKey }) => note(idempotencyKey)),
      tool("alone", (_, { idempotencyKey }) => (note(idempotencyKey), defer()), { sequential: true }),
      nesting("agent tool", "agent", () => ({ messages: question, provider: inside, tools: [job] })),
    ],
  };
}

interface Place {
  open(afterRecords: number | undefined, last: LoopResult | undefined): Journal;
}

function mortal(journal: Journal, afterRecords: number | undefined): Journal {
  let written = 0;
  const step: Journal["step"] = async (key, body) => {
    let isNew = false;
    const answer = await journal.step(key, () => ((isNew = true), body()));
    if (isNew && (written += 1) === afterRecords) throw new Crash("The process died.");
    return answer;
  };
  return { ...journal, step };
}

const places: { readonly [where: string]: () => Place } = {
  "a durable store": () => {
    const store = createDurableStore();
    return { open: (afterRecords) => store.open({ afterRecords }) };
  },
  "a file": () => {
    const path = join(makeFolder(), "run.jsonl");
    return { open: (afterRecords) => mortal(fileJournal(path, { fsync: false }), afterRecords) };
  },
  // A memory journal is saved only with the result, so a process with this journal never crashes.
  memory: () => ({ open: (_, last) => memoryJournal(last && JSON.parse(JSON.stringify(last.journal))) }),
};

const waitingIn = (result: LoopResult | undefined): Extract<LoopResult["reason"], { calls: unknown }>["calls"] =>
  result !== undefined && "calls" in result.reason ? result.reason.calls : [];

const right = ({ id, waitsFor }: { readonly id: string; readonly waitsFor: string }): Decisions[string] =>
  waitsFor === "approval" ? { kind: "approve" } : { kind: "result", result: { for: id } };

const wrong = ({ waitsFor }: { readonly waitsFor: string }): Decisions[string] =>
  waitsFor === "approval" ? { kind: "result", result: "too early" } : { kind: "approve" };

async function checkPlan(plan: Plan, place: Place): Promise<void> {
  const ran: string[] = [];
  const given: Decisions = {};
  let result: LoopResult | undefined;
  const last: readonly Life[] = Array.from({ length: 30 }, () => ({
    ...{ picks: [0, 1, 2, 3, 4, 5, 6, 7], repeats: false, errs: false, afterRecords: undefined },
  }));
  for (const { picks, repeats, errs, afterRecords } of [...plan.lives, ...last]) {
    const waiting = waitingIn(result);
    const picked = picks.flatMap((pick) => waiting[pick] ?? []);
    const answers = Object.fromEntries(picked.map((call) => [call.id, right(call)]));
    const [spoilt] = errs ? picked : [];
    const all = { ...(repeats ? given : {}), ...answers };
    const options = { ...optionsOf(plan, ran), answers: spoilt ? { ...all, [spoilt.id]: wrong(spoilt) } : all };
    try {
      const ended = await runToolLoop({ ...options, journal: place.open(afterRecords, result) });
      expect(spoilt).toBeUndefined();
      result = ended;
      Object.assign(given, answers);
    } catch (error) {
      // A crashed process may already have recorded the correct decision, so both error codes are possible.
      const isRefusal = isLoopError(error, "invalid-decision") || isLoopError(error, "unknown-decision");
      if (isRefusal) expect(error.details.call).toBe(spoilt?.id);
      else if (!(error instanceof Crash)) throw error;
      continue;
    }
    await checkEnd(plan, place, result);
    if (result.status !== "suspended") break;
  }
  if (result === undefined) throw new Error("The run never ended.");
  expect(result.reason.kind).toBe("answered");
  checkAnswers(result, ran);
}

async function checkEnd(plan: Plan, place: Place, result: LoopResult): Promise<void> {
  checkTranscript(result);
  const ran: string[] = [];
  const replayed = await runToolLoop({ ...optionsOf(plan, ran), journal: replayJournal(place.open(undefined, result)) });
  expect([replayed.messages, replayed.reason, ran]).toEqual([result.messages, result.reason, []]);
  expect(factsIn(await inspectJournal(place.open(undefined, result)))).toEqual(factsOf(result));
}

function checkAnswers(result: LoopResult, ran: readonly string[]): void {
  expect(new Set(ran).size).toBe(ran.length);
  for (const { callId, name, outcome, result: answer } of answersOf(result)) {
    // The process crashed before these calls were recorded.
    if (outcome === "interrupted") continue;
    const own = name === "sign" ? `${callId}#2` : callId;
    const isOutside = name === "job" || name === "ask" || name === "sign" || name === "alone";
    const expected = name === "agent" ? "Inside." : { for: own };
    expect([name, outcome]).toEqual([name, "completed"]);
    if (isOutside || name === "agent") expect(answer).toEqual(expected);
  }
  const told = JSON.stringify(result.messages);
  for (const { callId } of answersOf(result)) expect(told.split(`"for":"${callId}"`).length).toBeLessThanOrEqual(2);
}

// To run more cases: OUTSIDES=5000 SEED=7 npx vitest run test/loop/outside/random-outside.test.ts
const runs = Number(process.env["OUTSIDES"] ?? 15);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it.for(Object.entries(places))(
  "options.answers deliver each random result exactly once (with %s)",
  { timeout: 600_000 },
  async ([, make]) => {
    await fc.assert(
      fc.asyncProperty(plans, (plan) => checkPlan(plan, make())),
      { numRuns: runs, seed },
    );
  },
);
