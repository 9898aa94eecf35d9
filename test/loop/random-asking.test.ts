import fc from "fast-check";
import { expect, it } from "vitest";
import type { ApprovalDecision, LoopOptions, LoopResult } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { Crash, createDurableStore, type DurableStore } from "./durable-store.ts";
import { answersOf } from "./play.ts";
import { type Plan, plans } from "./random-run.ts";
import { calmly, checkTranscript, comparable, runPlan, untouchable } from "./run-plan.ts";

type Decisions = NonNullable<LoopOptions["answers"]>;
type Answer = ApprovalDecision | "none";

interface Life {
  readonly decisions: readonly Answer[];
  readonly afterRecords: number | undefined;
}

const answer: fc.Arbitrary<Answer> = fc.constantFrom<Answer[]>(
  { kind: "approve" },
  { kind: "approve" },
  { kind: "deny", reason: "no" },
  { kind: "modify", args: { edited: "by hand" } },
  { kind: "modify", args: null },
  { kind: "ask" },
  "none",
);

const lives: fc.Arbitrary<readonly Life[]> = fc.array(
  fc.record({
    decisions: fc.array(answer, { minLength: 1, maxLength: 3 }),
    afterRecords: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  }),
  { maxLength: 6 },
);

/** Every call in these plans needs approval, and a run ends only with an answer or at a limit. */
const asking: fc.Arbitrary<Plan> = plans.map((plan) => ({ ...calmly(plan), approve: "ask", eager: false, stopWhen: "none" }));

const waitsFor = (result: LoopResult | undefined): readonly { readonly id: string }[] =>
  result?.reason.kind === "approval-required" ? result.reason.calls : [];

function decide(result: LoopResult | undefined, decisions: readonly Answer[]): Decisions {
  const given = waitsFor(result).map(({ id }, index) => [id, decisions[index % decisions.length] ?? "none"] as const);
  return Object.fromEntries(given.filter((pair): pair is readonly [string, ApprovalDecision] => pair[1] !== "none"));
}

interface Process {
  readonly store: DurableStore;
  readonly ran: string[];
  readonly answers: Decisions;
  readonly afterRecords: number | undefined;
}

async function live(plan: Plan, { store, ran, answers, afterRecords }: Process): Promise<LoopResult | undefined> {
  const isDecided = Object.keys(answers).length > 0;
  try {
    const journal = store.open({ afterRecords });
    return (await runPlan(plan, { journal, ...(isDecided && { answers }) }, ran)).result;
  } catch (error) {
    if (error instanceof Crash) return undefined;
    throw error;
  }
}

async function checkTold(plan: Plan, store: DurableStore, ended: LoopResult): Promise<void> {
  const records = store.records.size;
  const told = await runPlan(plan, { provider: untouchable, journal: replayJournal(store.open()) });
  expect(comparable(told.result)).toEqual(comparable(ended));
  expect([told.workshop.ran, store.records.size]).toEqual([[], records]);
}

async function checkAsking(plan: Plan, given: readonly Life[]): Promise<void> {
  const store = createDurableStore();
  const ran: string[] = [];
  const decided = new Map<string, ApprovalDecision>();
  let result: LoopResult | undefined;
  let answers: Decisions = {};
  // These processes approve every waiting call, so that the run ends.
  const last: readonly Life[] = Array.from({ length: 12 }, () => ({ decisions: [{ kind: "approve" }], afterRecords: undefined }));
  for (const { decisions, afterRecords } of [...given, ...last]) {
    const ended = await live(plan, { store, ran, answers, afterRecords });
    // After a crash, the next process gets the same decisions again.
    if (ended === undefined) continue;
    result = ended;
    checkTranscript(result);
    await checkTold(plan, store, result);
    if (waitsFor(result).length === 0) break;
    answers = decide(result, decisions);
    for (const [id, decision] of Object.entries(answers)) decided.set(id, decision as ApprovalDecision);
  }
  if (result === undefined) throw new Error("Nothing crashes any more.");
  expect(result.status).not.toBe("suspended");
  checkAnswers(result, ran);
  checkDecided(result, decided);
}

/** The last decision about a call is the one that counts, because no earlier one has ended its wait. */
function checkDecided(result: LoopResult, decided: ReadonlyMap<string, ApprovalDecision>): void {
  const outcomes = new Map(answersOf(result).map(({ callId, outcome }) => [callId, outcome]));
  const parts = result.messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  for (const part of parts) {
    const decision = part.type === "tool-call" ? decided.get(part.callId) : undefined;
    if (part.type !== "tool-call" || decision === undefined) continue;
    const { callId, args, approvedArgs } = part;
    expect([callId, outcomes.get(callId) === "denied"]).toEqual([callId, decision.kind === "deny"]);
    if (decision.kind === "modify")
      expect([callId, approvedArgs === undefined ? args : approvedArgs]).toEqual([callId, decision.args]);
    else expect([callId, approvedArgs]).toEqual([callId, undefined]);
  }
}

function checkAnswers(result: LoopResult, ran: readonly string[]): void {
  for (const { callId, name, outcome } of answersOf(result)) {
    const times = ran.filter((id) => id === callId).length;
    const isRun = ["completed", "restarted", "failed", "timed-out"].includes(outcome);
    // After a crash, both tools may run again.
    if (name === "flaky" || name === "context_release") expect(times > 0 || !isRun).toBe(true);
    else if (outcome === "interrupted") expect(times).toBeLessThanOrEqual(1);
    else expect([callId, outcome, times]).toEqual([callId, outcome, isRun ? 1 : 0]);
  }
}

// To run more cases: ASKINGS=10000 SEED=7 npx vitest run test/loop/random-asking.test.ts
const runs = Number(process.env["ASKINGS"] ?? 45);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it("random runs suspended by approve continue with the decisions, and run no tool twice", { timeout: 600_000 }, async () => {
  await fc.assert(fc.asyncProperty(asking, lives, checkAsking), { numRuns: runs, seed });
});
