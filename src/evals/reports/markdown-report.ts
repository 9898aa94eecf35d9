// Writes a report as Markdown, for a pull request or the summary of a CI job.

import { countThings, formatCount } from "../../inspect/format.ts";
import { toCode, toFolded } from "../../inspect/exports/markdown-blocks.ts";
import type { EvalComparison } from "../compare-reports.ts";
import type { CaseReport, EvalReport } from "../evaluation.ts";
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
  findComparison,
  listChanges,
  listProblems,
  listReports,
  type ReportOptions,
  sortCases,
  sumSpent,
} from "./report-texts.ts";

/** GitHub cuts a comment at 65,536 characters. */
const maxProblems = 40;

/** A table of more rows would leave no space for the reasons. */
const maxRows = 80;

/** Passed cases are folded if there are more than this number. */
const maxOpenRows = 20;

/**
 * Returns a report as Markdown: the outcome, a table of cases with failed and flaky ones first, and the reasons of failed checks. Ids,
 * names and reasons are in code, so a viewer shows their Markdown, HTML and mentions as plain characters.
 *
 * @example
 * await appendFile(process.env.GITHUB_STEP_SUMMARY, toMarkdownReport(report));
 */
export function toMarkdownReport(report: EvalReport | readonly EvalReport[], options: ReportOptions = {}): string {
  const written = listReports(report).map((one) => writeReport(one, findComparison(one, options)));
  return `${written.join("\n\n")}\n`;
}

function writeReport(report: EvalReport, comparison: EvalComparison | undefined): string {
  const cases = sortCases(report.cases);
  const [open, calm] = [cases.filter((one) => !isCalm(one)), cases.filter(isCalm)];
  const isFolded = cases.length > maxOpenRows && calm.length > 0;
  const flaky = report.totals.flaky.map((id) => toCode(id)).join(", ");
  const blocks = [
    `## ${report.ok ? "✓" : "✗"} ${toCode(report.name)} ${describeOutcome(report)}`,
    [
      `${countThings(report.totals.passed + report.totals.failed, "trial")}: ${describeRate(report.totals)} passed`,
      describePassAt(report),
      describeSpent(report),
    ]
      .filter((part) => part !== undefined)
      .join(" · "),
    ...report.warnings.map((warning) => `**Warning:** ${toCode(warning)}`),
    ...(comparison === undefined ? [] : [writeComparison(comparison)]),
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

/** A vertical line ends a cell, in code too. */
function toCell(text: string): string {
  return toCode(text).replaceAll("|", "\\|");
}

function writeTable(cases: readonly CaseReport[]): string {
  const rows = cases.slice(0, maxRows).map((report) => {
    const { passed, failed } = report;
    const { tokens, costUSD } = sumSpent(report);
    const standing = `${passed}/${passed + failed}`;
    const cells = [toCell(report.id), describeCase(report).join(", "), standing, describeRate(report)];
    return writeRow([...cells, formatCount(tokens), describeCost(costUSD)]);
  });
  return [
    "| Case | Status | Passed | Rate (95 % interval) | Tokens | Cost |",
    "| --- | --- | --: | --: | --: | --: |",
    ...rows,
    ...(cases.length > maxRows ? ["", `and ${formatCount(cases.length - maxRows)} more cases`] : []),
  ].join("\n");
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function writeProblems(cases: readonly CaseReport[]): readonly string[] {
  const all = cases
    .flatMap(({ trials }) => trials)
    .flatMap((trial) =>
      listProblems(trial).map((problem) => {
        const { check, reason } = problem;
        const said = reason === "" ? "" : `: ${toCode(reason)}`;
        return `- ${toCode(trial.id)} ${check === undefined ? `**error**${said}` : `${toCode(check)}${said}`}`;
      }),
    );
  if (all.length === 0) return [];
  const more = all.length > maxProblems ? [`- and ${formatCount(all.length - maxProblems)} more`] : [];
  return [["**Failed checks**", "", ...all.slice(0, maxProblems), ...more].join("\n")];
}

function writeScores(report: EvalReport): readonly string[] {
  const scores = describeScores(report).map((score) => toCode(score));
  return scores.length === 0 ? [] : [`Mean scores: ${scores.join(", ")}`];
}

function writeComparison(comparison: EvalComparison): string {
  const lines = describeComparison(comparison, toCode).map((line, index) => (index === 0 ? `**${line}**` : line));
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
