import { defineEvaluation, evaluate } from "turnwright/evals";
import { createMockProvider, text, usage } from "turnwright/testing";
import { runToolLoop } from "turnwright";
import { expect, it } from "vitest";
// The benchmark "early-stop" runs this suite with more seeds.
import { createCases, passRate, trials } from "../../bench/src/early-stop/suite.js";

function createSuite(seed: number) {
  return defineEvaluation({
    name: "scripted suite",
    cases: createCases(seed),
    directory: false,
    trials,
    passRate,
    run({ outcomes }, trial) {
      const answer = outcomes[trial.number - 1] === true ? "right" : "wrong";
      const provider = createMockProvider([[text(answer), usage({ inputTokens: 90, outputTokens: 10 })]]);
      return runToolLoop(trial.options({ provider, messages: [{ role: "user" as const, content: "?" }], pricing: () => 0.01 }));
    },
    check: (result) => result.text === "right",
  });
}

it.for([1, 5])(
  "an evaluation that stops early makes the same decisions as with 20 trials, at no more than half the cost (seed %d)",
  async (seed) => {
    const suite = createSuite(seed);
    const [all, early] = [await evaluate(suite), await evaluate(suite, { stopEarly: true })];
    expect(all.totals.trials).toBe(800);
    expect(early.cases.map(({ status }) => status)).toEqual(all.cases.map(({ status }) => status));
    expect(early.totals.costUSD ?? 1).toBeLessThanOrEqual((all.totals.costUSD ?? 0) / 2);
    expect(early.ended).toBe("complete");
    // Clear cases need few trials, and cases at the border need most.
    const trialsOf = (id: number): number => early.cases[id]?.trials.length ?? 0;
    expect(trialsOf(0)).toBeLessThan(12);
    expect(trialsOf(24)).toBeLessThan(6);
  },
);
