// Writes a report as Markdown, for a pull request or a CI job's summary.

import { countThings, formatCount } from "../../inspect/format.ts";
import { toCode, toFolded } from "../../inspect/exports/markdown-blocks.ts";
import type { EvalComparison } from "../compare-reports.ts";
import type { CaseReport, EvalReport, TrialReport } from "../evaluation.ts";
import {
  cutReason,
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
  findComparison,
  groupProblems,
  isGood,
  listChanges,
  listReports,
  type ReportOptions,
  sortCases,
  sumSpent,
} from "./report-texts.ts";

/** The maximum number of listed problems. GitHub truncates comments at 65,536 characters. */
const maxProblems = 40;

/** The maximum number of table rows. More would leave no space for the reasons. */
const maxRows = 80;

/** The number of rows above which passed cases are collapsed. */
const maxOpenRows = 20;

/**
 * Returns a report as Markdown: the verdict, a table of cases with failed and flaky ones first, and the reasons for failed checks with the
 * question and the answer. All text is formatted as code, so viewers show any Markdown, HTML and mentions in it as plain text.
 *
 * @example
 * await appendFile(process.env.GITHUB_STEP_SUMMARY, toMarkdownReport(report));
 */
export function toMarkdownReport(report: EvalReport | readonly EvalReport[], options: ReportOptions = {}): string {
  const reports = listReports(report);
  const bad = reports.filter((one) => !isGood(one, findComparison(one, options))).map(({ name }) => toCode(name));
  const verdict =
    bad.length === 0
      ? `**✓ All ${reports.length} evaluations passed.**`
      : `**✗ ${bad.length} of ${reports.length} evaluations failed:** ${bad.join(", ")}`;
  const written = reports.map((one) => writeReport(one, findComparison(one, options)));
  return `${[...(reports.length > 1 ? [verdict] : []), ...written].join("\n\n")}\n`;
}

function writeReport(report: EvalReport, comparison: EvalComparison | undefined): string {
  const cases = sortCases(report.cases);
  const [open, calm] = [cases.filter((one) => !isCalm(one)), cases.filter(isCalm)];
  const isFolded = cases.length > maxOpenRows && calm.length > 0;
  const flaky = report.totals.flaky.map((id) => toCode(id)).join(", ");
  const [verdict, ...compared] = comparison === undefined ? [] : describeComparison(comparison, toCode);
  const outcome = describeOutcome(report);
  const blocks = [
    `## ${isGood(report, comparison) ? "✓" : "✗"} ${toCode(report.name)}${verdict === undefined ? ` ${outcome}` : `: ${verdict}`}`,
    ...(verdict === undefined ? [] : [`This version ${outcome}`]),
    [
      `${countThings(report.totals.passed + report.totals.failed, "trial")}: ${describeRate(report.totals)} passed`,
      describePassAt(report),
      describeSpent(report),
    ]
      .filter((part) => part !== undefined)
      .join(" · "),
    ...report.warnings.map((warning) => `**Warning:** ${toCode(warning)}`),
    ...(comparison === undefined ? [] : [writeComparison(comparison, compared)]),
    ...(flaky === "" ? [] : [`Flaky: ${flaky}`]),
    ...(isFolded && open.length === 0 ? [] : [writeTable(isFolded ? open : cases)]),
    ...writeProblems(open),
    ...(isFolded ? [toFolded(countThings(calm.length, "passed case"), writeTable(calm))] : []),
    ...writeScores(report),
  ];
  return blocks.join("\n\n");
}

function isCalm(report: CaseReport): boolean {
  return report.status === "passed" && describeCase(report).length === 1;
}

/** Escapes a table cell, because a vertical bar ends the cell even inside code. */
function toCell(text: string): string {
  return toCode(text).replaceAll("|", "\\|");
}

function writeTable(cases: readonly CaseReport[]): string {
  const rows = cases.slice(0, maxRows).map((report) => {
    const { passed, failed } = report;
    const spent = sumSpent(report);
    const standing = `${passed}/${passed + failed}`;
    const cells = [toCell(report.id), describeCase(report).join(", "), standing, describeRate(report)];
    return writeRow([...cells, formatCount(spent.tokens), describeCost(spent)]);
  });
  return [
    "| Case | Status | Passed | Rate (95% interval) | Tokens | Cost |",
    "| --- | --- | --: | --: | --: | --: |",
    ...rows,
    ...(cases.length > maxRows ? ["", `and ${formatCount(cases.length - maxRows)} more cases`] : []),
  ].join("\n");
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function writeProblems(cases: readonly CaseReport[]): readonly string[] {
  const all = cases.flatMap(groupProblems);
  if (all.length === 0) return [];
  const shown = new Set<TrialReport>();
  const lines = all.slice(0, maxProblems).flatMap(({ trial, check, reason, count }) => {
    const said = reason === "" ? "" : `: ${toCode(cutReason(reason))}`;
    const times = count === 1 ? "" : ` x${count}`;
    const line = `- ${toCode(trial.id)}${times} ${check === undefined ? `**error**${said}` : `${toCode(check)}${said}`}`;
    const texts = shown.has(trial) ? [] : writeTexts(trial);
    shown.add(trial);
    return [line, ...texts];
  });
  const more = all.length > maxProblems ? [`- and ${formatCount(all.length - maxProblems)} more`] : [];
  return [["**Failed checks**", "", ...lines, ...more].join("\n")];
}

function writeTexts({ question, answer }: TrialReport): readonly string[] {
  const asked = question === undefined ? [] : [`  - asked: ${toCode(question)}`];
  return [...asked, ...(answer === undefined ? [] : [`  - answered: ${toCode(answer)}`])];
}

function writeScores(report: EvalReport): readonly string[] {
  const scores = describeScores(report).map((score) => toCode(score));
  return scores.length === 0 ? [] : [`Mean scores: ${scores.join(", ")}`];
}

function writeComparison(comparison: EvalComparison, lines: readonly string[]): string {
  const changes = listChanges(comparison);
  if (changes.length === 0) return lines.join(" ");
  const rows = changes.map((one) => {
    const found = describeChange(one);
    return writeRow([
      toCell(one.id),
      one.change,
      describeStanding(one.before),
      describeStanding(one.after),
      found === "" ? "" : toCell(found),
    ]);
  });
  const head = ["| Case | Change | Before | Now | Scores and first difference |", "| --- | --- | --- | --- | --- |"];
  return [lines.join(" "), "", ...head, ...rows].join("\n");
}
