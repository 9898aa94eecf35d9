import fc from "fast-check";
import { expect, it } from "vitest";
import { type Journal, type LoopOptions, type LoopResult, memoryJournal } from "turnwright";
import type { MemoryJournal } from "turnwright/kit";
import { withAgent } from "./random-agent.ts";
import { type Plan, plans } from "./random-run.ts";
import { answersOf } from "./play.ts";
import { comparable, type More, runPlan, savedOf } from "./run-plan.ts";

const copyOf = (result: LoopResult): MemoryJournal => memoryJournal(savedOf(result));

const same = (result: LoopResult): object => ({ ...comparable(result), undelivered: undefined, durationMs: undefined });

const more =
  (given: Partial<LoopOptions>, nested: boolean): More =>
  (own) => ({ ...own, ...given, ...(nested ? { tools: withAgent(own) } : {}) });

async function runAndRetry(plan: Plan, retries: number, nested: boolean): Promise<LoopResult> {
  let { result } = await runPlan(plan, more({}, nested));
  for (let retry = 0; retry < retries; retry += 1) {
    const turns = [...plan.turns.slice(retry + 1), ...plan.turns];
    const again = await runPlan({ ...plan, turns, verbs: [] }, more({ journal: copyOf(result), resume: "retry-last" }, nested));
    // A message stays in the transcript if one of its calls has run.
    expect(ranIn(again.result)).toEqual(expect.arrayContaining(ranIn(result)));
    result = again.result;
  }
  return result;
}

function ranIn(result: LoopResult): string[] {
  return answersOf(result).flatMap(({ callId, outcome }) => (outcome === "completed" || outcome === "failed" ? [callId] : []));
}

const replays = fc.record({ plan: plans, meddler: plans, retries: fc.nat({ max: 2 }), nested: fc.boolean() });

it("a replay of a random finished run gives the same result despite control calls", async () => {
  await fc.assert(
    fc.asyncProperty(replays, async ({ plan, meddler: { verbs }, retries, nested }) => {
      const result = await runAndRetry(plan, retries, nested);
      fc.pre(result.status !== "suspended");
      const again = await runPlan({ ...plan, turns: [], verbs }, more({ journal: copyOf(result) }, nested));
      expect(same(again.result)).toEqual(same(result));
      expect(again.provider.calls).toBe(0);
    }),
    { numRuns: 45, seed: 20_260_101 },
  );
});

/** Throws if an execution asks for two steps with the same key. */
function watchKeys(journal: MemoryJournal): Journal {
  const asked = new Set<string>();
  const step: Journal["step"] = (key, body) => {
    expect([key, asked.has(key)]).toEqual([key, false]);
    asked.add(key);
    return journal.step(key, body);
  };
  return { ...journal, step };
}

const decisionsOf = (result: LoopResult | undefined): LoopOptions["answers"] =>
  Object.fromEntries(
    (result?.reason.kind === "approval-required" ? result.reason.calls : []).map(({ id }, index) => [
      id,
      { kind: index % 2 === 0 ? "approve" : "deny" },
    ]),
  );

const chains = fc.record({
  first: plans,
  others: fc.array(plans, { minLength: 1, maxLength: 4 }),
  nested: fc.boolean(),
  asks: fc.boolean(),
});

it("a journal key names only one step, whatever limits and retries a random run has", async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ({ first, others, nested, asks }) => {
      const plan: Plan = asks ? { ...first, approve: "ask", eager: false } : first;
      const { maxToolCalls, maxCostUSD } = plan.limits;
      let last: LoopResult | undefined;
      let now = plan;
      for (const { limits, turns, verbs } of [plan, ...others]) {
        // The next execution has other limits, control calls and model messages, but the same recorded results.
        const other: Plan = { ...plan, turns, verbs, limits: { ...limits, maxToolCalls, maxCostUSD, wallClockMs: undefined } };
        // A run that waits for decisions must reach the waiting calls again, so it keeps its limits.
        now = last?.reason.kind === "approval-required" ? { ...now, turns } : other;
        const journal = last === undefined ? memoryJournal() : copyOf(last);
        const given = { journal: watchKeys(journal), resume: "retry-last" as const, answers: decisionsOf(last) };
        const { result } = await runPlan(now, more(given, nested));
        last = { ...result, journal };
        if (result.status === "suspended") continue;
        const again = await runPlan({ ...now, turns: [], verbs: [] }, more({ journal: watchKeys(copyOf(last)) }, nested));
        expect([same(again.result), again.provider.calls]).toEqual([same(result), 0]);
      }
    }),
    { numRuns: 30, seed: 20_260_101 },
  );
});
