// The `turnwright/evals` entry point: evaluations of agents, with trials, statistics and replays.

export { defineEvaluation } from "./evaluation.ts";
export type {
  EvalCase,
  EvalCheck,
  EvalLimits,
  EvalOptions,
  EvalProgress,
  EvalReplay,
  EvalReport,
  Evaluation,
  Trial,
  TrialReport,
} from "./evaluation.ts";
export { evaluate } from "./evaluate.ts";
export { createJudge, type Judge, type LabelledAnswer } from "./judge.ts";
export { type EvalMatchers, evalMatchers } from "./matchers.ts";
export { type SimulatedTalk, simulateUser } from "./simulate-user.ts";
export { stubTools } from "./stub-tools.ts";
export { type HarnessResult, toHarnessResult } from "./to-harness-result.ts";
export { compareReports } from "./compare-reports.ts";
export type { EvalComparison } from "./compare-reports.ts";
export { renderEvalPage } from "./reports/eval-page.ts";
export { toJUnitReport } from "./reports/junit-report.ts";
export { toMarkdownReport } from "./reports/markdown-report.ts";
export { mcNemarTest, passAtK, passHatK, wilsonInterval } from "./statistics.ts";
