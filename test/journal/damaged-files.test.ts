import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLoopError, type LoopResult, runToolLoop, type Tool, toolResult } from "turnwright";
import { fileJournal } from "turnwright/journal";
import type { TornLine } from "../../src/journal/journal-lines.ts";
import { createMockProvider, createTestClock, type MockMessage, text, toolCall } from "turnwright/testing";
import { answersOf, tool } from "../loop/play.ts";
import { makeFolder, readRecords } from "./folder.ts";

/** The tool "safe" ends the run early, unless the other call was interrupted. Tests repeat the run for almost every byte of its journal file, so it must be short. */
const turn: MockMessage = [text("Dönè."), toolCall("once", "ä"), toolCall("safe")];

interface Lived {
  readonly result: LoopResult | undefined;
  readonly error: unknown;
  readonly did: readonly string[];
  readonly torn: readonly TornLine[];
}

async function live(path: string, runId = "r"): Promise<Lived> {
  const did: string[] = [];
  const torn: TornLine[] = [];
  const make = (name: string, traits: Partial<Tool> = {}): Tool =>
    tool(name, () => toolResult({ data: did.push(name), endTurn: name === "safe" }), traits);
  const provider = createMockProvider(({ messages }) => {
    did.push("model");
    return messages.at(-1)?.role === "tool" ? text("Dönè.") : turn;
  });
  const end = await runToolLoop({
    provider,
    tools: [make("once"), make("safe", { replay: "safe" })],
    messages: [{ role: "user", content: "Gö." }],
    runId,
    clock: createTestClock(),
    journal: fileJournal(path, { fsync: false, onTornLine: (line) => void torn.push(line) }),
  }).then(
    (result) => ({ result, error: undefined }),
    (error: unknown) => ({ result: undefined, error }),
  );
  return { ...end, did, torn };
}

async function record(runId?: string): Promise<Buffer> {
  const path = join(makeFolder(), "run.jsonl");
  await live(path, runId);
  return readFileSync(path);
}

/**
 * Tries every position within 8 bytes of a line end, but only a 16th of all others. In the middle of a record, damage has the same
 * effect everywhere.
 */
function isTried(bytes: Buffer, place: number): boolean {
  return bytes.subarray(Math.max(0, place - 8), place + 8).includes(newline) || (place >> 2) % 16 === 0;
}

/** Checks four positions of a file at the same time, because each check mostly waits for the disk. */
async function atAnyByte(
  check: (place: number, file: { readonly bytes: Buffer; readonly path: string; readonly runId: string }) => Promise<void>,
): Promise<void> {
  const runIds = ["a", "b", "c", "d"];
  const lanes = runIds.map(async (runId, lane) => {
    const file = { bytes: await record(runId), path: join(makeFolder(), "run.jsonl"), runId };
    for (let place = lane; place <= file.bytes.length; place += runIds.length) {
      if (isTried(file.bytes, place)) await check(place, file);
    }
  });
  await Promise.all(lanes);
}

const newline = 0x0a;
const linesBefore = (bytes: Buffer, end: number): number => bytes.subarray(0, end).filter((byte) => byte === newline).length;

describe("fileJournal with a truncated file", () => {
  it("resumes the run after truncation at any byte, and repeats only replay-safe tools", async () => {
    const acts = new Map([
      ["i0/request/model", "model"],
      ["i0/call/0/once/outcome", "once"],
      ["i0/call/1/safe/outcome", "safe"],
    ]);
    await atAnyByte(async (size, { bytes, path, runId }) => {
      writeFileSync(path, bytes.subarray(0, size));
      const start = bytes.subarray(0, size).lastIndexOf(newline) + 1;
      // If a cut removes only the line end, it leaves a complete record, but an incomplete header.
      const isWhole = start === size || (start > 0 && bytes[size] === newline);
      const lines = linesBefore(bytes, isWhole ? size + 1 : size);
      const recorded = new Set(recordsOf(bytes).slice(0, Math.max(0, lines - 1)));
      const { result, did, torn } = await live(path, runId);

      const mayHaveRun = recorded.has("i0/call/0/once/begun") && !recorded.has("i0/call/0/once/outcome");
      const repeated = [...acts].flatMap(([key, act]) => (recorded.has(key) || (mayHaveRun && act === "once") ? [] : [act]));
      // The model reads that a call was interrupted, so the run does not end with its batch.
      const expected = mayHaveRun ? [...repeated, "model"] : repeated;
      const outcomes = [mayHaveRun ? "interrupted" : "completed", "completed"];
      expect([size, did, result?.text, result && answersOf(result).map(({ outcome }) => outcome)]).toEqual([
        size,
        expected,
        "Dönè.",
        outcomes,
      ]);
      expect([size, torn]).toEqual([size, isWhole ? [] : [{ line: lines + 1, bytes: size - start }]]);
      const keys = readRecords(path).map(({ key }) => key);
      const all = recordsOf(bytes);
      expect(mayHaveRun ? keys.slice(0, all.length - 1) : keys).toEqual(mayHaveRun ? all.slice(0, -1) : all);
    });
  });
});

