import { cases, closeShop, openShop, trialMs, trials } from "../../script.js";
import { evals, runToolLoop, supportAgent } from "../../turnwright-agent.js";

export const support = evals.defineEvaluation({
  name: "support",
  cases,
  trials,
  limits: { trialMs },
  setup: openShop,
  teardown: closeShop,
  run: ({ text }, trial) => runToolLoop(trial.options(supportAgent(text, trial.world))),
  check: (_result, shop, trial) => String(shop.paid) === String(trial.case.paid),
});
