import { countLines, countPackages, seconds, suiteOf } from "./programs.js";
import { createVitestRows } from "./vitest.js";

const vitest = createVitestRows(suiteOf("vitest-evals"), "support.eval.js", "vitest-evals/reporter");
const { base, testsOfCases, flaky, junit, watch } = vitest;

/** @type {import("../agents/script.js").Library} */
export const library = {
  flaky,
  junit,
  watch,
  lines: async () => countLines("vitest-evals"),
  async trials() {
    const { count } = await base();
    return `${count("trial")}, ${count("request")} requests`;
  },
  async rate() {
    const all = await testsOfCases(["twice"]);
    const passed = all.filter(({ status }) => status === "passed").length;
    return `${passed} tests passed, ${all.length - passed} failed`;
  },
  async silence() {
    const { output, count } = await base();
    const titles = output.match(/silence, trial \d(?=.*\n.*timed out)/g);
    return `${new Set(titles).size}, ${count("abort")} aborted`;
  },
  stranger: async () => String((await testsOfCases(["refund", "greeting", "twice", "promise"])).length),
  async threw() {
    const statuses = new Set((await testsOfCases(["stranger"])).map(({ status }) => status));
    return `${[...statuses].join(", ")}, as a wrong answer`;
  },
  async world() {
    const { count } = await base();
    return `${count("open")} made, ${count("close")} removed`;
  },
  replay: async () => `${await vitest.replay()} (it records tools, not models)`,
  markdown: async () => `${await vitest.markdown()} (vitest)`,
  page: async () => `${await vitest.page()} (vitest)`,
  async judges() {
    const names = Object.keys(await import("vitest-evals/judges")).filter((name) => /^[A-Z]\w*Judge$/.test(name));
    return String(names.length);
  },
  packages: async () => countPackages(["vitest-evals", "vitest"]),
  time: async () => seconds((await base()).ms),
};
