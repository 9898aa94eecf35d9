// Summarizes the trials of an evaluation.

import { toJson } from "../shared/json.ts";
import type { CasePlan } from "./case-plan.ts";
import type { CaseReport, CheckReport, EvalCase, EvalReport, EvalTotals } from "./evaluation.ts";
import { isHard } from "./read-checks.ts";
import type { Spent } from "./spent.ts";
import { passAtK, passHatK, wilsonInterval } from "./statistics.ts";

type Facts = Pick<EvalReport, "name" | "trials" | "passRate" | "resumed" | "ended" | "startedAt" | "durationMs">;

export function makeReport(plans: readonly CasePlan<EvalCase>[], facts: Facts, spent: Spent): EvalReport {
  const cases = plans.map(reportCase);
  const ok = cases.every(({ status, errors }) => status === "passed" && errors === 0);
  return {
    format: "turnwright-evals",
    version: 1,
    ok,
    ...facts,
    warnings: findWarnings(cases),
    totals: { ...sumUp(cases), ...spent },
    cases,
  };
}

/** Warns about cases without a check that can fail, because they pass no matter what the agent does. */
function findWarnings(cases: readonly CaseReport[]): readonly string[] {
  const checksOf = ({ trials }: CaseReport): readonly CheckReport[] => trials.flatMap(({ checks }) => checks);
  const hasThrown = cases.some(({ failed }) => failed > 0);
  const soft = cases.filter((one) => {
    const checks = checksOf(one);
    // Assertions return nothing if they pass, so only a failed trial shows that there are any.
    const isTrusted = checks.length === 0 && hasThrown;
    return one.passed > 0 && !isTrusted && !checks.some(isHard);
  });
  if (soft.length === 0) return [];
  const names = soft.length === cases.length ? "any case" : soft.map(({ id }) => id).join(", ");
  return [
    `No check can fail ${names}: check returned nothing, or only scores without min. Return a boolean, { pass } or { score, min }. After assertions, return true.`,
  ];
}

function reportCase({ item, passed, failed, errors, status, reports }: CasePlan<EvalCase>): CaseReport {
  return {
    id: item.id,
    case: toJson(item),
    status,
    isFlaky: passed > 0 && failed > 0,
    passed,
    failed,
    errors,
    interval: wilsonInterval(passed, passed + failed),
    trials: [...reports].sort((one, other) => one.number - other.number),
  };
}

function sumUp(cases: readonly CaseReport[]): Omit<EvalTotals, keyof Spent> {
  const sum = (count: (report: CaseReport) => number): number => cases.reduce((total, report) => total + count(report), 0);
  const [passed, failed, errors] = [sum((one) => one.passed), sum((one) => one.failed), sum((one) => one.errors)];
  return {
    cases: cases.length,
    passedCases: cases.filter(({ status }) => status === "passed").length,
    trials: passed + failed + errors,
    passed,
    failed,
    errors,
    interval: wilsonInterval(passed, passed + failed),
    passAt: passAt(cases),
    flaky: cases.filter(({ isFlaky }) => isFlaky).map(({ id }) => id),
    scores: meanScores(cases),
  };
}

function passAt(all: readonly CaseReport[]): EvalTotals["passAt"] {
  // Leaves out a case whose trials all had errors, because it says nothing about the agent.
  const cases = all.filter(({ passed, failed }) => passed + failed > 0);
  if (cases.length === 0) return [];
  const most = Math.min(...cases.map(({ passed, failed }) => passed + failed));
  const mean = (chance: typeof passAtK, k: number): number =>
    cases.reduce((sum, { passed, failed }) => sum + (chance(passed, passed + failed, k) ?? 0), 0) / cases.length;
  return Array.from({ length: most }, (_, index) => index + 1).map((k) => ({ k, any: mean(passAtK, k), all: mean(passHatK, k) }));
}

function meanScores(cases: readonly CaseReport[]): { readonly [name: string]: number } {
  const found = new Map<string, number[]>();
  for (const { name, score } of cases.flatMap(({ trials }) => trials.flatMap(({ checks }) => checks)))
    if (score !== undefined) found.set(name, [...(found.get(name) ?? []), score]);
  return Object.fromEntries(
    [...found].map(([name, scores]) => [name, scores.reduce((sum, one) => sum + one, 0) / scores.length]),
  );
}
