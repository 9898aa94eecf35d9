import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { runToolLoop } from "turnwright";
import { defineEvaluation, evaluate } from "turnwright/evals";
import { createMockProvider, stall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../journal/folder.ts";

function makeGate(): readonly [opened: Promise<void>, open: () => void] {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return [opened, open];
}

describe("an evaluation's folder", () => {
  it("allows one evaluation at a time, and keeps no trials of deleted cases", async () => {
    const directory = makeFolder();
    const evaluation = defineEvaluation({
      name: "support",
      cases: [{ id: "refund" }],
      directory,
      run: () => "no",
      check: () => false,
    });
    const [begun, begin] = makeGate();
    const [refused, goOn] = makeGate();
    const run = async (): Promise<string> => (begin(), await refused, "no");
    const first = evaluate({ ...evaluation, cases: [{ id: "gone" }], run });
    await begun;
    await expect(evaluate(evaluation)).rejects.toThrow(
      /^The evaluation "support" is already running in .+support \(process \d+\)\. Wait until it ends, or choose another folder/,
    );
    goOn();
    expect((await first).cases[0]).toMatchObject({ id: "gone", status: "failed" });
    const trial = join(directory, "support", "cases", "gone", "1");
    expect(readdirSync(trial).sort()).toEqual(["model.jsonl", "trial.json"]);
    if (process.platform !== "win32") expect(statSync(join(trial, "trial.json")).mode & 0o777).toBe(0o600);
    await evaluate(evaluation, { only: ["refund"] });
    expect(readdirSync(join(directory, "support", "cases")).sort()).toEqual(["gone", "refund"]);
    await evaluate(evaluation);
    expect(readdirSync(join(directory, "support", "cases"))).toEqual(["refund"]);
    expect((await evaluate(evaluation, { replay: true })).totals.trials).toBe(1);
  });

  it("does not contain a folder for a stopped trial", async () => {
    const directory = makeFolder();
    const stop = new AbortController();
    const evaluation = defineEvaluation({
      name: "stopped",
      cases: [{ id: "a" }],
      directory,
      run: (_item, trial) => {
        setImmediate(() => stop.abort());
        const messages = [{ role: "user" as const, content: "?" }];
        return runToolLoop(trial.options({ provider: createMockProvider([stall()]), messages }));
      },
      check: () => true,
    });
    expect((await evaluate(evaluation, { signal: stop.signal })).ended).toBe("stopped");
    expect(existsSync(join(directory, "stopped", "cases", "a", "1"))).toBe(false);
    expect(readdirSync(join(directory, "stopped")).filter((name) => name.includes("lock"))).toEqual([]);
  });
});

it("an evaluation's folder contains one folder per case, with a name that Windows accepts", async () => {
  const directory = makeFolder();
  const ids = [
    "con",
    "CON",
    "nul.txt",
    "com1",
    "aux.",
    "a",
    "a.",
    "A",
    "a b",
    "a:b",
    "console",
    "\u{1f680}",
    "..",
    "x".repeat(300),
  ];
  const evaluation = defineEvaluation({
    name: "prn",
    cases: ids.map((id) => ({ id })),
    directory,
    run: () => 1,
    check: () => false,
  });
  await evaluate(evaluation);
  const [top = ""] = readdirSync(directory);
  const names = readdirSync(join(directory, top, "cases"));
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(ids.length);
  for (const name of [top, ...names]) {
    expect(name).toMatch(/^[a-z0-9._-]{1,64}$/);
    expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)|[. ]$/);
  }
  expect(names).toEqual(expect.arrayContaining(["a", "console"]));
  expect((await evaluate(evaluation, { replay: true })).totals.failed).toBe(ids.length);
});

it("evaluate: removes credentials from the names and reasons of checks", async () => {
  const secret = `sk-${"a1B2".repeat(12)}`;
  const evaluation = defineEvaluation({
    name: "secrets",
    cases: [{ id: "a" }],
    directory: false,
    run: () => 1,
    check: () => ({ [`has ${secret}`]: { pass: false, reason: `It says ${secret}.` } }),
  });
  const report = await evaluate(evaluation);
  expect(report.cases[0]?.trials[0]?.checks?.[0]).toMatchObject({ name: "has [redacted]", reason: "It says [redacted]." });
});

it("evaluate: removes credentials from the errors in a report", async () => {
  const secret = `sk-${"a1B2".repeat(12)}`;
  const evaluation = defineEvaluation({
    name: "secrets",
    cases: [{ id: "a" }],
    directory: false,
    setup: () => {
      throw new Error(`wrong key ${secret}`);
    },
    run: () => 1,
    check: () => true,
  });
  const report = await evaluate(evaluation);
  expect(report.cases[0]?.trials[0]?.error).toContain("wrong key");
  expect(JSON.stringify(report)).not.toContain(secret);
});
