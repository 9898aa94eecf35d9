// Journals of steps in files and in saved JSON: crashes at each byte and between writes, other processes, old and edited records.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { isLoopError, memoryJournal, type SavedJournal } from "turnwright";
import { fileJournal } from "turnwright/journal";
import type { Message } from "../../src/core/types/message.ts";
import { head, toLine, type TornLine } from "../../src/journal/journal-lines.ts";
import { makeFolder, readRecords } from "../journal/folder.ts";
import { startWriter } from "../journal/writer-process.ts";
import { createProgram, createRandom } from "./random-program.ts";

/** A program with approvals, questions, plain tools and a nested run that wait at once. */
const seed = 77;

const pathIn = (folder: string): string => join(folder, "run.jsonl");

function shapeOf(messages: readonly Message[]): unknown {
  return messages.map((message) => (message.role === "tool" ? message.results.map(({ callId }) => callId) : message));
}

function keysIn(path: string): readonly string[] {
  return readRecords(path).map(({ key }) => key);
}

function isCut(keys: readonly string[]): boolean {
  return keys.some((key) => key.endsWith("/begun") && !keys.includes(key.replace(/begun$/, "outcome")));
}

interface Whole {
  readonly path: string;
  readonly bytes: Buffer;
  readonly messages: readonly Message[];
  readonly keys: readonly string[];
}

async function recordWhole(): Promise<Whole> {
  const path = pathIn(makeFolder());
  const { messages } = await createProgram(seed).finish(fileJournal(path, { fsync: false }), createRandom(1));
  return { path, bytes: readFileSync(path), messages, keys: keysIn(path) };
}

test("fileJournal: writes the journal header and one line per step, with the version in the first record", async () => {
  const { bytes, path, keys } = await recordWhole();
  expect(bytes.toString("utf8").startsWith(head)).toBe(true);
  expect(readRecords(path)[0]).toMatchObject({ key: "run", answer: { version: 4, middleware: expect.any(Array) } });
  expect(keys.some((key) => /^wait\/.*\/answer$/.test(key))).toBe(true);
  expect(keys.some((key) => key.includes("/tool/run/"))).toBe(true);
  expect(existsSync(`${path}.lock`)).toBe(false);
});

test("fileJournal: a run continues from its file truncated at any point, and does not repeat any completed steps", async () => {
  const { path, bytes, messages } = await recordWhole();
  const ends = [...bytes.keys()].filter((place) => bytes[place] === 0x0a);
  // In the middle of a record, damage has the same effect everywhere. Every second line has one of the four cuts.
  const around = (end: number, index: number): number => end + ([-1, 0, -30, 1][(index >> 1) % 4] ?? 0);
  const places = ends.map(around).filter((_, index) => index % 2 === 0);
  for (const place of [0, ...places]) {
    writeFileSync(path, bytes.subarray(0, place));
    // A record needs no line break at the end of the file, but the header does.
    const isWhole = place === 0 || bytes[place - 1] === 0x0a || (bytes[place] === 0x0a && place > head.length);
    const kept = (isWhole ? bytes.subarray(0, place) : bytes.subarray(0, bytes.lastIndexOf(0x0a, place - 1) + 1)).toString(
      "utf8",
    );
    const keys = [...kept.matchAll(/"key":"([^"]+)"/g)].map(([, key = ""]) => key);
    const torn: TornLine[] = [];
    const program = createProgram(seed);
    const journal = fileJournal(path, { fsync: false, onTornLine: (line) => void torn.push(line) });
    const result = await program.finish(journal, createRandom(place));
    expect([place, torn.length]).toEqual([place, isWhole ? 0 : 1]);
    if (isCut(keys)) expect(shapeOf(result.messages)).toEqual(shapeOf(messages));
    else expect(result.messages).toEqual(messages);
    for (const key of program.ran) expect(keys, `${key} ran again`).not.toContain(`${key.slice(2)}/outcome`);
  }
});

