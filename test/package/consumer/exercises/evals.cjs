// Evaluates an agent with two trials, one of which fails.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { defineEvaluation, evaluate, toMarkdownReport } = await load("turnwright/evals");
  const { createMockProvider, text } = await load("turnwright/testing");
  const evaluation = defineEvaluation({
    name: "greetings",
    cases: [{ id: "hello" }],
    directory: false,
    trials: 2,
    run: (_item, trial) => {
      const provider = createMockProvider([text(trial.number === 1 ? "Hello." : "Go away.")]);
      return runToolLoop(trial.options({ provider, messages: [{ role: "user", content: "Hi." }] }));
    },
    check: (result) => result.text === "Hello.",
  });
  const report = await evaluate(evaluation);
  assert.deepEqual([report.ok, report.totals.passed, report.totals.failed, report.totals.flaky], [false, 1, 1, ["hello"]]);
  assert.match(toMarkdownReport(report), /hello/);
};
