import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, expect, it } from "vitest";
import { answersOf } from "../loop/play.ts";
import { readRecords } from "./folder.ts";
import { type Death, journalIn, live, notesIn, safeTools } from "./killed-run.ts";

const folder = mkdtempSync(join(tmpdir(), "turnwright-killed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const notesOf = (life: string): readonly string[] =>
  existsSync(notesIn(life)) ? readFileSync(notesIn(life), "utf8").split("\n").slice(0, -1) : [];
const keysOf = (life: string): readonly string[] => readRecords(journalIn(life)).map(({ key }) => key);

const lifeOf = (death: Death | "whole"): string =>
  join(folder, death === "whole" ? death : `${death.when} ${"key" in death ? death.key : death.count}`.replaceAll("/", "_"));

const isTool = (key: string): boolean => /\/tool\/\d+\/(note|look|pay|dig)$/.test(key);
const isModel = (key: string): boolean => key.endsWith("/model");
const isSafe = (key: string): boolean => safeTools.has(key.split("/").at(-1) ?? "");
const intentOf = (key: string): string => key.replace(/tool(\/\d+\/\w+)$/, "intent$1");

mkdirSync(lifeOf("whole"));
const whole = await live({ folder: lifeOf("whole") });
const keys = keysOf(lifeOf("whole"));

const deaths: readonly Death[] = [
  ...keys.map((_, index): Death => ({ when: "behind the record", count: index + 1 })),
  ...keys.flatMap((key, index): readonly Death[] =>
    isTool(key) || isModel(key) ? [{ when: "before the record", count: index + 1 }] : [],
  ),
  ...keys.filter(isTool).map((key): Death => ({ when: "within the tool", key })),
];

const program = join(folder, "life.mjs");
await build({
  stdin: {
    contents: 'import { live } from "./killed-run.ts"; await live(JSON.parse(process.argv[2]));',
    resolveDir: resolve("test/journal"),
  },
  outfile: program,
  bundle: true,
  platform: "node",
  format: "esm",
});

/** How the process of each death ended. It is over, and waited for. */
const ends = new Map<Death, unknown>();
const waiting = [...deaths];

async function liveAndDie(death: Death): Promise<void> {
  mkdirSync(lifeOf(death));
  const child = spawn(process.execPath, [program, JSON.stringify({ folder: lifeOf(death), death })], { stdio: "inherit" });
  const end = await new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => settle(signal ?? code));
  });
  ends.set(death, end);
}

async function takeTurns(): Promise<void> {
  for (let death = waiting.pop(); death !== undefined; death = waiting.pop()) await liveAndDie(death);
}

await Promise.all([takeTurns(), takeTurns(), takeTurns()]);

it.for(deaths)("a run whose process was killed $when $count$key goes on in another one", async (death) => {
  const life = lifeOf(death);
  expect([ends.get(death), existsSync(`${journalIn(life)}.lock`)]).toEqual(["SIGKILL", true]);
  const recorded = new Set(keysOf(life));
  const before = notesOf(life);
  const result = await live({ folder: life });
  const after = notesOf(life).slice(before.length);
  const noted = (verb: string, lines: readonly string[] = after): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${verb} `) ? [line.slice(verb.length + 1)] : [])).sort();

  // What is recorded does not happen again. What is not, happens once: but for a tool that may have run.
  const lost = keys.filter((key) => !recorded.has(key));
  const unknown = lost.filter((key) => isTool(key) && !isSafe(key) && recorded.has(intentOf(key)));
  expect(noted("asked")).toEqual(lost.filter(isModel).sort());
  expect(noted("began")).toEqual(lost.filter((key) => isTool(key) && !unknown.includes(key)).sort());
  expect(noted("approved")).toHaveLength(lost.filter((key) => key.includes("/approval/")).length);
  const begun = noted("began", [...before, ...after]).filter((key) => !isSafe(key));
  expect(begun).toEqual([...new Set(begun)]);
  if (death.when === "within the tool") expect(unknown.includes(death.key)).toBe(!isSafe(death.key));

  // Nothing else is lost: the answers are those of a run that nobody killed, and all of it is on record.
  const answers = answersOf(whole).map((part) => {
    const [, pass, index] = part.callId.split("_");
    const isUnknown = unknown.includes(`${pass}/tool/${index}/${part.name}`);
    return isUnknown ? expect.objectContaining({ callId: part.callId, outcome: "interrupted" }) : part;
  });
  expect([result.text, result.reason, answersOf(result)]).toEqual([whole.text, whole.reason, answers]);
  expect([...keysOf(life)].sort()).toEqual([...keys].sort());
  expect(existsSync(`${journalIn(life)}.lock`)).toBe(false);
});
