import { describe, expect, it } from "vitest";
import { createResultCache, type RangedText, type ReadSource } from "turnwright/cache";
import { runTool } from "turnwright/testing";
import { readFrom, readPart } from "./read-stage.ts";

const own = (open: ReadSource["open"]): ReadSource => ({ name: "own", description: "texts of my own", open });

interface Ranged {
  readonly text: RangedText;
  readonly reads: number[];
  readonly closes: number[];
}

function createRanged(bytes: Uint8Array, onRead: () => void = () => {}): Ranged {
  const reads: number[] = [];
  const closes: number[] = [];
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    reads.push(offset);
    onRead();
    return bytes.slice(offset, offset + length);
  };
  return { reads, closes, text: { bytes: bytes.length, version: "1", read, close: () => void closes.push(1) } };
}

describe("a custom source for createResultCache", () => {
  it("receives each id that has no stored result", async () => {
    const asked: string[] = [];
    const none = own((id) => void asked.push(id));
    const texts = { ...own((id) => (id === "x" ? "text of x" : undefined)), name: "texts" };
    const cache = createResultCache({ sources: [none, texts] });
    expect(await readPart(cache, { id: "x", action: "read" })).toBe("Lines 1 to 1 of 1.\ntext of x");
    expect(await readPart(cache, { id: "../y\n", action: "read" })).toMatch(/Other texts: texts of my own; texts of my own\.$/);
    expect(asked).toEqual(["x", "../y\n"]);
  });

  it.for<[action: string, args: object, answer: string]>([
    ["read", { start_line: 2 }, "Lines 2 to 2 of 2.\nb"],
    ["head", { lines: 1 }, "Lines 1 to 1 of 2.\n[1,"],
    ["tail", { lines: 1 }, "Lines 2 to 2 of 2.\nb"],
    ["grep", { pattern: "b" }, "1 matching line in lines 1 to 2 of 2.\n2: b"],
    ["stats", {}, "Lines: 2. Bytes: 5. Tokens: about 2."],
  ])('supports the "%s" action whether it returns a string or an object with read()', async ([action, args, answer]) => {
    const ranged = createRanged(new TextEncoder().encode("[1,\nb"));
    expect(await readFrom(own(() => "[1,\nb"))({ id: "x", action, ...args })).toBe(answer);
    expect(await readFrom(own(() => ranged.text))({ id: "x", action, ...args })).toBe(answer);
    expect(ranged.closes).toEqual([1]);
  });

  it("can return an object with read() whose JSON text begins with a byte order mark", async () => {
    const ranged = createRanged(new TextEncoder().encode('\uFEFF{"a":[1,2]}'));
    expect(await readFrom(own(() => ranged.text))({ id: "x", action: "json", path: "$.a[-1]" })).toBe(
      "Matches 1 to 1 of 1.\n$.a[1]: 2",
    );
    expect(ranged.closes).toEqual([1]);
  });

  it("is no longer read once the call is aborted", async () => {
    const abort = new AbortController();
    const ranged: Ranged = createRanged(new Uint8Array(3e6).fill(65), () => {
      if (ranged.reads.length === 2) abort.abort();
    });
    const { tool } = createResultCache({ sources: [own(() => ranged.text)] });
    const outcome = await runTool(tool, { id: "x", action: "stats" }, { signal: abort.signal });
    expect([outcome.kind, ranged.reads.length, ranged.closes]).toEqual(["interrupted", 2, [1]]);
  });

  it.for<[what: string, open: () => unknown, message: string]>([
    [
      "returns a number",
      () => 7,
      'The open() method of the source "own" must return a string, undefined, or an object with "bytes", "version", "read" and "close", but returned 7.',
    ],
    ["returns null", () => null, "but returned null."],
    ["returns an object without close()", () => ({ bytes: 3, read: () => "x" }), "but returned an object."],
    [
      "throws",
      () => {
        throw new Error("No access today.");
      },
      "failed: No access today.",
    ],
    [
      "fails to read",
      () => ({
        ...createRanged(new Uint8Array(5)).text,
        read: () => Promise.reject(new Error("The disk is gone.")),
      }),
      "failed: The disk is gone.",
    ],
  ])("leads to an error that explains the fault to the model if the source %s", async ([, open, message]) => {
    expect(await readFrom(own(open as never))({ id: "x", action: "read" })).toContain(message);
  });
});
