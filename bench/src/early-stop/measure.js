// Compares the decisions and the cost of evaluations that stop early with those of all trials, and sends a table to the parent process.
import { dist } from "../turnwright.js";
import { createCases, passRate, rates, trials } from "./suite.js";

const seeds = Array.from({ length: 12 }, (_, index) => index + 1);
const certainties = [0.9, 0.99, 0.997, 0.999];

/** @type {typeof import("../../../src/evals/index.ts")} */
const { defineEvaluation, evaluate } = await import(new URL("evals.js", dist).href);
/** @type {typeof import("../../../src/core/index.ts")} */
const { runToolLoop } = await import(new URL("index.js", dist).href);
/** @type {typeof import("../../../src/testing/index.ts")} */
const { createMockProvider, text, usage } = await import(new URL("testing.js", dist).href);

/** @param {number} seed */
const createSuite = (seed) =>
  defineEvaluation({
    name: "scripted suite",
    cases: createCases(seed),
    directory: false,
    trials,
    passRate,
    run({ outcomes }, trial) {
      const answer = outcomes[trial.number - 1] === true ? "right" : "wrong";
      const provider = createMockProvider([[text(answer), usage({ inputTokens: 90, outputTokens: 10 })]]);
      return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: "?" }], pricing: () => 0.01 }));
    },
    check: (result) => result.text === "right",
  });

const spent = { all: 0, early: certainties.map(() => ({ cost: 0, trials: 0, differ: /** @type {string[]} */ ([]) })) };
for (const seed of seeds) {
  const suite = createSuite(seed);
  const all = await evaluate(suite);
  spent.all += all.totals.costUSD ?? 0;
  for (const [index, stopEarly] of certainties.entries()) {
    const early = await evaluate(suite, { stopEarly });
    const sum = spent.early[index];
    if (sum === undefined) continue;
    sum.cost += early.totals.costUSD ?? 0;
    sum.trials += early.totals.trials;
    for (const [place, { id, status }] of early.cases.entries())
      if (status !== all.cases[place]?.status)
        sum.differ.push(`${id} of seed ${seed}, which passes ${rates[place]} of its trials`);
  }
}

const decisions = seeds.length * rates.length;
const head = ["`stopEarly`", `decisions that differ, of ${decisions}`, "trials of a case", "cost"];
const rows = spent.early.map(({ cost, trials: run, differ }, index) => [
  certainties[index] === 0.997 ? "`true`, or 0.997" : String(certainties[index]),
  String(differ.length),
  (run / decisions).toFixed(1),
  `${Math.round((100 * cost) / spent.all)} %`,
]);
const table = [head, ["---", "--:", "--:", "--:"], ["`false`", "0", String(trials), "100 %"], ...rows]
  .map((cells) => `| ${cells.join(" | ")} |`)
  .join("\n");
const differ = spent.early.flatMap((sum, index) => sum.differ.map((one) => `${certainties[index]}: ${one}`));
process.send?.({ table, differ }, () => process.exit(0));
