// Formats an evaluation's progress and result for a terminal.

import { formatMs } from "../../inspect/format.ts";
import { cutText } from "../../shared/texts.ts";
import type { EvalComparison } from "../compare-reports.ts";
import type { EvalProgress, EvalReport, TrialReport } from "../evaluation.ts";
import {
  describeCase,
  describeChange,
  describeComparison,
  describeCost,
  describeOutcome,
  describePassAt,
  describeRate,
  describeScores,
  describeSpent,
  describeStanding,
  listChanges,
  listProblems,
  sortCases,
  sumSpent,
  writeProblem,
} from "./report-texts.ts";

/** Returns a line such as "3/12 ✗ refund/2 refunded: 0 refunds · 1.25 s · $0.0042". */
export function writeProgress(trial: TrialReport, { ended, total }: EvalProgress): string {
  const mark = { passed: "✓", failed: "✗", error: "!" }[trial.status];
  const why = listProblems(trial).map(writeProblem).join("; ");
  const facts = [`${ended}/${total} ${mark} ${trial.id}${why === "" ? "" : ` ${why}`}`, formatMs(trial.durationMs)];
  return toLine([...facts, ...(trial.knownCostUSD > 0 ? [describeCost(trial)] : [])].join(" · "));
}

/** Formats an evaluation's result as lines: a table of all cases, then the totals. */
export function writeTerminalReport(report: EvalReport, comparison?: EvalComparison): readonly string[] {
  const rows = sortCases(report.cases).map((one) => {
    const { passed, failed } = one;
    const cells = [toLine(one.id), describeCase(one).join(", "), `${passed}/${passed + failed}`, describeRate(one)];
    return [...cells, describeCost(sumSpent(one))];
  });
  const { flaky, passed, failed } = report.totals;
  const rate = `Trials: ${passed} of ${passed + failed} passed, ${describeRate(report.totals)}`;
  return [
    `${toLine(report.name)} ${describeOutcome(report)}`,
    ...writeColumns([["case", "status", "passed", "rate (95% interval)", "cost"], ...rows]),
    [rate, describePassAt(report)].filter((part) => part !== undefined).join(" · "),
    ...(flaky.length === 0 ? [] : [`Flaky: ${flaky.map(toLine).join(", ")}`]),
    ...(describeScores(report).length === 0 ? [] : [`Mean scores: ${describeScores(report).map(toLine).join(", ")}`]),
    describeSpent(report),
    ...report.warnings.map((warning) => `Warning: ${toLine(warning)}`),
    ...(comparison === undefined ? [] : writeTerminalComparison(comparison)),
  ];
}

function writeTerminalComparison(comparison: EvalComparison): readonly string[] {
  const rows = listChanges(comparison).map((one) => [
    toLine(one.id),
    one.change,
    `${describeStanding(one.before)} → ${describeStanding(one.after)}`,
    toLine(describeChange(one)),
  ]);
  return [...describeComparison(comparison), ...writeColumns(rows)];
}

function writeColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd());
}

const maxLine = 300;

function toLine(text: string): string {
  return cutText(text.replace(/\s+/g, " ").trim(), maxLine);
}
