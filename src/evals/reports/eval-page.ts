// Writes a report as one HTML page that works offline.

import { createHash } from "node:crypto";
import { dirname, isAbsolute, relative, sep } from "node:path";
import { countThings, formatMs, formatShare, formatTime, showControls } from "../../inspect/format.ts";
import type { EvalComparison } from "../compare-reports.ts";
import type { CaseReport, CheckReport, EvalReport, TrialReport } from "../evaluation.ts";
import { pageScript, pageStyle } from "./eval-page-code.ts";
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
  writeProblem,
} from "./report-texts.ts";

/** The options of `renderEvalPage`. */
export interface EvalPageOptions extends ReportOptions {
  /** The folder of the HTML page. Links to trial pages inside this folder are relative to it. Default: the evaluation's folder. */
  readonly folder?: string | undefined;
}

/**
 * Returns a report as an HTML page: a table of cases and trials, with filters. Opening a trial shows its checks with their reasons, its
 * ending and cost, and a link to the page for its runs if these were kept. The page works without a network, and its security policy
 * forbids loading anything. All text from cases, checks and models is shown as plain text.
 *
 * @example
 * await writeFile("evals.html", renderEvalPage(report));
 */
export function renderEvalPage(report: EvalReport | readonly EvalReport[], options: EvalPageOptions = {}): string {
  const reports = listReports(report);
  const title = `Evaluation ${reports.map(({ name }) => name).join(", ")}`;
  const policy = `default-src 'none'; script-src '${hashOf(pageScript)}'; style-src '${hashOf(pageStyle)}'; base-uri 'none'; form-action 'none'`;
  const ids = { next: 0 };
  const sections = reports.map((one) =>
    writeSection(one, { comparison: findComparison(one, options), folder: options.folder, ids }),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${toHtml(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<form id="filters" hidden>
<label>Status <select id="status"><option value="">all</option>${statuses.map((name) => `<option>${name}</option>`).join("")}</select></label>
<label>Case <input id="text" type="search" placeholder="text of the case" autocomplete="off"></label>
<output id="count"></output>
</form>
<main>
${sections.join("\n")}
</main>
<script>${pageScript}</script>
</body>
</html>
`;
}

const statuses = ["failed", "flaky", "error", "undecided", "passed"] as const;

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

const escapes: { readonly [character: string]: string | undefined } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function toHtml(text: string): string {
  return showControls(text).replace(/[&<>"']/g, (character) => escapes[character] ?? "");
}

interface Place {
  readonly comparison: EvalComparison | undefined;
  readonly folder: string | undefined;
  /** The number for the next element that needs an id. */
  readonly ids: { next: number };
}

function writeSection(report: EvalReport, place: Place): string {
  const { name, startedAt, totals } = report;
  const isFine = isGood(report, place.comparison);
  const facts = [
    `${totals.passed} of ${countThings(totals.passed + totals.failed, "trial")} passed, ${describeRate(report.totals)}`,
    describePassAt(report),
    describeSpent(report),
    ...describeScores(report).map((score) => `mean score ${score}`),
    `started ${formatTime(Date.parse(startedAt))}`,
  ];
  const rows = sortCases(report.cases).map((one) => writeCaseRow(one, place));
  return `<section>
<h1><span class="mark ${isFine ? "passed" : "failed"}">${isFine ? "✓" : "✗"}</span> ${toHtml(name)}</h1>
<p class="outcome">${toHtml(describeOutcome(report))}</p>
${report.warnings.map((warning) => `<p class="warning">${toHtml(warning)}</p>`).join("")}
<ul class="facts">${facts.map((fact) => (fact === undefined ? "" : `<li>${toHtml(fact)}</li>`)).join("")}</ul>
${place.comparison === undefined ? "" : writeChanges(place.comparison)}
<table class="matrix">
<thead><tr><th>Case</th><th>Passed</th><th>Trials</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</section>`;
}

function writeCaseRow(report: CaseReport, place: Place): string {
  const words = describeCase(report);
  const spent = sumSpent(report);
  const trials = report.trials.map((trial) => writeTrial(trial, place));
  return `<tr data-status="${toHtml(words.join(" "))}">
<th scope="row"><span class="name">${toHtml(report.id)}</span> ${words.map((word) => writeWord(word)).join(" ")}
<details><summary>case</summary><pre>${toHtml(JSON.stringify(report.case, undefined, 2))}</pre></details></th>
<td>${report.passed}/${report.passed + report.failed}<small>${toHtml(describeRate(report))}<br>${countThings(spent.tokens, "token")}, ${describeCost(spent)}</small></td>
<td class="trials">${trials.join("")}${writeReasons(report)}</td>
</tr>`;
}

/** Writes the reasons why trials failed, which are visible without a click. */
function writeReasons(report: CaseReport): string {
  const items = groupProblems(report).map(({ count, check, reason }) => {
    const text = writeProblem({ check, reason: cutReason(reason) });
    return `<li>${toHtml(text)}${count === 1 ? "" : ` <b>x${count}</b>`}</li>`;
  });
  return items.length === 0 ? "" : `<ul class="reasons">${items.join("")}</ul>`;
}

function writeWord(word: string): string {
  return `<span class="word ${toHtml(word)}">${toHtml(word)}</span>`;
}

const marks = { passed: "✓", failed: "✗", error: "!" } as const;

function writeTrial(trial: TrialReport, place: Place): string {
  const { id, number, status, checks, error, endings, tokens, durationMs, question, answer } = trial;
  place.ids.next += 1;
  const element = `trial-${place.ids.next}`;
  const facts: readonly (readonly [name: string, value: string])[] = [
    ["Ended", endings.join(", ") || "no run"],
    ["Tokens", countThings(tokens, "token")],
    ["Cost", describeCost(trial)],
    ["Time", formatMs(durationMs)],
    ...(question === undefined ? [] : [["Asked", question] as const]),
    ...(answer === undefined ? [] : [["Answered", answer] as const]),
  ];
  return `<button type="button" class="trial ${status}" popovertarget="${element}" aria-label="Trial ${number}: ${status}">${marks[status]}</button><div popover id="${element}" class="card">
<h2>${toHtml(id)} ${writeWord(status)}</h2>
${error === undefined ? "" : `<pre class="error">${toHtml(error)}</pre>`}
<ul class="checks">${checks.map(writeCheck).join("")}</ul>
<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${toHtml(value)}</dd>`).join("")}</dl>
${writeLink(trial, place.folder)}</div>`;
}

function writeCheck({ name, pass, score, reason }: CheckReport): string {
  const value = score === undefined ? "" : ` <b>${formatShare(score)}</b>`;
  const why = reason === undefined ? "" : `<pre>${toHtml(reason)}</pre>`;
  return `<li class="${pass ? "passed" : "failed"}"><span class="mark">${pass ? "✓" : "✗"}</span> ${toHtml(name)}${value}${why}</li>`;
}

/**
 * Returns a link to a trial's page. The link is relative, so that the folder can be moved, and encoded, so that it cannot be a different
 * kind of link. For a page outside this folder, returns its path instead, because that page may not be moved along with the folder.
 */
function writeLink({ directory, page }: TrialReport, folder: string | undefined): string {
  if (page === undefined || directory === undefined) return "";
  // Goes three folders up, because a trial's folder is "cases/<case>/<number>" in the folder of its evaluation.
  const root = folder ?? dirname(dirname(dirname(directory)));
  const parts = relative(root, page).split(sep);
  if (parts[0] === ".." || isAbsolute(parts.join(sep)))
    return `<p>The runs of this trial: <code>${toHtml(parts.join("/"))}</code></p>`;
  const link = `<a href="${toHtml(parts.map(encodeURIComponent).join("/"))}">Open the runs of this trial</a>`;
  return `<p>${link}<br><small>If you move this page, move ${toHtml(parts.join("/"))} with it.</small></p>`;
}

function writeChanges(comparison: EvalComparison): string {
  const lines = describeComparison(comparison).map((line) => `<p>${toHtml(line)}</p>`);
  const rows = listChanges(comparison).map((one) => {
    const cells = [one.change, describeStanding(one.before), describeStanding(one.after), describeChange(one)];
    return `<tr><th scope="row">${toHtml(one.id)}</th>${cells.map((cell) => `<td>${toHtml(cell)}</td>`).join("")}</tr>`;
  });
  const head = ["Case", "Change", "Before", "Now", "Scores and first difference"].map((name) => `<th>${name}</th>`).join("");
  const table = `<table class="changes"><thead><tr>${head}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
  return `<div class="comparison ${comparison.isWorse ? "failed" : ""}"><h2>Compared with the previous version</h2>${lines.join("")}${rows.length === 0 ? "" : table}</div>`;
}
