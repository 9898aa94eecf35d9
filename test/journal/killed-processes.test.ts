import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { checkGoesOn, deathsOf, folderOf, keysIn, killProcesses, nameOf, type ShortLife, type Whole } from "./kill-processes.ts";
import { live } from "./killed-run.ts";

const root = mkdtempSync(join(tmpdir(), "turnwright-killed-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const folder = folderOf(root, "whole");
const result = await live({ folder });
const whole: Whole = { result, keys: keysIn(folder) };
const lives = deathsOf(whole.keys).map((death): ShortLife => ({ folder: folderOf(root, death), death }));
const ends = await killProcesses(root, lives);

const named = lives.map((life) => [nameOf(life.death), life] as const);

it.for(named)("a run with fileJournal is finished by another process if its process was killed %s", async ([, life]) => {
  expect(ends.get(life)).toBe("SIGKILL");
  await checkGoesOn(life, whole);
});
