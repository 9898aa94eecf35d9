import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { answersOf } from "../loop/play.ts";
import { checkGoesOn, deathsOf, folderOf, keysIn, killProcesses, nameOf, type ShortLife, type Whole } from "./kill-processes.ts";
import { journalIn, live, notesIn } from "./killed-run.ts";

const root = mkdtempSync(join(tmpdir(), "turnwright-deferred-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const answers: LoopOptions["answers"] = {
  call_i0_3: { kind: "result", result: { paid: 3 } },
  "call_i0_2/call_i0_0": { kind: "failed", error: "There is no spade." },
};

const folder = folderOf(root, "whole");
const waiting = await live({ folder, defers: true });
const before = keysIn(folder);
const suspended = join(root, "suspended");
copyFileSync(journalIn(folder), `${suspended}.jsonl`);
copyFileSync(notesIn(folder), `${suspended}.txt`);
const result = await live({ folder, defers: true, answers });
const whole: Whole = { result, keys: keysIn(folder) };

const lives = deathsOf(whole.keys.slice(before.length)).map((death): ShortLife => {
  const own = folderOf(root, death);
  copyFileSync(`${suspended}.jsonl`, journalIn(own));
  copyFileSync(`${suspended}.txt`, notesIn(own));
  return { folder: own, death, defers: true, answers };
});
const ends = await killProcesses(root, lives);

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

it.for(named)("a run with fileJournal applies each external result once if a process was killed %s", async ([, life]) => {
  expect(ends.get(life)).toBe("SIGKILL");
  await checkGoesOn(life, whole);
});
