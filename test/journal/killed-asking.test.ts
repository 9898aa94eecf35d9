import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { LoopOptions } from "turnwright";
import { checkGoesOn, copyAtDeaths, deathsOf, keysIn, type Whole } from "./kill-processes.ts";
import { live, nameOf } from "./killed-run.ts";

const root = mkdtempSync(join(tmpdir(), "turnwright-asked-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const answers: LoopOptions["answers"] = {
  call_i0_3: { kind: "modify", args: { usd: 2 } },
  "call_i0_2/call_i0_0": { kind: "approve" },
};

const folder = join(root, "whole");
mkdirSync(folder);
const waiting = await live({ folder, asks: true });
const before = keysIn(folder);
const asked = join(root, "asked");
cpSync(folder, asked, { recursive: true });
const result = await live({ folder, asks: true, answers });
const whole: Whole = { result, keys: keysIn(folder) };

const copies = join(root, "copies");
mkdirSync(copies);
const deaths = deathsOf(whole.keys.slice(before.length));
const lives = await copyAtDeaths({ folder: asked, asks: true, answers }, copies, deaths);

it("a run with fileJournal waits for the approvals of a call and a nested call, and then completes", () => {
  expect(waiting.reason.kind === "approval-required" && waiting.reason.calls.map(({ id }) => id).sort()).toEqual([
    "call_i0_2/call_i0_0",
    "call_i0_3",
  ]);
  expect(result.text).toBe("Done.");
  expect(lives.flatMap(({ death }) => (death.when === "during step" ? [death.key] : [])).sort()).toEqual([
    "i0/call/2/research/tool/run/i0/call/0/dig",
    "i0/call/3/pay",
    "i1/call/1/note",
  ]);
});

const named = lives.map((life) => [nameOf(life.death), life] as const);

it.for(named)(
  "a run with fileJournal keeps its approvals if the process that received the approvals died %s",
  async ([, life]) => {
    await checkGoesOn(life, whole);
  },
);
