import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { defineEvaluation, evaluate, mcNemarTest, passAtK, passHatK, wilsonInterval } from "turnwright/evals";

describe("wilsonInterval", () => {
  it.each([
    [5, 5, 0.5655, 1],
    [0, 5, 0, 0.4345],
    [8, 10, 0.4902, 0.9433],
    [50, 100, 0.4038, 0.5962],
    [0, 0, 0, 1],
  ])("for %i of %i trials is %f to %f", (passed, trials, ...interval) => {
    expect(wilsonInterval(passed, trials).map((end) => end.toFixed(4))).toEqual(interval.map((end) => end.toFixed(4)));
  });
});

/** All subsets of `k` of the outcomes. */
function choose(outcomes: readonly boolean[], k: number): readonly (readonly boolean[])[] {
  if (k === 0) return [[]];
  return outcomes.flatMap((outcome, index) => choose(outcomes.slice(index + 1), k - 1).map((rest) => [outcome, ...rest]));
}

const outcomes = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });

describe("pass@k and pass^k", () => {
  it("are the shares of samples in which at least one trial passed and in which all trials passed", () => {
    fc.assert(
      fc.property(outcomes, fc.integer({ min: 1, max: 8 }), (trials, k) => {
        const passed = trials.filter(Boolean).length;
        const samples = choose(trials, k);
        if (samples.length === 0) {
          expect([passAtK(passed, trials.length, k), passHatK(passed, trials.length, k)]).toEqual([undefined, undefined]);
          return;
        }
        const share = (holds: (sample: readonly boolean[]) => boolean): number => samples.filter(holds).length / samples.length;
        expect(passAtK(passed, trials.length, k)).toBeCloseTo(share((sample) => sample.some(Boolean)));
        expect(passHatK(passed, trials.length, k)).toBeCloseTo(share((sample) => sample.every(Boolean)));
      }),
    );
  });
});

describe("mcNemarTest", () => {
  it.each([
    [0, 0, 1],
    [1, 9, 0.0215],
    [9, 1, 0.0215],
    [3, 5, 0.7266],
    [0, 6, 0.0313],
    [20, 40, 0.0135],
    [4, 4, 1],
  ])("for %i worse and %i better pairs is %f", (worse, better, p) => {
    expect(mcNemarTest(worse, better)).toBeCloseTo(p, 4);
  });
});

it("evaluate: reports pass@k and pass^k for cases with a verdict, even if another case has errors", async () => {
  const evaluation = defineEvaluation({
    name: "support",
    cases: [{ id: "refund" }, { id: "broken" }],
    directory: false,
    run({ id }) {
      if (id === "broken") throw new Error("no such customer");
    },
    check: () => true,
  });
  const report = await evaluate(evaluation, { trials: 2 });
  expect(report.totals.passAt).toEqual([1, 2].map((k) => ({ k, any: 1, all: 1 })));
  expect((await evaluate(evaluation, { only: ["broken"] })).totals.passAt).toEqual([]);
});
