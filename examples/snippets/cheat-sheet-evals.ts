// A summary for llms.txt: evaluations. If a type here differs from the real type, the compiler reports an error.

import type { LoopResult, Tool } from "turnwright";
import * as evals from "turnwright/evals";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type JudgeOptions = ArgumentOf<typeof evals.createJudge>;
type StubOptions = ArgumentOf<typeof evals.stubTools, 2>;
type Stubs = ArgumentOf<typeof evals.stubTools, 1>;
type SimulatedUserOptions = ArgumentOf<typeof evals.simulateUser>;
type ReportOptions = ArgumentOf<typeof evals.toMarkdownReport, 1>;
type PageOptions = ArgumentOf<typeof evals.renderEvalPage, 1>;
type CompareOptions = ArgumentOf<typeof evals.compareReports, 2>;
type HarnessResult = ReturnType<typeof evals.toHarnessResult>;
type Reports = evals.EvalReport | readonly evals.EvalReport[];

// #region evals
interface EvalsEntry {
  // { name, cases: [{ id, ... }], setup?(item), run(item, trial), check(result, world, trial), teardown?(world), ...EvalOptions }
  // run returns a result, a stream or any value; use trial.options({ provider, tools, messages, ... }) for its runs
  // check throws, or returns a boolean or { name: boolean | score | { pass, reason } | { score, reason, min } }
  defineEvaluation<Case extends evals.EvalCase, Result, World = undefined>(
    evaluation: evals.Evaluation<Case, Result, World>,
  ): evals.Evaluation<Case, Result, World>;
  // options: { trials: 1, passRate: 1, stopEarly: false, limits: { maxCostUSD, maxTokens, maxDurationMs, trialMs: 600_000, concurrency: 4 },
  //   directory: ".turnwright/evals" | false, keep: "failed" | "all", only, model, replay: true | { trials, from, match, directory }, signal, onTrial, clock }
  // report: { ok, ended, totals, cases: [{ id, status, isFlaky, passed, failed, errors, interval, trials }] }
  evaluate<Case extends evals.EvalCase, Result, World>(
    evaluation: evals.Evaluation<Case, Result, World>,
    options?: evals.EvalOptions,
  ): Promise<evals.EvalReport>;
  compareReports(before: evals.EvalReport, after: evals.EvalReport, options?: CompareOptions): Promise<evals.EvalComparison>; // { maxDrop: 0.05 }
  toMarkdownReport(reports: Reports, options?: ReportOptions): string; // { comparison }
  toJUnitReport(reports: Reports): string;
  renderEvalPage(reports: Reports, options?: PageOptions): string; // one offline HTML page
  // { provider, criterion, min?, isAlone: false, maxCostUSD?, pricing?, modelSettings? }; judge.score(answer, trial), .compare(first, second, trial), .agreement(examples, trial)
  createJudge(options: JudgeOptions): evals.Judge;
  stubTools<T extends Tool>(tools: readonly T[], stubs: Stubs, options?: StubOptions): readonly T[]; // { others: "fail" | "run" }
  // { provider, goal, send(message), first?, maxTurns: 10, modelSettings?, pricing? }
  simulateUser(options: SimulatedUserOptions, trial?: Pick<evals.Trial, "options">): Promise<evals.SimulatedTalk>;
  evalMatchers: typeof evals.evalMatchers; // expect.extend(evalMatchers): toHaveCalled(tool, args?), toEndAs(ending), toStayWithin({ iterations, toolCalls, tokens, costUSD, durationMs })
  toHarnessResult(result: LoopResult): HarnessResult; // for createHarness of vitest-evals
  wilsonInterval(passed: number, trials: number): readonly [low: number, high: number]; // 95%
  passAtK(passed: number, trials: number, k: number): number | undefined; // one of k trials passes
  passHatK(passed: number, trials: number, k: number): number | undefined; // all of k trials pass
  mcNemarTest(worse: number, better: number): number; // the exact two-sided p-value
}
// #endregion evals

evals satisfies EvalsEntry;
expectNone<Differing<EvalsEntry, typeof evals>>();
