import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cases } from "./script.js";
import { bench, countLines, countPackages, describePage, newPath, runProgram, runsAgain, seconds, suiteOf } from "./programs.js";

const cwd = suiteOf("evalite");
const program = fileURLToPath(new URL("evalite-run.js", import.meta.url));
const nextSuite = suiteOf("evalite-next");
const nextVersion = JSON.parse(readFileSync(join(bench, "node_modules/evalite-next/package.json"), "utf8")).version;
const json = newPath("results.json");
const page = newPath("page");
/** @type {ReturnType<typeof runProgram> | undefined} */
let first;
const base = () => (first ??= runProgram([program, json, page], { cwd }));

/**
 * The results of a case.
 *
 * @param {string} id
 * @returns {Promise<readonly { readonly status: string, readonly averageScore: number }[]>}
 */
async function resultsOf(id) {
  await base();
  const [{ results }] = JSON.parse(readFileSync(json, "utf8")).evals;
  return results.filter((/** @type {any} */ { input }) => input?.id === id);
}

/** @type {import("../agents/script.js").Library} */
export const library = {
  lines: async () => countLines("evalite"),
  async trials() {
    const { count } = await base();
    return `${count("trial")}, ${count("request")} requests`;
  },
  rate: async () => `5 scores: ${(await resultsOf("twice")).map(({ averageScore }) => averageScore).join(", ")}`,
  async silence() {
    const { output, count } = await base();
    const stopped = output.match(/Test timed out/g)?.length ?? 0;
    return `${(await resultsOf("silence")).length} (it stops ${stopped} without a name), ${count("abort")} aborted`;
  },
  async stranger() {
    const others = await Promise.all(
      cases.filter(({ id }) => id !== "stranger" && id !== "silence").map(({ id }) => resultsOf(id)),
    );
    return String(others.flat().filter(({ status }) => status === "success").length);
  },
  async threw() {
    const scores = new Set((await resultsOf("stranger")).map(({ averageScore }) => averageScore));
    return `score ${[...scores].join(", ")}`;
  },
  async world() {
    const { count } = await base();
    return `${count("open")} made, ${count("close")} removed`;
  },
  async replay() {
    const { count } = await base();
    const results = newPath("results.json");
    const { output } = await runProgram([fileURLToPath(new URL("evalite-next-run.js", import.meta.url)), results], {
      cwd: nextSuite,
    });
    const [before = 0, after = 0] = [...output.matchAll(/requests: (\d+)/g)].map(([, requests]) => Number(requests));
    const [{ evals }] = JSON.parse(readFileSync(results, "utf8")).suites;
    const flaky = evals.filter(
      (/** @type {any} */ { input, averageScore }) => input?.id === "twice" && averageScore === 1,
    ).length;
    const next = `${nextVersion}: ${after - before}, from a cache that trials share (the flaky case passes ${flaky} of 5 times)`;
    return `${count("request")} for 30 trials (all run again); ${next}`;
  },
  async compare() {
    const { output } = await runProgram([program, newPath("results.json")], { cwd, env: { EVALS_TWICE: "1" } });
    /** @type {{ readonly history: readonly { readonly score: number }[] }} */
    const { history } = JSON.parse(/history: (.*)/.exec(output)?.[1] ?? "");
    return `mean score ${history.map(({ score }) => score).join(" to ")}, in its web page`;
  },
  async page() {
    await base();
    const loads = /https:\/\/fonts/.test(readFileSync(join(page, "index.html"), "utf8")) ? ", loads fonts from the network" : "";
    return `${describePage(page)}${loads}`;
  },
  async watch() {
    const args = [join(bench, "node_modules/evalite/dist/bin.js"), "watch"];
    return (await runsAgain(args, cwd, join(cwd, "support.eval.ts"))) ? "yes" : "-";
  },
  async judges() {
    const names = Object.keys(await import("evalite")).filter((name) => /(judge|scorer)$/i.test(name) && name !== "createScorer");
    return String(names.length);
  },
  packages: async () => countPackages(["evalite", "vitest"]),
  time: async () => seconds((await base()).ms),
};