test("fileJournal: a file with a changed byte is refused as damaged", async () => {
  const { path, bytes } = await recordWhole();
  for (const place of [3, 60, bytes.length >> 1, bytes.length - 40]) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    writeFileSync(path, changed);
    const run = createProgram(seed).run({ journal: fileJournal(path) });
    await expect(run).rejects.toMatchObject({ code: "journal-damaged" });
    expect(readFileSync(path).equals(changed)).toBe(true);
  }
});

const life = `import { fileJournal } from "../../src/journal/file-journal.ts";
  import { createProgram, createRandom } from "./random-program.ts";
  const [path, seed, count] = process.argv.slice(2);
  const file = fileJournal(path);
  let left = Number(count);
  const step = async (key, body) => {
    let isLive = false;
    const value = await file.step(key, () => ((isLive = true), body()));
    if (isLive && --left === 0) process.kill(process.pid, "SIGKILL");
    return value;
  };
  await createProgram(Number(seed)).finish({ ...file, step }, createRandom(1));`;

test("fileJournal: another process continues after kill -9 between two writes", async () => {
  const { messages, keys } = await recordWhole();
  const program = join(makeFolder(), "life.mjs");
  const stdin = { contents: life, resolveDir: resolve("test/core") };
  await build({ stdin, outfile: program, bundle: true, platform: "node", format: "esm" });
  const counts = [1, 2, 3, 4].map((part) => Math.ceil((keys.length * part) / 5));
  for (const count of counts) {
    const path = pathIn(makeFolder());
    const child = spawn(process.execPath, [program, path, String(seed), String(count)], { stdio: "inherit" });
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(existsSync(`${path}.lock`)).toBe(true);
    const kept = keysIn(path);
    const later = createProgram(seed);
    const result = await later.finish(fileJournal(path), createRandom(count));
    expect(shapeOf(result.messages)).toEqual(shapeOf(messages));
    if (!isCut(kept)) expect(result.messages).toEqual(messages);
    for (const key of later.ran) expect(kept, `${key} ran again`).not.toContain(`${key.slice(2)}/begun`);
    expect(existsSync(`${path}.lock`)).toBe(false);
  }
});

test('fileJournal: a second process gets the error "journal-locked" while the first one is alive', async () => {
  const path = pathIn(makeFolder());
  const writer = await startWriter();
  expect(await writer.open(path)).toBe("open");
  const locked = await createProgram(seed)
    .run({ journal: fileJournal(path) })
    .catch((error: unknown) => error);
  expect(isLoopError(locked, "journal-locked") && locked.details.pid).toBe(writer.pid);
  await writer.kill();
  await createProgram(seed).finish(fileJournal(path), createRandom(1));
});

test("fileJournal: a journal that is not open refuses new steps, and records() reads without a lock", async () => {
  const { path, keys } = await recordWhole();
  await expect(fileJournal(path).step("new", () => ({}))).rejects.toMatchObject({ code: "journal-closed" });
  const writer = fileJournal(path);
  const close = await writer.open();
  expect([...(await fileJournal(path).records()).keys()]).toEqual(keys);
  await expect(writer.open()).rejects.toMatchObject({ code: "journal-locked" });
  await close();
});

/** The first record of a journal of version 3. */
const oldRun = { version: 3, messages: 1, digest: "5f", features: [] };

const oldVersion = {
  code: "journal-mismatch",
  message: expect.stringMatching(/format version 3, .* reads version 4\. Use the release that wrote it\./),
};

