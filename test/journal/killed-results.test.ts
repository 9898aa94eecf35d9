import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { answersOf } from "../loop/play.ts";
import { checkGoesOn, copyAtDeaths, deathsOf, keysIn, type Whole } from "./kill-processes.ts";
import { live, nameOf } from "./killed-run.ts";

const root = mkdtempSync(join(tmpdir(), "turnwright-deferred-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const answers: LoopOptions["answers"] = {
  call_i0_3: { kind: "result", result: { paid: 3 } },
  "call_i0_2/call_i0_0": { kind: "failed", error: "There is no spade." },
};

const folder = join(root, "whole");
mkdirSync(folder);
const waiting = await live({ folder, defers: true });
const before = keysIn(folder);
const suspended = join(root, "suspended");
cpSync(folder, suspended, { recursive: true });
const result = await live({ folder, defers: true, answers });
const whole: Whole = { result, keys: keysIn(folder) };

const copies = join(root, "copies");
mkdirSync(copies);
const deaths = deathsOf(whole.keys.slice(before.length));
const lives = await copyAtDeaths({ folder: suspended, defers: true, answers }, copies, deaths);

it("a run with fileJournal waits for the results of a call and a nested call, and then completes", () => {
  const { reason } = waiting;
  expect(reason.kind === "result-required" && reason.calls.map(({ id }) => id).sort()).toEqual([
    "call_i0_2/call_i0_0",
    "call_i0_3",
  ]);
  expect(result.text).toBe("Done.");
  expect(answersOf(result)).toContainEqual(expect.objectContaining({ name: "pay", outcome: "completed" }));
  expect(lives.length).toBeGreaterThan(10);
});

const named = lives.map((life) => [nameOf(life.death), life] as const);

it.for(named)("a run with fileJournal applies each external result once if a process died %s", async ([, life]) => {
  await checkGoesOn(life, whole);
});
