import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { checkGoesOn, copyAtDeaths, deathsOf, endOf, keysIn, type ShortLife, type Whole } from "./kill-processes.ts";
import { type Death, live, nameOf } from "./killed-run.ts";

const root = mkdtempSync(join(tmpdir(), "turnwright-killed-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function makeFolder(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

const folder = makeFolder("whole");
const result = await live({ folder });
const whole: Whole = { result, keys: keysIn(folder) };
const deaths = deathsOf(whole.keys);
const copied = await copyAtDeaths({ folder: makeFolder("copied") }, makeFolder("copies"), deaths);

const named = copied.map((life) => [nameOf(life.death), life] as const);

it.for(named)("a run with fileJournal is finished by another process if its process died %s", async ([, life]) => {
  await checkGoesOn(life, whole);
});

const middle = (when: Death["when"]): Death | undefined => deaths.filter((death) => death.when === when)[2];

it.for(["before record", "after record", "during step"] as const)(
  "a run with fileJournal is finished by another process if SIGKILL ends its process %s",
  async (when) => {
    const death = middle(when);
    if (death === undefined) throw new Error(`No death is ${when}.`);
    const life: ShortLife = { folder: makeFolder(when), death };
    expect(await endOf(life)).toBe("SIGKILL");
    await checkGoesOn(life, whole);
  },
);
