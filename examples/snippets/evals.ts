import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runToolLoop } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import {
  compareReports,
  createJudge,
  defineEvaluation,
  evaluate,
  type LabelledAnswer,
  simulateUser,
  stubTools,
  toJUnitReport,
  toMarkdownReport,
} from "turnwright/evals";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { createShop, supportAgent } from "../evals/support-agent.ts";
import { greetings } from "../evals/greetings.eval.mjs";
import { scriptedModel } from "../evals/scripted-model.ts";

const directory = mkdtempSync(join(tmpdir(), "evals-"));
const grade = (found: number): MockMessage => text(JSON.stringify({ reason: "It says what was done.", grade: found }));
const judgeModel = createMockProvider(() => grade(5));
const userModel = createMockProvider([text("Order 7, please."), toolCall("end_conversation", { content: true })]);

const first = await evaluate(greetings, { directory });
assert(first.ok);

// #region test
const report = await evaluate(greetings, {
  trials: 20,
  passRate: 0.9,
  stopEarly: true,
  limits: { maxTokens: 100_000 },
  directory,
});
assert(report.ok, toMarkdownReport(report));
// #endregion test
assert(report.totals.trials < 40);

{
  // #region gate
  const { ended, totals } = await evaluate(greetings, { directory });
  const isComplete = ended === "complete" && totals.errors === 0;
  if (!isComplete || totals.passed / totals.trials < 0.9) process.exitCode = 1;
  // #endregion gate
  assert.equal(process.exitCode, undefined);
}

// #region judge
const clear = createJudge({ provider: judgeModel, criterion: "The answer says what was done, and for which order.", min: 0.5 });
const refunds = defineEvaluation({
  name: "refunds",
  cases: [{ id: "refund", question: "I want my money back for order 7." }],
  setup: createShop,
  run: ({ question }, trial) =>
    runToolLoop(
      trial.options({
        ...supportAgent(trial.world, scriptedModel(trial.number)),
        messages: [{ role: "user", content: question }],
      }),
    ),
  check: async (result, shop, trial) => ({
    refunded: shop.orders.get(7)?.isPaidBack === true,
    clear: await clear.score({ question: trial.case.question, answer: result.text }, trial),
  }),
});
// #endregion judge
assert((await evaluate(refunds, { directory })).ok);

const labelled: readonly LabelledAnswer[] = [
  { answer: "I have paid order 7 back.", isGood: true },
  { answer: "Done.", isGood: false },
];
// #region agreement
const { agreement, kappa, disagreements } = await clear.agreement(labelled);
console.log(`agrees with people in ${Math.round(100 * agreement)}%, kappa ${kappa}`);
for (const { example, reason } of disagreements) console.log(example.answer, reason);
// #endregion agreement
assert.equal(agreement, 0.5);

// #region stubs
const tools = supportAgent(createShop(), scriptedModel(1)).tools;
const safe = stubTools(Array.isArray(tools) ? tools : [], {
  get_order: { price: 40, isPaidBack: false },
  refund: ({ order }: { readonly order: number }) => ({ paid: order }),
});
// #endregion stubs
assert.equal(safe.length, 2);

// #region user
const talks = defineEvaluation({
  name: "talks",
  cases: [{ id: "return", goal: "You want your money back for order 7. You do not say the number unless you are asked." }],
  setup: createShop,
  async run({ goal }, trial) {
    const conversation = createConversation({
      id: trial.case.id,
      store: memoryConversationStore(),
      options: supportAgent(trial.world, scriptedModel(trial.number)),
      wrapOptions: trial.options,
    });
    return simulateUser({ provider: userModel, goal, send: (message) => conversation.send(message), maxTurns: 6 }, trial);
  },
  check: (talk, shop) => ({ content: talk.ended === "content", refunded: shop.orders.get(7)?.isPaidBack === true }),
});
// #endregion user
assert((await evaluate(talks, { directory })).ok);

const before = report;
const after = first;
// #region compare
const comparison = await compareReports(before, after);
console.log(toMarkdownReport(after, { comparison }), toJUnitReport(after));
if (comparison.isWorse) process.exitCode = 1;
// #endregion compare
assert.equal(comparison.isWorse, false);
rmSync(directory, { recursive: true });
