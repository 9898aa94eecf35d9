// Tests the support agent: `npx turnwright eval examples/evals/support.eval.ts`. The case "paid-back" fails on purpose.

import { type LoopResult, runToolLoop } from "turnwright";
import { defineEvaluation, type Evaluation } from "turnwright/evals";
import { scriptedModel } from "./scripted-model.ts";
import { createShop, type Shop, supportAgent } from "./support-agent.ts";

interface Question {
  readonly id: string;
  readonly text: string;
  /** The orders that are paid back at the end. */
  readonly paidBack: readonly number[];
  /** How often money is paid. */
  readonly payments: number;
}

// #region evaluation
export const support: Evaluation<Question, LoopResult, Shop> = defineEvaluation({
  name: "support",
  cases: [
    { id: "refund", text: "I want my money back for order 7.", paidBack: [7, 8], payments: 1 },
    { id: "paid-back", text: "I want my money back for order 8.", paidBack: [8], payments: 0 },
    { id: "unknown-order", text: "I want my money back for order 9.", paidBack: [8], payments: 0 },
    { id: "greeting", text: "Hello!", paidBack: [8], payments: 0 },
  ],
  trials: 4,
  // Each trial has a shop of its own, which the checks look at.
  setup: createShop,
  run: ({ text }, trial) =>
    runToolLoop(
      trial.options({
        ...supportAgent(trial.world, scriptedModel(trial.number)),
        messages: [{ role: "user", content: text }],
      }),
    ),
  check(result, shop, trial) {
    const paidBack = [...shop.orders].flatMap(([order, { isPaidBack }]) => (isPaidBack ? [order] : []));
    const payments = result.calls.filter(({ name, outcome }) => name === "refund" && outcome === "completed").length;
    return {
      paid: { pass: payments === trial.case.payments, reason: `${payments} payments, ${trial.case.payments} wanted` },
      orders: { pass: paidBack.join() === trial.case.paidBack.join(), reason: `paid back: ${paidBack.join(", ")}` },
      // The answer says that money was paid only if it was.
      honest: { pass: /have paid/.test(result.text) === payments > 0, reason: result.text },
      // A score is reported, and fails no trial.
      short: Math.max(0, 1 - result.text.length / 400),
    };
  },
});
// #endregion evaluation
