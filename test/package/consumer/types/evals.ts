import { type LoopResult, runToolLoop } from "turnwright";
import { createJudge, defineEvaluation, type EvalReport, evaluate, evalMatchers, toHarnessResult } from "turnwright/evals";
import { createMockProvider, text } from "turnwright/testing";

export async function evaluateGreetings(): Promise<EvalReport> {
  const judge = createJudge({ provider: createMockProvider([text("{}")]), criterion: "It is polite." });
  const evaluation = defineEvaluation({
    name: "greetings",
    cases: [{ id: "hello", question: "Hi." }],
    setup: () => ({ greeted: 0 }),
    run: ({ question }, trial) => {
      trial.world.greeted += 1;
      const messages = [{ role: "user" as const, content: question }];
      return runToolLoop(trial.options({ provider: createMockProvider([text("Hello.")]), messages }));
    },
    check: async (result, world, trial) => ({ once: world.greeted === 1, polite: await judge.score(result.text, trial) }),
  });
  return evaluate(evaluation, { trials: 2, stopEarly: true, limits: { maxCostUSD: 1 } });
}

export const output = (result: LoopResult): string => JSON.stringify([toHarnessResult(result).output, Object.keys(evalMatchers)]);
