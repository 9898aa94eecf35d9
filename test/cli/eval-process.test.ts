// Runs the command in a process of its own, with modules that leave things behind.

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { EvalReport } from "turnwright/evals";
import { expect, it, onTestFinished } from "vitest";
import { programLoader } from "../../scripts/program-loader.ts";
import { makeCliFolder } from "./run-command.ts";

interface ProcessEnd {
  readonly exitCode: number | null;
  readonly out: string;
  readonly notes: string;
}

function runProcess(cwd: string, args: readonly string[]): Promise<ProcessEnd> {
  const child = spawn(process.execPath, ["--import", programLoader(), resolve("src/cli/main.ts"), ...args], { cwd });
  const said = { out: "", notes: "" };
  child.stdout.on("data", (text) => void (said.out += String(text)));
  child.stderr.on("data", (text) => void (said.notes += String(text)));
  return new Promise((settle) => child.on("close", (exitCode) => settle({ exitCode, ...said })));
}

it("turnwright eval: exits even if a module keeps a server open, and attributes each uncaught error to its trial", async () => {
  const folder = makeCliFolder();
  writeFileSync(
    join(folder, "a.eval.mjs"),
    `import { createServer } from "node:http";
createServer().listen(0, "127.0.0.1");
const floating = {
  good: () => true,
  rejects: () => void Promise.reject(new Error("no database")),
  throws: () => new Promise(() => void setTimeout(() => { throw new Error("no socket"); }, 1)),
  late: () => void new Promise((settle) => { globalThis.endLate = settle; }).then(() => { throw new Error("too late"); }),
};
export const strays = {
  name: "strays",
  cases: Object.keys(floating).map((id) => ({ id })),
  limits: { concurrency: 8 },
  run: ({ id }) => floating[id](),
  check: () => true,
  onTrial: (trial) => { if (trial.id === "late/1") globalThis.endLate(); },
};
export const others = { name: "others", cases: [{ id: "a" }], run: () => "a".repeat(100), check: () => true };
`,
  );
  const { exitCode, out, notes } = await runProcess(folder, ["eval", "--markdown", "a.md"]);
  expect(exitCode).toBe(1);
  expect(out).toContain("others passed: 1 of 1 case passed");
  expect(notes).toContain("Uncaught error: too late (after the end of the trial late/1)");
  const report = JSON.parse(readFileSync(join(folder, ".turnwright/evals/strays/report.json"), "utf8")) as EvalReport;
  const found = report.cases.map(({ id, trials }) => [id, trials[0]?.status, trials[0]?.error]);
  const advice = "Await each promise, or handle its error.";
  expect(found).toEqual([
    ["good", "passed", undefined],
    ["rejects", "error", `The error "no database" was not caught. ${advice}`],
    ["throws", "error", `The error "no socket" was not caught. ${advice}`],
    ["late", "passed", undefined],
  ]);
  expect(readFileSync(join(folder, "a.md"), "utf8")).toContain("no socket");
});

it(
  "turnwright eval: finds a CommonJS file, and continues after the reader of the command's output has closed the pipe",
  { timeout: 30_000 },
  async () => {
    const folder = makeCliFolder();
    writeFileSync(
      join(folder, "a.eval.cjs"),
      `exports.piped = { name: "piped", cases: ["a", "b", "c"].map((id) => ({ id })), limits: { concurrency: 1 }, run: () => 1, check: () => true };`,
    );
    const child = spawn(process.execPath, ["--import", programLoader(), resolve("src/cli/main.ts"), "eval"], { cwd: folder });
    for (const stream of [child.stdout, child.stderr]) stream.once("data", () => void stream.destroy());
    child.stdout.destroy();
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(await new Promise((settle) => child.on("exit", settle))).toBe(0);
    const report = JSON.parse(readFileSync(join(folder, ".turnwright/evals/piped/report.json"), "utf8")) as EvalReport;
    expect(report.totals.passed).toBe(3);
  },
);
