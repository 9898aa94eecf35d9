// The rows of libraries whose suites run in vitest: what they have from vitest.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bench, describeMarkdown, describePage, newPath, runProgram, runsAgain, testsOf } from "./programs.js";

const program = join(bench, "node_modules/vitest/vitest.mjs");

/**
 * @param {string} cwd the folder of the suite
 * @param {string} file the file of the suite
 * @param {string} [reporter] the reporter of the library
 */
export function createVitestRows(cwd, file, reporter = "default") {
  const junit = newPath("junit.xml");
  const json = newPath("results.json");
  const page = newPath("page");
  const summary = newPath("summary.md");
  const outputs = { junit, json, html: join(page, "index.html") };
  const reporters = Object.entries(outputs).flatMap(([name, path]) => [`--reporter=${name}`, `--outputFile.${name}=${path}`]);
  /** @type {ReturnType<typeof runProgram> | undefined} */
  let first;
  const run = (/** @type {readonly string[]} */ args, /** @type {Record<string, string>} */ env = {}) =>
    runProgram([program, "run", ...args], { cwd, env });
  const base = () =>
    (first ??= run([`--reporter=${reporter}`, "--reporter=github-actions", ...reporters], {
      GITHUB_ACTIONS: "true",
      GITHUB_STEP_SUMMARY: summary,
    }));

  /**
   * The tests of these cases.
   *
   * @param {readonly string[]} ids
   * @returns {Promise<readonly { readonly title: string, readonly status: string }[]>}
   */
  async function testsOfCases(ids) {
    await base();
    const files = JSON.parse(readFileSync(json, "utf8")).testResults;
    const tests = files.flatMap((/** @type {any} */ { assertionResults }) => assertionResults);
    return tests.filter((/** @type {any} */ { title }) => ids.includes(title.split(",")[0]));
  }

  return {
    base,
    testsOfCases,
    async flaky() {
      const file = newPath("summary.md");
      await run(["--retry=2", "-t", "twice", "--reporter=github-actions"], { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: file });
      const [tests] = /\d+ flaky tests/.exec(readFileSync(file, "utf8")) ?? [];
      return tests === undefined ? "-" : `- (\`retry\`, which ends at a pass, names ${tests})`;
    },
    /** Runs the failed trials again. */
    async replay() {
      const failed = (await testsOfCases(["twice", "promise"])).filter(({ status }) => status === "failed");
      const { count } = await run(["-t", failed.map(({ title }) => title).join("|")]);
      return `${count("request")} for ${failed.length} trials`;
    },
    async junit() {
      await base();
      return testsOf(readFileSync(junit, "utf8"));
    },
    async markdown() {
      await base();
      return describeMarkdown(readFileSync(summary, "utf8"));
    },
    async page() {
      await base();
      return describePage(page);
    },
    watch: async () => ((await runsAgain([program, "watch"], cwd, join(cwd, file))) ? "yes" : "-"),
  };
}
