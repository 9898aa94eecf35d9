import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { budget, cases, countNotes } from "./script.js";
import { countLines, describeMarkdown, describePage, newPath, seconds, suiteOf, testsOf } from "./programs.js";
import { evals } from "./turnwright-agent.js";

/** @type {typeof import("./suites/turnwright/support.eval.js")} */
const { support } = await import(join(suiteOf("turnwright"), "support.eval.js"));
const { compareReports, evaluate, renderEvalPage, toJUnitReport, toMarkdownReport } = evals;

/**
 * Evaluates the suite, and counts what the agent has noted.
 *
 * @param {Parameters<typeof evaluate>[1]} [options]
 */
async function run(options) {
  const notes = newPath("notes.txt");
  writeFileSync(notes, "");
  process.env["EVALS_NOTES"] = notes;
  const report = await evaluate(support, { directory, ...options });
  return { report, count: countNotes(notes) };
}

const directory = newPath("files");
/** @type {ReturnType<typeof run> | undefined} */
let first;
// With the files of all trials, so that comparisons can say where runs differ.
const base = () => (first ??= run({ keep: "all" }));

/** @param {import("../../../src/evals/index.ts").EvalReport} report @param {string} id */
function caseOf({ cases: all }, id) {
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new Error(`The report has no case ${id}.`);
  return found;
}

const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;

/** @type {import("../agents/script.js").Library} */
export const library = {
  lines: async () => countLines("turnwright"),
  async trials() {
    const { report, count } = await base();
    const [threw, silent] = ["stranger", "silence"].map((id) => caseOf(report, id).trials.length);
    return `${count("trial")} (${threw} of the case that throws, ${silent} of the silent one), ${count("request")} requests`;
  },
  async rate() {
    const { passed, failed, interval } = caseOf((await base()).report, "twice");
    return `${passed} of ${passed + failed}, 95 % interval ${percent(interval[0])} to ${percent(interval[1])}`;
  },
  async passHat() {
    const found = (await base()).report.totals.passAt.find(({ k }) => k === 5);
    return found === undefined ? "-" : percent(found.all);
  },
  flaky: async () => (await base()).report.totals.flaky.join(", "),
  async silence() {
    const { report, count } = await base();
    const named = caseOf(report, "silence").trials.filter(({ error = "" }) => error.includes("took longer"));
    return `${named.length}, ${count("abort")} aborted`;
  },
  async stranger() {
    const others = (await base()).report.cases.filter(({ id }) => id !== "stranger" && id !== "silence");
    return String(others.reduce((sum, { passed, failed }) => sum + passed + failed, 0));
  },
  async threw() {
    const [stranger] = (await base()).report.cases.filter(({ id }) => id === "stranger");
    return stranger?.status === "error" && stranger.passed + stranger.failed === 0 ? "an error, in no rate" : "-";
  },
  async world() {
    const { count } = await base();
    return `${count("open")} made, ${count("close")} removed`;
  },
  async budget() {
    const { report, count } = await run({ directory: false, limits: { maxCostUSD: budget } });
    return `${count("request")}, of which ${count("abort")} were never answered; ends as \`${report.ended}\``;
  },
  async early() {
    const { count } = await run({ directory: false, stopEarly: true });
    return String(count("trial"));
  },
  async replay() {
    const { report } = await base();
    const failed = report.cases.flatMap(({ trials }) => trials.filter(({ status }) => status === "failed").map(({ id }) => id));
    const { report: again, count } = await run({ replay: { trials: failed } });
    if (again.totals.failed !== failed.length) throw new Error("The trials did not fail again.");
    return `${count("request")} for ${failed.length} trials`;
  },
  async compare() {
    const before = (await base()).report;
    process.env["EVALS_VERSION"] = "worse";
    const { report: after } = await run({ directory: newPath("files"), keep: "all" });
    delete process.env["EVALS_VERSION"];
    const { isWorse, p, passRate, cases: compared } = await compareReports(before, after);
    const [worse] = compared.filter(({ change }) => change === "worse");
    if (worse?.difference === undefined || !isWorse) throw new Error("The comparison found nothing.");
    const rates = [passRate.before ?? 0, passRate.after ?? 0].map(percent).join(" to ");
    return `worse: ${worse.id} ("${worse.difference.text}"), ${rates}, McNemar p = ${p}`;
  },
  junit: async () => testsOf(toJUnitReport((await base()).report)),
  markdown: async () => describeMarkdown(toMarkdownReport((await base()).report)),
  async page() {
    const file = newPath("report.html");
    writeFileSync(file, renderEvalPage((await base()).report));
    return describePage(file);
  },
  judges: async () =>
    `${Object.keys(evals).filter((name) => /judge/i.test(name)).length} (\`createJudge\`, for a criterion of yours)`,
  async packages() {
    const { dependencies = {} } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
    return String(1 + Object.keys(dependencies).length);
  },
  time: async () => seconds((await base()).report.durationMs),
};
