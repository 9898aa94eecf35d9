import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineTool, runToolLoop } from "turnwright";
import { evaluate, type EvalReport, type Evaluation } from "turnwright/evals";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { makeCliFolder, runCommand } from "./run-command.ts";

/** Modules of the tests cannot import this package, so they find it here. */
const kit = { runToolLoop, createMockProvider, text, toolCall, usage, defineTool };

beforeAll(() => {
  Object.assign(globalThis, { evalKit: kit });
});

interface Agent {
  readonly name?: string;
  readonly file?: string;
  /** The cases, as a JavaScript expression: the calls of the agent, and whether its answer is right. */
  readonly cases?: string;
  readonly more?: string;
}

const twoCases = '[{ id: "refund", calls: ["lookup", "refund"], ok: true }, { id: "hello", calls: [], ok: true }]';

/** Writes an evaluation of an agent with a scripted model. */
function writeAgent(
  folder: string,
  { name = "support", file = "support.eval.mjs", cases = twoCases, more = "" }: Agent = {},
): void {
  writeFileSync(
    join(folder, file),
    `const { runToolLoop, createMockProvider, text, toolCall, usage, defineTool } = globalThis.evalKit;
export default {
  name: ${JSON.stringify(name)},
  cases: ${cases},
  run({ calls, ok }, trial) {
    (globalThis.evalRuns ??= []).push([trial.id, trial.model, trial.isReplay]);
    const tools = ["lookup", "refund"].map((name) =>
      defineTool({ name, description: name, inputSchema: { type: "object" }, execute: () => "done" }));
    const spent = usage({ inputTokens: 90, outputTokens: 10 });
    const isRight = typeof ok === "boolean" ? ok : ok.includes(trial.number);
    const provider = createMockProvider([
      ...calls.map((call) => [toolCall(call, {}), spent]), [text(isRight ? "Yes." : "No."), spent]]);
    const messages = [{ role: "user", content: "Hi." }];
    return runToolLoop(trial.options({ provider, tools, messages, pricing: () => 0.5 }));
  },
  check: (result) => ({ right: { pass: result.text === "Yes.", reason: "said " + result.text } }),
  ${more}
};`,
  );
}

function takeRuns(): readonly unknown[] {
  const place = globalThis as { evalRuns?: unknown[] };
  const runs = place.evalRuns ?? [];
  place.evalRuns = [];
  return runs;
}

function readReport(folder: string, name = "support"): EvalReport {
  return JSON.parse(readFileSync(join(folder, ".turnwright", "evals", name, "report.json"), "utf8")) as EvalReport;
}

const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", ...args], {
    cwd: folder,
    encoding: "utf8",
  });

