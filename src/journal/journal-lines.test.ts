import { open, writeFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isLoopError } from "../shared/errors/loop-error.ts";
import { head, readLines, toLine } from "./journal-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "turnwright-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

const answers = ["", "ä€😀".repeat(9), "a\r\nb\u2028c", { list: [1, null, "😀"] }, "x".repeat(300)];
let sum = "";
const lines = answers.map((answer, index) => {
  const line = toLine(JSON.stringify({ key: `k${index}`, kind: "tool", answer }), sum);
  ({ sum } = line);
  return line.text;
});
const whole = Buffer.from(head + lines.join(""));

async function read(bytes: Uint8Array, chunkBytes?: number): Promise<unknown> {
  const path = join(folder, "a.jsonl");
  await writeFile(path, bytes);
  const file = await open(path);
  try {
    return await readLines(file, path, { chunkBytes });
  } catch (error) {
    if (isLoopError(error, "journal-damaged")) return error.details.line;
    throw error;
  } finally {
    await file.close();
  }
}

const changes: readonly (readonly [what: string, change: (bytes: Buffer) => Uint8Array, line: number | undefined])[] = [
  ["a complete file", (bytes) => bytes, undefined],
  ["an empty file", () => Buffer.alloc(0), undefined],
  ["a file with only a header line", () => Buffer.from(head), undefined],
  ["a file cut off in its header line", (bytes) => bytes.subarray(0, 20), undefined],
  ["a file cut off inside a character", (bytes) => bytes.subarray(0, bytes.indexOf("😀") + 2), undefined],
  ["a file without its last line break", (bytes) => bytes.subarray(0, -1), undefined],
  ["a cut-off file padded with zeros", (bytes) => Buffer.concat([bytes.subarray(0, -20), Buffer.alloc(5_000)]), undefined],
  ["a file in a different format version", (bytes) => Buffer.from(bytes.toString().replace(":1}", ":2}")), 1],
  ["a file with CRLF line breaks", (bytes) => Buffer.from(bytes.toString().replaceAll("}\n", "}\r\n")), 1],
  ["a file with one CRLF line break", (bytes) => Buffer.from(bytes.toString().replace(/\}\n$/, "}\r\n")), 6],
  [
    "a file with a duplicate line",
    () => Buffer.from(head + lines.flatMap((line, at) => (at === 2 ? [line, line] : [line])).join("")),
    5,
  ],
  ["a file with a duplicate last line", () => Buffer.from(head + lines.join("") + (lines.at(-1) ?? "")), 7],
  ["a file followed by a copy of itself", (bytes) => Buffer.concat([bytes, bytes]), 7],
  ["a file without its first record", () => Buffer.from(head + lines.slice(1).join("")), 2],
  ["a file of zeros without a line break", () => Buffer.alloc(5_000), 1],
];

describe("readLines (journal file)", () => {
  it.for(changes)("gives the same result for every chunk size when it reads %s", async ([, change, line]) => {
    const bytes = change(whole);
    const atOnce = await read(bytes);
    if (line !== undefined) expect(atOnce).toBe(line);
    for (const chunkBytes of [1, 2, 3, 5, 7, 16, 45, 46, 47, 300, bytes.length + 1]) {
      expect([chunkBytes, await read(bytes, chunkBytes)]).toEqual([chunkBytes, atOnce]);
    }
  });

  it("returns the records of a journal file and the size of the undamaged part", async () => {
    const expected = new Map(answers.map((answer, index) => [`k${index}`, answer]));
    expect(await read(whole, 7)).toEqual({ answers: expected, sum, size: whole.length, unended: false, torn: undefined });
    expect(await read(whole.subarray(0, -1), 7)).toMatchObject({ answers: expected, size: whole.length - 1, unended: true });
    const lastAt = whole.length - Buffer.byteLength(lines.at(-1) ?? "");
    expect(await read(Buffer.concat([whole.subarray(0, -20), Buffer.alloc(5_000)]), 7)).toMatchObject({
      size: lastAt,
      torn: { line: 6, bytes: whole.length - lastAt - 20 + 5_000 },
    });
  });
});