describe("fileJournal with a damaged file", () => {
  it('throws "journal-damaged" with the line number if any byte is changed', async () => {
    const masks = [0x01, 0x80, 0x20, 0xff];
    await atAnyByte(async (at, { bytes, path, runId }) => {
      if (at === bytes.length) return;
      const broken = Buffer.from(bytes);
      broken.writeUInt8(bytes.readUInt8(at) ^ (masks[(at >> 2) % masks.length] ?? 1), at);
      writeFileSync(path, broken);
      const { error, did, torn } = await live(path, runId);
      expect([at, isLoopError(error, "journal-damaged") && error.details.line]).toEqual([at, linesBefore(bytes, at) + 1]);
      expect([did, torn, readFileSync(path).equals(broken)]).toEqual([[], [], true]);
    });
  });

  it.for<[what: string, change: (lines: readonly string[]) => readonly string[], line: number]>([
    ["lacks a line", (lines) => lines.filter((_, index) => index !== 4), 5],
    ["lacks its first record", (lines) => lines.filter((_, index) => index !== 1), 2],
    ["contains a line twice", (lines) => lines.flatMap((line, index) => (index === 3 ? [line, line] : [line])), 5],
    ["contains two swapped lines", ([a = "", b = "", c = "", d = "", ...rest]) => [a, b, d, c, ...rest], 3],
    ["has an empty line", (lines) => lines.flatMap((line, index) => (index === 4 ? ["", line] : [line])), 5],
    ["has CRLF line endings", (lines) => lines.map((line) => (line === "" ? line : `${line}\r`)), 1],
    ["has an unknown version in its header", ([head = "", ...lines]) => [head.replace(":1}", ":2}"), ...lines], 1],
    ["has the header of a different format", () => ["{}", ""], 1],
    ["is a text file", () => ["Dear diary"], 1],
    ["begins with a byte order mark", ([head = "", ...lines]) => [`\uFEFF${head}`, ...lines], 1],
  ])('throws "journal-damaged" if the file %s', async ([, change, line]) => {
    const bytes = await record();
    const path = join(makeFolder(), "run.jsonl");
    const changed = change(bytes.toString("utf8").split("\n")).join("\n");
    writeFileSync(path, changed);
    const { error } = await live(path);
    expect(isLoopError(error, "journal-damaged") && [error.details.path, error.details.line]).toEqual([path, line]);
    expect(readFileSync(path, "utf8")).toBe(changed);
  });

  it("does not run any recorded tool again after random changes and a truncation", async () => {
    const bytes = await record();
    const path = join(makeFolder(), "run.jsonl");
    const at = fc.nat(bytes.length - 1);
    const flips = fc.array(fc.tuple(at, fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length), flips, async (size, changes) => {
        const broken = Buffer.from(bytes);
        for (const [place, mask] of changes) broken.writeUInt8(broken.readUInt8(place) ^ mask, place);
        writeFileSync(path, broken.subarray(0, size));
        const { error, result, did } = await live(path);
        const sound = bytes.findIndex((byte, index) => index >= size || broken[index] !== byte);
        const whole = linesBefore(bytes, sound < 0 ? bytes.length : sound);
        const recorded = recordsOf(bytes).slice(0, Math.max(0, whole - 1));
        if (result === undefined) expect([isLoopError(error, "journal-damaged"), did]).toEqual([true, []]);
        else if (recorded.some((key) => key.endsWith("once"))) expect(did).not.toContain("once");
      }),
      { numRuns: 30 },
    );
  });
});

function recordsOf(bytes: Buffer): readonly string[] {
  return bytes
    .toString("utf8")
    .split("\n")
    .slice(1, -1)
    .map((line) => String(JSON.parse(line).key));
}