/** Makes a folder for the temporary files of a test. */
function useTemporaryFolder(): string {
  const folder = makeCliFolder();
  for (const name of ["TMPDIR", "TEMP", "TMP"]) vi.stubEnv(name, folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

describe("turnwright eval", () => {
  it("finds the files in the folder, and runs the evaluations that they export", async () => {
    const folder = makeCliFolder();
    writeAgent(folder);
    for (const place of ["deep/er", "node_modules/a", ".hidden"]) mkdirSync(join(folder, place), { recursive: true });
    writeAgent(folder, { file: "deep/er/other.eval.js", name: "other", cases: '[{ id: "a", calls: [], ok: true }]' });
    writeFileSync(join(folder, "node_modules/a/bad.eval.mjs"), "throw new Error('loaded')");
    writeFileSync(join(folder, ".hidden/bad.eval.mjs"), "throw new Error('loaded')");
    takeRuns();
    const { exitCode, out, notes } = await runCommand(folder, ["eval", "--model", "small", "--concurrency", "1"]);
    expect(exitCode).toBe(0);
    expect(takeRuns()).toEqual([
      ["a/1", "small", false],
      ["refund/1", "small", false],
      ["hello/1", "small", false],
    ]);
    expect(notes[0]).toMatch(/^1\/1 ✓ a\/1 · .* · \$0\.5000$/);
    expect(out.join("\n")).toMatch(
      /^other passed: 1 of 1 case passed\n {2}case {2}status .*\n {2}a {5}passed {2}1\/1 .*\nTrials: 1 of 1 passed, 100% \(20.7% to 100%\)\n100 tokens · \$0.5000 · .*\nPage: \.turnwright\/evals\/other\/report\.html\nsupport passed: 2 of 2 cases passed\n/,
    );
    expect(readReport(folder).ok).toBe(true);
  });

  it("fails if a case fails, names flaky cases, and writes all reports", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { cases: '[{ id: "refund", calls: ["refund"], ok: [1, 3] }, { id: "hello", calls: [], ok: true }]' });
    const env = { GITHUB_STEP_SUMMARY: join(folder, "summary.md") };
    writeFileSync(env.GITHUB_STEP_SUMMARY, "Earlier steps\n");
    const reports = ["--markdown", "out/a.md", "--junit", "out/a.xml", "--html", "out/a.html"];
    const { exitCode, out, notes } = await runCommand(folder, ["eval", "--trials", "3", ...reports], { env });
    expect([exitCode, notes.at(-1)]).toEqual([1, "turnwright: support: failed."]);
    expect(out).toContain("Flaky: refund");
    expect(notes.join("\n")).toContain("✗ refund/2 right: said No. · ");
    const [markdown, xml, html, summary] = ["out/a.md", "out/a.xml", "out/a.html", "summary.md"].map((path) =>
      readFileSync(join(folder, path), "utf8"),
    );
    expect(markdown).toContain("- `refund/2` `right`: `said No.`");
    expect(summary).toBe(`Earlier steps\n${markdown}`);
    expect(xml).toContain('<failure message="1 of 3 trials failed (33.3%)">');
    // The page may be moved without the pages of the trials.
    expect(html).not.toMatch(/href=/);
    expect(html).toContain("<code>../.turnwright/evals/support/cases/refund/2/page.html</code>");
    const page = readFileSync(join(folder, ".turnwright/evals/support/report.html"), "utf8");
    const link = /href="([^"]+page\.html)"/.exec(page)?.[1] ?? "";
    expect(link).toBe("cases/refund/2/page.html");
    expect(existsSync(join(folder, ".turnwright/evals/support", link))).toBe(true);
    const passRate = await runCommand(folder, ["eval", "--trials=3", "--pass-rate=0.6", "--case=refund", "--keep=all"]);
    expect(passRate.exitCode).toBe(0);
    expect(
      readReport(folder).cases.map(({ id, trials }) => [id, trials.filter(({ page }) => page !== undefined).length]),
    ).toEqual([["refund", 3]]);
  });

  it("with --resume, continues after a limit was reached, and adds trials", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { cases: '[{ id: "hello", calls: [], ok: true }]' });
    takeRuns();
    const stopped = await runCommand(folder, ["eval", "--trials=4", "--concurrency=1", "--max-cost=1.2"]);
    expect([stopped.exitCode, takeRuns().length]).toEqual([1, 3]);
    expect(stopped.out).toContain("Continue with --resume: the trials that have ended do not run again.");
    const resumed = await runCommand(folder, ["eval", "--trials=4", "--concurrency=1", "--resume"]);
    expect([resumed.exitCode, takeRuns()]).toEqual([
      0,
      [
        ["hello/3", undefined, false],
        ["hello/4", undefined, false],
      ],
    ]);
    expect(resumed.out).toContainEqual(expect.stringMatching(/ · 2 trials carried over$/));
    expect(readReport(folder)).toMatchObject({ resumed: 2, totals: { passed: 4, costUSD: 2 } });
  });

  it("replays kept trials at no cost, and continues a trial from a given iteration", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { cases: '[{ id: "refund", calls: ["refund"], ok: [2] }, { id: "hello", calls: [], ok: false }]' });
    await runCommand(folder, ["eval", "--trials", "2"]);
    takeRuns();
    const again = await runCommand(folder, ["eval", "--replay", "--concurrency", "1"]);
    expect([again.exitCode, takeRuns()]).toEqual([
      1,
      [
        ["refund/1", undefined, true],
        ["hello/1", undefined, true],
        ["hello/2", undefined, true],
      ],
    ]);
    expect(again.out).toContainEqual(expect.stringMatching(/^0 tokens · \$0\.0000 · /));
    await runCommand(folder, ["eval", "--trial", "refund/1", "--from", "i1"]);
    expect(takeRuns()).toEqual([["refund/1", undefined, true]]);
    const report = JSON.parse(readFileSync(join(folder, ".turnwright/evals/support/replay/report.json"), "utf8")) as EvalReport;
    // The scripted model begins anew, so it calls the tool again before it answers.
    expect(report.totals).toMatchObject({ tokens: 200, costUSD: 1 });
    expect(readReport(folder).totals.trials).toBe(4);
  });

  it("saves a kept trial as a test that replays its recording", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { cases: '[{ id: "refund", calls: ["refund"], ok: [2] }, { id: "hello", calls: [], ok: false }]' });
    await runCommand(folder, ["eval"]);
    const args = ["eval", "--trial", "refund/1", "--save-test", "test/saved"];
    takeRuns();
    const { exitCode, out } = await runCommand(folder, args);
    expect([exitCode, out, takeRuns()]).toEqual([0, ["test/saved/refund-1.test.mjs"], []]);
    const source = readFileSync(join(folder, "test/saved/refund-1.test.mjs"), "utf8");
    expect(source).toContain('import evaluation from "../../support.eval.mjs";');
    expect(source).toContain('import { it } from "node:test";');
    const { default: evaluation } = (await import(pathToFileURL(join(folder, "support.eval.mjs")).href)) as {
      default: Evaluation;
    };
    const replay = { directory: join(folder, "test/saved/refund-1"), match: "order" } as const;
    const report = await evaluate(evaluation, { directory: false, replay });
    expect(report.cases[0]?.trials).toMatchObject([{ id: "refund/1", status: "failed", tokens: 0 }]);
    const again = await runCommand(folder, args);
    expect([again.exitCode, again.notes[0]]).toEqual([1, expect.stringContaining("Remove the test first")]);
    writeFileSync(join(folder, "package.json"), '{"devDependencies":{"vitest":"4"}}');
    const all = await runCommand(folder, ["eval", "--save-test", "all"]);
    expect(all.out).toEqual(["all/hello-1.test.mjs", "all/refund-1.test.mjs"]);
    expect(readFileSync(join(folder, "all/hello-1.test.mjs"), "utf8")).toContain('import { it } from "vitest";');
    await runCommand(folder, ["eval", "--trial", "hello/1", "--save-test", "node", "--runner", "node:test"]);
    expect(readFileSync(join(folder, "node/hello-1.test.mjs"), "utf8")).toContain('import { it } from "node:test";');
  });

  it("with --against, compares the code with a commit in a temporary worktree, and then removes the worktree", async () => {
    const folder = makeCliFolder();
    git(folder, "init", "--quiet", "--initial-branch=main");
    writeFileSync(join(folder, ".gitignore"), ".turnwright\nnode_modules\n");
    mkdirSync(join(folder, "app", "node_modules"), { recursive: true });
    writeFileSync(join(folder, "app", "node_modules", "installed.mjs"), "export const yes = true;");
    const app = join(folder, "app");
    writeAgent(app, { more: "directory: process.cwd()" });
    writeFileSync(
      join(app, "support.eval.mjs"),
      `import { yes } from "./node_modules/installed.mjs";\n${readFileSync(join(app, "support.eval.mjs"), "utf8")}`,
    );
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--message=first");
    writeAgent(app, { cases: twoCases.replace('["lookup", "refund"], ok: true', '["lookup", "lookup"], ok: [1]') });
    writeAgent(app, { file: "new.eval.mjs", name: "new" });
    const temporary = useTemporaryFolder();
    const args = ["eval", "--against", "main", "--trials", "2", "--markdown", "a.md"];
    const { exitCode, out, notes } = await runCommand(app, args, { env: { GITHUB_STEP_SUMMARY: join(folder, "s.md") } });
    expect([exitCode, notes.at(-1)]).toEqual([1, "turnwright: support: worse than before."]);
    expect(notes).toContain("main does not have new.eval.mjs.");
    expect(notes).toContain("new is new, so it is not compared.");
    expect(notes.some((note) => note.startsWith("main: 4/4 ✓ "))).toBe(true);
    expect(out.join("\n")).toContain("Worse than before: the pass rate is lower by more than 5 points.");
    expect(out.join("\n")).toMatch(
      /refund {2}worse {2}passed 2\/2 → failed 1\/2 {2}iteration 1: different call: refund → lookup \(refund\/1 and refund\/2\)/,
    );
    expect(readFileSync(join(app, "a.md"), "utf8")).toContain("iteration 1: different call: refund → lookup");
    expect(readFileSync(join(app, ".turnwright/evals/support/report.html"), "utf8")).toContain("refund → lookup");
    // Only the current version writes to the summary.
    expect(readFileSync(join(folder, "s.md"), "utf8").match(/^## /gm)).toHaveLength(2);
    expect([git(folder, "worktree", "list").trim().split("\n").length, readdirSync(temporary)]).toEqual([1, []]);
    expect(existsSync(join(app, "node_modules", "installed.mjs"))).toBe(true);
    const tolerant = await runCommand(app, [...args, "--max-drop", "0.3", "support.eval.mjs"]);
    expect(tolerant.exitCode).toBe(0);
  });

  it("with --against, stops on a signal during the trials of either version", async () => {
    const folder = makeCliFolder();
    git(folder, "init", "--quiet", "--initial-branch=main");
    writeFileSync(join(folder, ".gitignore"), ".turnwright\n");
    writeAgent(folder);
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--message=first");
    const temporary = useTemporaryFolder();
    const stopAt = (line: string) => {
      const stop = new AbortController();
      const note = (said: string): void => (said.startsWith(line) ? stop.abort() : undefined);
      return { stopSignal: () => stop.signal, note };
    };
    const early = await runCommand(folder, ["eval", "--against", "main"], stopAt("main: 1/2"));
    expect([early.exitCode, early.out]).toEqual([1, []]);
    const late = await runCommand(folder, ["eval", "--against", "main", "--concurrency", "1", "--junit", "a.xml"], stopAt("1/2"));
    expect([late.exitCode, late.out[0]]).toEqual([
      1,
      "support failed: 1 of 2 cases passed, ended before all trials had run (it was stopped)",
    ]);
    expect(readFileSync(join(folder, "a.xml"), "utf8")).toContain('tests="2" failures="0" errors="1"');
    expect([git(folder, "worktree", "list").trim().split("\n").length, readdirSync(temporary)]).toEqual([1, []]);
  });

  it("compares the results with a stored baseline even after the baseline's folder was moved", async () => {
    const folder = makeCliFolder();
    writeAgent(folder);
    await runCommand(folder, ["eval", "--keep", "all", "--directory", "first/evals", "--save-baseline", "first/base.json"]);
    expect(readFileSync(join(folder, "first/base.json"), "utf8")).not.toContain(folder);
    mkdirSync(join(folder, "moved"));
    execFileSync("mv", [join(folder, "first"), join(folder, "moved", "base")]);
    writeAgent(folder, { file: "b.eval.mjs", cases: twoCases.replace('"refund"], ok: true', '"lookup"], ok: false') });
    const { exitCode, out } = await runCommand(folder, ["eval", "b.eval.mjs", "--against", "moved/base/base.json"]);
    expect([exitCode, out.at(-3)]).toEqual([
      1,
      "  refund  worse  passed 1/1 → failed 0/1  iteration 1: different call: refund → lookup (refund/1 and refund/1)",
    ]);
    // A case that failed before may fail again.
    await runCommand(folder, ["eval", "b.eval.mjs", "--save-baseline", "base.json"]);
    const better = await runCommand(folder, ["eval", "support.eval.mjs", "--against", "base.json", "--directory", "other"]);
    expect(better.out.join("\n")).toContain(
      "refund  better  failed 0/1 → passed 1/1  iteration 1: different call: lookup → refund",
    );
    expect((await runCommand(folder, ["eval", "b.eval.mjs", "--against", "base.json"])).exitCode).toBe(0);
  });

  it("does not write or read a baseline for an incomplete evaluation", async () => {
    const folder = makeCliFolder();
    writeAgent(folder);
    await runCommand(folder, ["eval", "--save-baseline", "base.json"]);
    const saved = readFileSync(join(folder, "base.json"), "utf8");
    const note = "The baseline base.json was not written because not all trials have run. Run the evaluation to the end.";
    for (const [args, how] of [
      [["--max-cost", "0.1"], {}],
      [[], { stopSignal: () => AbortSignal.abort() }],
    ] as const) {
      const stopped = await runCommand(folder, ["eval", "--save-baseline", "base.json", ...args], how);
      expect([stopped.exitCode, stopped.notes.includes(note)]).toEqual([1, true]);
      expect(readFileSync(join(folder, "base.json"), "utf8")).toBe(saved);
    }
    await runCommand(folder, ["eval", "--max-cost", "0.1", "--directory", "cut"]);
    const against = await runCommand(folder, ["eval", "--against", "cut/support/report.json"]);
    expect([against.exitCode, against.notes]).toEqual([
      1,
      [
        "turnwright: cut/support/report.json cannot be used as a baseline: support ended before all trials had run. Run that version's evaluation to the end.",
      ],
    ]);
  });

  it("reports that another evaluation is running in the folder", async () => {
    const folder = makeCliFolder();
    writeAgent(folder);
    const ends = await Promise.all([runCommand(folder, ["eval"]), runCommand(folder, ["eval"])]);
    expect(new Set(ends.map(({ exitCode }) => exitCode))).toEqual(new Set([0, 1]));
    expect(ends.flatMap(({ notes }) => notes)).toContainEqual(
      expect.stringMatching(/^turnwright: The evaluation "support" is already running in .+ remove .+\.lock\.$/),
    );
  });

  it("fails if no case could be compared, or if the current version's trials had errors", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { file: "bad.eval.mjs", more: 'setup() { throw new Error("no key"); },' });
    writeAgent(folder);
    await runCommand(folder, ["eval", "bad.eval.mjs", "--save-baseline", "bad.json"]);
    const blind = await runCommand(folder, ["eval", "support.eval.mjs", "--against", "bad.json", "--save-baseline", "good.json"]);
    expect([blind.exitCode, blind.notes.at(-1)]).toEqual([1, "turnwright: support: no case could be compared."]);
    const broken = await runCommand(folder, ["eval", "bad.eval.mjs", "--against", "good.json"]);
    expect([broken.exitCode, broken.notes.at(-1)]).toEqual([
      1,
      "turnwright: support: had errors, or ended before all trials had run.",
    ]);
  });

  it("shares the maximum cost among all evaluations", async () => {
    const folder = makeCliFolder();
    const cases = '[{ id: "a", calls: [], ok: true }, { id: "b", calls: [], ok: true }]';
    writeAgent(folder, { cases });
    writeAgent(folder, { file: "b.eval.mjs", name: "b", cases });
    const args = ["eval", "support.eval.mjs", "b.eval.mjs", "--max-cost", "1.4", "--concurrency", "1"];
    const { exitCode, notes } = await runCommand(folder, args);
    expect([exitCode, notes.at(-1)]).toEqual([1, "turnwright: b: failed."]);
    expect([readReport(folder).ended, readReport(folder, "b").ended]).toEqual(["complete", "max-cost"]);
  });

  it("counts the cost of the previous version toward the maximum cost", async () => {
    const folder = makeCliFolder();
    git(folder, "init", "--quiet", "--initial-branch=main");
    writeAgent(folder, { cases: '[{ id: "a", calls: [], ok: true }, { id: "b", calls: [], ok: true }]' });
    git(folder, "add", "--all");
    git(folder, "commit", "--quiet", "--message=first");
    useTemporaryFolder();
    const { exitCode } = await runCommand(folder, ["eval", "--against=main", "--max-cost=1.4", "--concurrency=1"]);
    expect([exitCode, readReport(folder).ended]).toEqual([1, "max-cost"]);
  });

  it("with --stop-early, stops early with and without a given certainty", async () => {
    const folder = makeCliFolder();
    writeAgent(folder, { cases: '[{ id: "a", calls: [], ok: false }]', more: "passRate: 0.9" });
    const trialsWith = async (...args: readonly string[]): Promise<number> => {
      await runCommand(folder, ["eval", "--trials", "20", "--concurrency", "1", ...args]);
      return readReport(folder).totals.trials;
    };
    const [certain, bold] = [await trialsWith("--stop-early", "support.eval.mjs"), await trialsWith("--stop-early", "0.6")];
    expect(bold).toBeGreaterThanOrEqual(1);
    expect(bold).toBeLessThanOrEqual(certain);
    expect(certain).toBeLessThan(5);
  });

  it.for<readonly [what: string, args: readonly string[], exitCode: number, message: string]>([
    ["a folder without files", ["empty"], 2, "There are no evaluation files (such as support.eval.mjs) in empty."],
    ["a missing file", ["no.eval.mjs"], 2, "There is no file no.eval.mjs."],
    ["a file without an evaluation", ["none.mjs"], 1, "none.mjs exports no evaluation."],
    ["two evaluations with the same name", ["support.eval.mjs", "twin.mjs"], 1, 'Two evaluations are named "support".'],
    ["an unknown case", ["--case", "x"], 2, 'There is no case "x" (known cases: refund, hello).'],
    ["trials that were not kept", ["--replay"], 1, "No trial was kept."],
    ["an unknown trial", ["--trial", "refund/9"], 2, 'The trial "refund/9" was not kept (kept trials: none).'],
    ["an invalid number", ["--trials", "0"], 2, '--trials is "0", but must be a whole number of at least 1.'],
    ["an invalid rate", ["--pass-rate", ""], 2, '--pass-rate is "", but must be a number above 0 and at most 1.'],
    ["an invalid iteration", ["--from", "last"], 2, '--from is "last", but must be an iteration such as i3.'],
    ["an invalid --keep value", ["--keep", "none"], 2, '--keep is "none", but must be all or failed.'],
    ["--max-drop alone", ["--max-drop", "0.1"], 2, "--max-drop needs --against."],
    ["a replay against a commit", ["--replay", "--against", "main"], 2, "leave out --replay"],
    ["a baseline for a replay", ["--replay", "--save-baseline", "a.json"], 2, "leave out --replay"],
    [
      "a case without an id",
      ["no-id.mjs"],
      1,
      'no-id.mjs: Option "cases[0].id" is undefined, but must be a non-empty string (evaluation "no id")',
    ],
    [
      "an empty list of cases",
      ["no-cases.mjs"],
      1,
      'no-cases.mjs: Option "cases" is an array of 0 items, but must be a non-empty array of cases (evaluation "no cases")',
    ],
    ["a missing check", ["no-check.mjs"], 1, 'no-check.mjs: Option "evaluation.check" is undefined, but must be a function.'],
    [
      "an invalid certainty",
      ["--stop-early", "0.2"],
      2,
      '--stop-early is "0.2", but must be a certainty from 0.5 to 1, such as 0.95 (default: 0.997).',
    ],
    ["an unknown runner", ["--save-test", "a", "--runner", "jest"], 2, '--runner is "jest", but must be vitest or node:test.'],
    ["an unknown version", ["--against=--all"], 2, "is neither a file nor a git commit"],
    ["a file that is not a report", ["--against", "none.mjs"], 1, "none.mjs is not an evaluation report."],
  ])("prints a message for %s, and runs nothing", async ([, args, exitCode, message]) => {
    const folder = makeCliFolder();
    mkdirSync(join(folder, "empty"));
    writeAgent(folder);
    writeAgent(folder, { file: "twin.mjs" });
    const rest = "run: () => 1, check: () => true";
    writeFileSync(join(folder, "no-id.mjs"), `export const a = { name: "no id", cases: [{}], ${rest} };`);
    writeFileSync(join(folder, "no-cases.mjs"), `export const a = { name: "no cases", cases: [], ${rest} };`);
    writeFileSync(join(folder, "no-check.mjs"), `export const a = { name: "no check", cases: [{ id: "a" }], run: () => 1 };`);
    writeFileSync(join(folder, "none.mjs"), "export const other = { name: 'x' };");
    takeRuns();
    const end = await runCommand(folder, ["eval", ...args]);
    expect([end.exitCode, end.out, takeRuns()]).toEqual([exitCode, [], []]);
    expect(end.notes.join("\n")).toContain(message);
  });
});
