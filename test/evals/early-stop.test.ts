import { defineEvaluation, evaluate } from "turnwright/evals";
import { createMockProvider, text, usage } from "turnwright/testing";
import { runToolLoop } from "turnwright";
import { expect, it } from "vitest";

// The suite: 40 cases, as agents that are worth an evaluation have them. Most always pass, some never do, and some are flaky. The outcome of
// each trial is fixed, so that 20 trials and fewer can be compared. With the seeds 1 to 12, 479 of 480 decisions are the same.
const rates = [...Array<number>(24).fill(1), ...Array<number>(6).fill(0), 0.98, 0.97, 0.95, 0.95, 0.9, 0.7, 0.5, 0.4, 0.2, 0.1];

/** A generator of pseudo-random numbers from 0 to 1 (mulberry32), so that the suite is the same in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function createSuite(seed: number) {
  const random = createRandom(seed);
  const cases = rates.map((rate, index) => ({
    id: `case-${index}`,
    outcomes: Array.from({ length: 20 }, () => random() < rate),
  }));
  return defineEvaluation({
    name: "scripted suite",
    cases,
    directory: false,
    trials: 20,
    passRate: 0.8,
    run({ outcomes }, trial) {
      const answer = outcomes[trial.number - 1] === true ? "right" : "wrong";
      const provider = createMockProvider([[text(answer), usage({ inputTokens: 90, outputTokens: 10 })]]);
      return runToolLoop(trial.options({ provider, messages: [{ role: "user" as const, content: "?" }], pricing: () => 0.01 }));
    },
    check: (result) => result.text === "right",
  });
}

it("stops early with the decisions of 20 trials, at no more than half of the cost", async () => {
  const suite = createSuite(1);
  const [all, early] = [await evaluate(suite), await evaluate(suite, { stopEarly: true })];
  expect(all.totals.trials).toBe(800);
  expect(early.cases.map(({ status }) => status)).toEqual(all.cases.map(({ status }) => status));
  expect(early.totals.costUSD ?? 1).toBeLessThanOrEqual((all.totals.costUSD ?? 0) / 2);
  expect(early.ended).toBe("complete");
  // Clear cases need few trials, and cases at the border need most.
  const trialsOf = (id: number): number => early.cases[id]?.trials.length ?? 0;
  expect(trialsOf(0)).toBeLessThan(12);
  expect(trialsOf(24)).toBeLessThan(6);
});
