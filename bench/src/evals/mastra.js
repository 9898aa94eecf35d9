import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { compareExperiments } from "@mastra/core/datasets";
import { createScorer } from "@mastra/core/evals";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { modelOf } from "./ai-sdk-agent.js";
import { countNotes } from "./script.js";
import { countLines, countPackages, newPath, seconds, suiteOf } from "./programs.js";
import { createVitestRows } from "./vitest.js";

const { createSuite, mastra, runSuite } = await import(join(suiteOf("mastra"), "support.js"));
const suite = await createSuite();
// The same suite as tests of vitest, with `expectEval`.
const vitest = createVitestRows(suiteOf("mastra-vitest"), "support.eval.js");
const inVitest = async (/** @type {Promise<string>} */ cell) => `in vitest: ${await cell}`;
// The timers of Mastra do not keep the process alive.
setInterval(() => {}, 1_000);

function takeNotes() {
  const notes = newPath("notes.txt");
  writeFileSync(notes, "");
  process.env["EVALS_NOTES"] = notes;
  return () => countNotes(notes);
}

/** @param {string} set */
async function run(set) {
  const readNotes = takeNotes();
  const startedAt = performance.now();
  /** @type {readonly import("@mastra/core/datasets").ExperimentSummary[]} */
  const experiments = await runSuite(suite, set);
  return { experiments, count: readNotes(), ms: performance.now() - startedAt };
}

/** @type {ReturnType<typeof run> | undefined} */
let first;
const base = () => (first ??= run("base"));

/** The results of all trials of these cases. @param {readonly string[]} ids */
async function resultsOf(ids) {
  const { experiments } = await base();
  const results = experiments.flatMap((experiment) => experiment.results);
  return results.filter(({ groundTruth }) => ids.includes(/** @type {any} */ (groundTruth).id));
}

const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`;

/** @type {import("../agents/script.js").Library} */
export const library = {
  lines: async () => countLines("mastra"),
  async trials() {
    const { count } = await base();
    return `${count("trial")}, ${count("request")} requests`;
  },
  rate: async () => `5 scores: ${(await resultsOf(["twice"])).map(({ scores: [score] }) => score?.score).join(", ")}`,
  flaky: () => inVitest(vitest.flaky()),
  async silence() {
    const named = (await resultsOf(["silence"])).filter(({ error }) => /timeout/.test(error?.message ?? ""));
    return `${named.length}, ${(await base()).count("abort")} aborted`;
  },
  async stranger() {
    const others = await resultsOf(["refund", "greeting", "twice", "promise"]);
    return String(others.filter(({ error }) => error === null).length);
  },
  async threw() {
    const scores = new Set((await resultsOf(["stranger"])).map(({ scores: [score] }) => score?.score));
    return `an error, and the scorer's score (here ${[...scores].join(", ")})`;
  },
  async world() {
    const { count } = await base();
    return `${count("open")} made, ${count("close")} removed`;
  },
  async replay() {
    const calls = createScorer({ id: "calls", description: "The refund is called" }).generateScore(({ run: { output } }) =>
      output.toolCalls.length === 1 ? 1 : 0,
    );
    const failed = (await resultsOf(["twice", "promise"])).filter(({ scores: [score] }) => score?.score === 0);
    const readNotes = takeNotes();
    for (const { input, output } of failed)
      if ((await calls.run({ input, output })).score !== 0) throw new Error("The score is another one.");
    return `${readNotes()("request")} for ${failed.length} trials, for scorers of the stored output; tools do not run`;
  },
  async compare() {
    const before = (await base()).experiments;
    process.env["EVALS_VERSION"] = "worse";
    const { experiments: after } = await run("worse");
    delete process.env["EVALS_VERSION"];
    const [experimentIdA = "", experimentIdB = ""] = [before, after].map(([experiment]) => experiment?.experimentId);
    const { hasRegression, items, scorers } = await compareExperiments(mastra, { experimentIdA, experimentIdB });
    const changed = items.filter(({ scoresA, scoresB }) => scoresA["paid"] !== scoresB["paid"]);
    const rates = [scorers["paid"]?.statsA, scorers["paid"]?.statsB].map((stats) => percent(stats?.passRate ?? 0)).join(" to ");
    return `\`hasRegression: ${hasRegression}\`, ${changed.length} item changed, ${rates}, of one trial each; no test`;
  },
  junit: () => inVitest(vitest.junit()),
  markdown: () => inVitest(vitest.markdown()),
  page: () => inVitest(vitest.page()),
  watch: () => inVitest(vitest.watch()),
  async judges() {
    const names = Object.keys(await import("@mastra/evals/scorers/prebuilt")).filter((name) => /^create\w*Scorer\w*$/.test(name));
    return String(names.length);
  },
  async live() {
    let scored = 0;
    const scorer = createScorer({ id: "counted", description: "Counts" }).generateScore(() => {
      scored += 1;
      return 1;
    });
    const agent = new Agent({
      id: "live",
      name: "live",
      instructions: "",
      model: modelOf(() => ({ text: "Hello!" })),
      scorers: { counted: { scorer, sampling: { type: "ratio", rate: 1 } } },
    });
    const app = new Mastra({ agents: { live: agent }, storage: new InMemoryStore(), logger: false });
    await app.getAgent("live").generate("Hello!");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return scored === 1 ? "yes, all or a sample" : "-";
  },
  packages: async () => countPackages(["@mastra/core", "@mastra/evals"]),
  time: async () => seconds((await base()).ms),
};
