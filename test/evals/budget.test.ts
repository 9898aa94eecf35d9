import { defineEvaluation, evaluate, toMarkdownReport } from "turnwright/evals";
import { createMockProvider, fail, type MockPart, text, usage } from "turnwright/testing";
import { runToolLoop } from "turnwright";
import { describe, expect, it } from "vitest";

const answer: readonly MockPart[] = [text("right"), usage({ inputTokens: 90, outputTokens: 10 })];

describe("limits.maxCostUSD", () => {
  const evaluateWith = (broken: readonly MockPart[], maxCostUSD: number, price: number | undefined = 0.25) =>
    evaluate(
      defineEvaluation({
        name: "support",
        cases: [{ id: "first" }, { id: "broken" }, { id: "last" }],
        directory: false,
        run({ id }, trial) {
          const provider = createMockProvider([id === "broken" ? broken : answer]);
          return runToolLoop(
            trial.options({ provider, messages: [{ role: "user" as const, content: "?" }], pricing: () => price }),
          );
        },
        check: (result) => result.text === "right",
      }),
      { limits: { maxCostUSD, concurrency: 1 } },
    );

  it("lets an evaluation continue after a failed request", async () => {
    const report = await evaluateWith([fail({ code: "bad-request" })], 10);
    expect(report.ended).toBe("complete");
    expect(report.cases.map(({ status }) => status)).toEqual(["passed", "error", "passed"]);
    expect(report.totals).toMatchObject({ costUSD: undefined, knownCostUSD: 0.5 });
    expect(toMarkdownReport(report)).toContain("200 tokens · at least $0.5000 · ");
  });

  it("counts a failed request at the cost of the most expensive one so far", async () => {
    const report = await evaluateWith([fail({ code: "bad-request" })], 0.5);
    expect(report.ended).toBe("max-cost");
  });

  it("ends an evaluation after an answer without a price", async () => {
    const report = await evaluateWith(answer, 10, Number.NaN);
    expect(report.ended).toBe("cost-unknown");
  });
});

it.for([
  [{ maxCostUSD: 1 }, 1],
  [{ maxTokens: 1 }, 1],
  [{ concurrency: 1 }, 0],
] as const)("evaluate: warns if it cannot count what the limits %o restrict", async ([limits, count]) => {
  const evaluation = defineEvaluation({
    name: "own",
    cases: [{ id: "a" }],
    directory: false,
    run: () => "right",
    check: (said) => said === "right",
  });
  const { warnings } = await evaluate(evaluation, { limits });
  expect(warnings).toEqual(Array.from({ length: count }, () => expect.stringMatching(/^No trial has passed trial.options/)));
});
