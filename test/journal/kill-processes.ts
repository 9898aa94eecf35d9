// Starts processes that kill themselves in the middle of a run, and checks that another process can resume the run. A kill leaves the
// files as they are, so one process that copies its files at each moment replaces a killed process per moment.

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { expect } from "vitest";
import type { LoopResult } from "turnwright";
import { answersOf } from "../loop/play.ts";
import { readRecords } from "./folder.ts";
import { type Death, folderIn, journalIn, type Life, live, notesIn, safeTools } from "./killed-run.ts";

export interface Whole {
  readonly result: LoopResult;
  readonly keys: readonly string[];
}

export interface ShortLife extends Life {
  readonly death: Death;
}

export const keysIn = (folder: string): readonly string[] => readRecords(journalIn(folder)).map(({ key }) => key);

const notesOf = (folder: string): readonly string[] =>
  existsSync(notesIn(folder)) ? readFileSync(notesIn(folder), "utf8").split("\n").slice(0, -1) : [];

const isTool = (key: string): boolean => /\/call\/\d+\/(note|look|pay|dig)\/outcome$/.test(key);
const isModel = (key: string): boolean => key.endsWith("/model");
const isAsked = (key: string): boolean => key.endsWith("/@approve/decision");
/** Returns the place of a call, which its notes contain. */
const placeOf = (key: string): string => key.replace(/\/outcome$/, "");
const isSafe = (place: string): boolean => safeTools.has(place.split("/").at(-1) ?? "");

/** Lists every moment at which a process with these records can be killed: before and after each record, and inside each tool. */
export function deathsOf(keys: readonly string[]): readonly Death[] {
  return [
    ...keys.map((_, index): Death => ({ when: "after record", count: index + 1 })),
    ...keys.flatMap((key, index): readonly Death[] =>
      isTool(key) || isModel(key) ? [{ when: "before record", count: index + 1 }] : [],
    ),
    ...keys.filter(isTool).map((key): Death => ({ when: "during step", key: placeOf(key) })),
  ];
}

/** Runs the whole life in a process that copies its files at each moment to `copies`. Returns a life for each death. */
export async function copyAtDeaths(life: Life, copies: string, deaths: readonly Death[]): Promise<readonly ShortLife[]> {
  expect(await endOf({ ...life, copies })).toBe(0);
  return deaths.map((death) => ({ ...life, folder: folderIn(copies, death), death }));
}

/** Runs a life in its own process. Resolves to the signal or the exit code that ended the process. */
export async function endOf(life: Life): Promise<unknown> {
  const program = join(life.folder, "..", "life.mjs");
  if (!existsSync(program)) await buildLife(program);
  const child = spawn(process.execPath, [program, JSON.stringify(life)], { stdio: "inherit" });
  return new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => settle(signal ?? code));
  });
}

function buildLife(outfile: string): Promise<unknown> {
  return build({
    stdin: {
      contents: 'import { live } from "./killed-run.ts"; await live(JSON.parse(process.argv[2]));',
      resolveDir: resolve("test/journal"),
    },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
  });
}

export async function checkGoesOn({ death, ...life }: ShortLife, whole: Whole): Promise<void> {
  const { folder } = life;
  const { keys } = whole;
  expect(existsSync(`${journalIn(folder)}.lock`)).toBe(true);
  const recorded = new Set(keysIn(folder));
  const before = notesOf(folder);
  const result = await live(life);
  const after = notesOf(folder).slice(before.length);
  const noted = (verb: string, lines: readonly string[] = after): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${verb} `) ? [line.slice(verb.length + 1)] : [])).sort();

  // A step without a record runs once now. Exceptions are tools that may already have run.
  const lost = keys.filter((key) => !recorded.has(key));
  const lostCalls = lost.filter(isTool).map(placeOf);
  const unknown = lostCalls.filter((place) => !isSafe(place) && recorded.has(`${place}/begun`));
  expect(noted("asked")).toEqual(lost.filter(isModel).sort());
  expect(noted("began")).toEqual(lostCalls.filter((place) => !unknown.includes(place)).sort());
  expect(noted("approved")).toHaveLength(lost.filter(isAsked).length);
  const begun = noted("began", [...before, ...after]).filter((place) => !isSafe(place));
  expect(begun).toEqual([...new Set(begun)]);
  if (death.when === "during step") expect(unknown.includes(death.key)).toBe(!isSafe(death.key));

  const answers = answersOf(whole.result).map((part): unknown => {
    const [, iteration, index] = part.callId.split("_");
    const isUnknown = unknown.includes(`${iteration}/call/${index}/${part.name}`);
    return isUnknown ? expect.objectContaining({ callId: part.callId, outcome: "interrupted" }) : part;
  });
  expect([result.text, result.reason, answersOf(result)]).toEqual([whole.result.text, whole.result.reason, answers]);
  expect([...keysIn(folder)].sort()).toEqual([...keys].sort());
  expect(existsSync(`${journalIn(folder)}.lock`)).toBe(false);
}
