// Writes a report in the JUnit XML format, which CI systems read.

import { formatShare, showControls } from "../../inspect/format.ts";
import type { CaseReport, EvalReport } from "../evaluation.ts";
import {
  describeCase,
  describePassAt,
  describeScores,
  listProblems,
  listReports,
  sumSpent,
  writeProblem,
} from "./report-texts.ts";

/**
 * Returns a report in JUnit's XML format: a test for each case, with each trial's failed checks, even if the case passed. A
 * case has an error instead of a failure if trials could not be judged. Rates, tokens and costs are properties. Control characters are
 * shown as code points.
 *
 * @example
 * await writeFile("evals.xml", toJUnitReport(report));
 */
export function toJUnitReport(report: EvalReport | readonly EvalReport[]): string {
  const suites = listReports(report);
  const all = countOutcomes(suites.flatMap(({ cases }) => cases));
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    ...writeElement("testsuites", { name: "turnwright", ...all }, suites.flatMap(writeSuite)),
  ];
  return `${lines.join("\n")}\n`;
}

function countOutcomes(cases: readonly CaseReport[]): Fields {
  const count = (outcome: Outcome): number => cases.filter((one) => outcomeOf(one) === outcome).length;
  return { tests: cases.length, failures: count("failure"), errors: count("error") };
}

type Outcome = "failure" | "error" | "success";

function outcomeOf({ status, errors }: CaseReport): Outcome {
  if (status === "failed") return "failure";
  return status === "passed" && errors === 0 ? "success" : "error";
}

const toSeconds = (ms: number): string => (ms / 1_000).toFixed(3);

function writeSuite(report: EvalReport): readonly string[] {
  const { name, cases, durationMs, startedAt, totals, ended } = report;
  const facts = { name, ...countOutcomes(cases), skipped: 0, time: toSeconds(durationMs), timestamp: startedAt };
  const properties = writeProperties({
    ended,
    ...describeNumbers(totals),
    passAt: describePassAt(report),
    scores: describeScores(report).join(", ") || undefined,
    tokens: totals.tokens,
    cachedTokens: totals.cachedTokens,
    costUSD: totals.costUSD,
    warnings: report.warnings.join(" ") || undefined,
  });
  return writeElement("testsuite", facts, [...properties, ...cases.flatMap((one) => writeCase(one, report))]);
}

function describeNumbers({
  passed,
  failed,
  errors,
  interval,
}: Pick<CaseReport, "passed" | "failed" | "errors" | "interval">): Fields {
  const trials = passed + failed;
  const [low, high] = interval;
  return {
    passed,
    failed,
    errors,
    passRate: trials === 0 ? undefined : passed / trials,
    intervalLow: low,
    intervalHigh: high,
  };
}

interface Fields {
  readonly [name: string]: string | number | undefined;
}

function writeProperties(fields: Fields): readonly string[] {
  const properties = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : writeElement("property", { name, value }),
  );
  return writeElement("properties", {}, properties);
}

function writeCase(report: CaseReport, { name, ended }: EvalReport): readonly string[] {
  const { id, passed, failed, errors, trials } = report;
  const judged = passed + failed;
  const { tokens, costUSD, durationMs } = sumSpent(report);
  const properties = writeProperties({ status: describeCase(report).join(", "), ...describeNumbers(report), tokens, costUSD });
  const outcome = outcomeOf(report);
  const shares = { failure: failed / judged, error: errors / trials.length };
  const texts = {
    failure: `${failed} of ${judged} trials failed (${formatShare(shares.failure)})`,
    error:
      errors > 0
        ? `${errors} of ${trials.length} trials had an error (${formatShare(shares.error)})`
        : `The case has no verdict: the evaluation ended before (${ended}).`,
  };
  const problems = trials.flatMap((trial) =>
    listProblems(trial).map((problem) => `trial ${trial.number}: ${writeProblem(problem)}`),
  );
  const text = escapeXml(problems.join("\n"));
  // Also writes the problems of a case that passed, because some of its trials may have failed.
  const remarks = problems.length === 0 ? [] : writeElement("system-out", {}, [text]);
  const said = outcome === "success" ? remarks : writeElement(outcome, { message: texts[outcome] }, [text]);
  return writeElement("testcase", { name: id, classname: name, time: toSeconds(durationMs) }, [...properties, ...said]);
}

function writeElement(name: string, fields: Fields, content: readonly string[] = []): readonly string[] {
  const attributes = Object.entries(fields).map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`);
  const start = `<${name}${attributes.join("")}`;
  return content.length === 0 ? [`${start}/>`] : [`${start}>`, ...content, `</${name}>`];
}

const escapes: { readonly [character: string]: string | undefined } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\t": "&#9;",
};

/** Escapes text for XML. Removes lone surrogates, U+FFFE and U+FFFF, which XML does not allow. */
function escapeXml(text: string): string {
  return showControls(text)
    .replace(/[\uD800-\uDFFF\uFFFE\uFFFF]/gu, "\uFFFD")
    .replace(/[&<>"\n\t]/g, (character) => escapes[character] ?? "");
}
