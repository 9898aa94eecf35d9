import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { type ModelChunk, type Provider } from "turnwright";
import { memoryCassette, recordTo, replayFrom, text, wait } from "turnwright/testing";
import type { CutLine } from "../../src/testing/cassettes/cassette.ts";
import { script, textsOf, linesOf, ask, echo, record, complaintOf } from "./cassette-kit.ts";
import { play, request, setUp } from "./play.ts";

const folder = mkdtempSync(join(tmpdir(), "cassettes-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("recordTo", () => {
  it("writes one line for each event in a stream, in order", async () => {
    const cassette = memoryCassette();
    const { clock, call } = setUp();
    const provider = recordTo(cassette, { ...script([text("Hi"), wait(20), text("!")]), family: "f" });
    const playing = play(provider, request, call);
    await clock.runAll();
    await playing;
    const digest: unknown = expect.stringMatching(/^[\da-f]{14}$/);
    expect(linesOf(cassette)).toEqual([
      { format: "turnwright-cassette", version: 1, provider: "mock", model: "mock-model", family: "f" },
      { type: "request", stream: 0, request: { messages: [["user", digest]], tools: [], fields: [] } },
      { type: "chunk", chunk: { type: "text-delta", text: "Hi" }, stream: 0, atMs: 0 },
      { type: "chunk", chunk: { type: "text-delta", text: "!" }, stream: 0, atMs: 20 },
      { type: "chunk", chunk: { type: "finish", reason: "stop" }, stream: 0, atMs: 20 },
      { type: "ended", stream: 0, atMs: 20 },
    ]);
  });

  it("writes only digests of a request", async () => {
    const settings = { extra: { key: "secret-1" } };
    const asked = ask("secret-2", {
      system: "secret-3",
      settings,
      continuationToken: "secret-4",
      tools: [{ ...echo, description: "secret-5" }],
    });
    const cassette = await record(asked);
    expect(cassette.read()).not.toContain("secret");
    expect(linesOf(cassette)[1]).toMatchObject({
      request: {
        messages: [["user", expect.anything()]],
        tools: [["echo", expect.anything()]],
        fields: [
          ["continuationToken", expect.anything()],
          ["settings.extra", expect.anything()],
          ["system", expect.anything()],
        ],
      },
    });
  });

  it("writes each chunk to the file before returning the chunk", async () => {
    const file = join(folder, "deep/er/one.jsonl");
    await play(recordTo(file, script([text("old")])));
    expect(readFileSync(file, "utf8")).toContain("old");
    const again = recordTo(file, script([text("new")]));
    const stream = again.stream(request, setUp().call)[Symbol.asyncIterator]();
    expect(readFileSync(file, "utf8")).not.toContain("old");
    await stream.next();
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(3);
    if (process.platform !== "win32") expect(statSync(file).mode & 0o077).toBe(0);
    while ((await stream.next()).done !== true);
    expect(textsOf(await play(replayFrom(file)))).toBe("new");
  });

  it("writes a valid cassette even without a request", async () => {
    const cassette = memoryCassette();
    recordTo(cassette, { ...script(), id: "b" });
    const provider = replayFrom(cassette);
    expect([provider.id, provider.model, provider.family]).toEqual(["b", "mock-model", undefined]);
    expect(await complaintOf(provider)).toBe(
      "The cassette contains 0 requests, but more requests were sent. Record the run again.",
    );
  });

  it("needs Node for cassette files, but not for memory cassettes", () => {
    vi.stubGlobal("process", undefined);
    try {
      expect(() => replayFrom("x.jsonl")).toThrow("needs Node 20.16 or later");
      expect(() => recordTo(memoryCassette(), script())).not.toThrow();
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe("replayFrom", () => {
  const made = async (name: string): Promise<string> => {
    const file = join(folder, name);
    await play(recordTo(file, script([text("Hi"), text(" you")])));
    return file;
  };

  it("replays a truncated file up to the last complete line", async () => {
    const file = await made("torn.jsonl");
    const whole = readFileSync(file, "utf8");
    const end = whole.indexOf(" you");
    truncateSync(file, end);
    const torn: CutLine[] = [];
    const provider = replayFrom(file, { onTornLine: (line) => torn.push(line) });
    const chunks: ModelChunk[] = [];
    const reading = async (): Promise<void> => {
      for await (const chunk of provider.stream(request, setUp().call)) chunks.push(chunk);
    };
    await expect(reading()).rejects.toThrow("The recording of this stream is incomplete");
    expect(textsOf(chunks)).toBe("Hi");
    expect(torn).toEqual([{ line: 4, characters: end - whole.lastIndexOf("\n", end) - 1 }]);
    expect(readFileSync(file, "utf8")).toBe(whole.slice(0, end));
  });

  it("replays a file that lacks only the last line break", async () => {
    const file = await made("unended.jsonl");
    truncateSync(file, statSync(file).size - 1);
    const torn: CutLine[] = [];
    expect(textsOf(await play(replayFrom(file, { onTornLine: (line) => torn.push(line) })))).toBe("Hi you");
    expect(torn).toEqual([]);
  });

  it("reads a file that is truncated anywhere after the header", async () => {
    const whole = readFileSync(await made("any.jsonl"), "utf8");
    const head = whole.indexOf("\n");
    for (let length = 0; length <= whole.length; length += 1) {
      const open = (): Provider => replayFrom(memoryCassette(whole.slice(0, length)));
      if (length < head) expect(open).toThrow("is not a version 1 cassette");
      else expect(open).not.toThrow();
    }
  });

  it.for<[what: string, damage: (lines: string[]) => void, line: number]>([
    ["a line that is not JSON", (lines) => lines.splice(2, 1, "{"), 3],
    ["a line of an unknown type", (lines) => lines.splice(2, 1, '{"type":"chunks","stream":0,"atMs":0}'), 3],
    ["a chunk without a type", (lines) => lines.splice(2, 1, '{"type":"chunk","stream":0,"atMs":0,"chunk":{}}'), 3],
    ["an error without a code", (lines) => lines.splice(2, 1, '{"type":"threw","stream":0,"atMs":0,"error":{"message":"x"}}'), 3],
    ["a line without a time", (lines) => lines.splice(2, 1, '{"type":"heartbeat","stream":0}'), 3],
    ["a `left` line without `waiting`", (lines) => lines.splice(2, 1, '{"type":"left","stream":0,"atMs":0}'), 3],
    ["a stream whose request is missing", (lines) => lines.splice(1, 1), 2],
    ["an incomplete request", (lines) => lines.splice(1, 1, '{"type":"request","stream":0,"request":{"messages":[]}}'), 2],
    [
      "a request with an invalid message",
      (lines) => lines.splice(1, 1, '{"type":"request","stream":0,"request":{"messages":[["user"]],"tools":[],"fields":[]}}'),
      2,
    ],
    ["a repeated request, written by two recorders", (lines) => lines.splice(2, 0, lines[1] ?? ""), 3],
    ["a line after the end of its stream", (lines) => lines.splice(-1, 0, lines.at(-2) ?? ""), 7],
    [
      "a stream whose number is the name of a method",
      (lines) => lines.splice(2, 1, '{"type":"heartbeat","stream":"at","atMs":0}'),
      3,
    ],
  ])("throws an error with the line number for %s", async ([, damage, line]) => {
    const lines = readFileSync(await made("damaged.jsonl"), "utf8").split("\n");
    damage(lines);
    const file = join(folder, "damaged.jsonl");
    writeFileSync(file, lines.join("\n"));
    expect(() => replayFrom(file)).toThrow(
      `The cassette ${file} is damaged: line ${line} is invalid. Record it again with recordTo().`,
    );
  });

  it.for([
    "{}",
    '{"format":"turnwright-journal","version":1}',
    '{"format":"turnwright-cassette","version":2,"provider":"p","model":"m"}',
    '{"format":"turnwright-cassette","version":1,"provider":"p"}',
  ])("rejects a file with the header %s", (head) => {
    expect(() => replayFrom(memoryCassette(`${head}\n`))).toThrow("The cassette is not a version 1 cassette");
  });
});

describe("recordTo and replayFrom", () => {
  const cassette = memoryCassette();
  const provider = script();
  it.for<[what: string, use: () => unknown, code: string]>([
    ["an empty path", () => recordTo("", provider), "invalid-option"],
    ["a number as the file", () => replayFrom(Object(7)), "invalid-option"],
    ["an incomplete cassette", () => replayFrom(JSON.parse('{"read":1}')), "invalid-option"],
    ["an incomplete provider", () => recordTo(cassette, Object({ id: "x" })), "invalid-option"],
    ["an unknown option", () => recordTo(cassette, provider, Object({ redacted: 1 })), "unknown-option"],
    ["a redact option that is not a function", () => recordTo(cassette, provider, Object({ redact: true })), "invalid-option"],
    ["an unknown value of the `match` option", () => replayFrom(cassette, Object({ match: "strict" })), "invalid-option"],
    ["a `timing` option that is not a boolean", () => replayFrom(cassette, Object({ timing: 1 })), "invalid-option"],
    [
      "an `onTornLine` option that is not a function",
      () => replayFrom(cassette, Object({ onTornLine: "log" })),
      "invalid-option",
    ],
  ])("throw for %s", ([, use, code]) => {
    expect(use).toThrow(expect.objectContaining({ code }));
    expect(cassette.read()).toBe("");
  });

  it("throw ENOENT for a missing file and reject an empty file", () => {
    const file = join(folder, "nowhere.jsonl");
    expect(() => replayFrom(file)).toThrow("ENOENT");
    expect(existsSync(file)).toBe(false);
    appendFileSync(file, "");
    expect(() => replayFrom(file)).toThrow(`The cassette ${file} is not a version 1 cassette`);
  });
});