test("a journal file in the old format is refused and left unchanged", async () => {
  const path = pathIn(makeFolder());
  writeFileSync(path, head + toLine(JSON.stringify({ key: "run", kind: "run", answer: oldRun }), "").text);
  const bytes = readFileSync(path);
  await expect(createProgram(seed).run({ journal: fileJournal(path) })).rejects.toMatchObject(oldVersion);
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

test("a memory journal in the old format is refused", async () => {
  const saved: SavedJournal = { steps: { run: oldRun } };
  await expect(createProgram(seed).run({ journal: memoryJournal(saved) })).rejects.toMatchObject(oldVersion);
});

const first = { version: 4, messages: [], messagesDigest: "", middleware: [] };
const call = { callId: "a", name: "x", args: {} };

test.each<[key: string, record: unknown, problem: string]>([
  ["run", { ...first, middleware: [1] }, '"middleware"'],
  ["run", { ...first, messages: {} }, '"messages"'],
  ["begin", { now: "1", token: "t" }, '"now"'],
  ["i0/answered", { now: 1, token: "t", messages: [{}] }, '"messages"'],
  ["i0/next#2", { now: 1, token: "t", ending: { status: "done" } }, '"ending"'],
  ["i0/request/model", { status: "completed", text: 1 }, '"text"'],
  ["i1~2/request~2/model", [], "must be an object"],
  ["i0/call/0/x/begun", {}, '"token"'],
  ["i0/call/0/x/begun", { token: "t", refused: { kind: "magic" } }, '"refused"'],
  ["i0/call/0/x/outcome", { kind: "magic", call, durationMs: 0 }, '"kind"'],
  ["i0/call/0/x/tool/run/i0/call/0/y/outcome", { kind: "failed", call, durationMs: 0 }, '"error"'],
  ["i0/call/0/x/tool/first", { failed: "no" }, '"failed"'],
  ["wait/a/1/asked", { facts: {} }, '"what"'],
  ["wait/a/1/answer", {}, '"value"'],
])("an edited record %s is refused: %j", async (key, record, problem) => {
  const damaged = { code: "journal-damaged", message: expect.stringContaining(problem) };
  const path = pathIn(makeFolder());
  writeFileSync(path, head + toLine(JSON.stringify({ key, answer: record }), "").text);
  const journal = fileJournal(path);
  const close = await journal.open();
  expect(() => journal.read(key)).toThrow(expect.objectContaining(damaged));
  await close();
  expect(() => memoryJournal({ steps: { [key]: record } } as SavedJournal)).toThrow(expect.objectContaining(damaged));
});

test("a tool's step may have the same name as one of the loop's records", () => {
  const steps = { "i0/call/0/x/tool/run/begin": { value: 1 }, "i0/call/0/x/@note/outcome": {} };
  expect([...memoryJournal({ steps }).keys()]).toEqual(Object.keys(steps));
});

test("memoryJournal: a run continues from any prefix of its saved JSON", async () => {
  const whole = memoryJournal();
  const { messages } = await createProgram(seed).finish(whole, createRandom(1));
  const { steps } = JSON.parse(JSON.stringify(whole)) as SavedJournal;
  const entries = Object.entries(steps);
  for (let length = 0; length <= entries.length; length += 3) {
    const saved = { steps: Object.fromEntries(entries.slice(0, length)) };
    const result = await createProgram(seed).finish(memoryJournal(saved), createRandom(length));
    expect(result.messages).toEqual(messages);
  }
  expect(() => memoryJournal([] as never)).toThrow(expect.objectContaining({ code: "invalid-option" }));
});

test("fileJournal: redact changes what is written, not what the run sees", async () => {
  const path = pathIn(makeFolder());
  const seen: unknown[] = [];
  const journal = fileJournal(path, { redact: ({ key, answer }) => (seen.push([key, answer]), { value: "hidden" }) });
  const close = await journal.open();
  expect(await journal.step("a", () => ({ value: "secret" }))).toEqual({ value: "secret" });
  await close();
  expect(seen).toEqual([["a", { value: "secret" }]]);
  expect(readRecords(path)).toMatchObject([{ key: "a", answer: { value: "hidden" } }]);
  truncateSync(path, 0);
});
