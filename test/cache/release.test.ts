import { describe, expect, it } from "vitest";
import { createContextRelease, maskResults, memoryJournal, type ModelRequest, processResults } from "turnwright";
import { createResultCache, type ReadSource } from "turnwright/cache";
import { type MockScript, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "../loop/play.ts";
import { maskedIn } from "../loop/results/masking-stage.ts";
import { readPart, storedIn } from "./read-stage.ts";

const rows = Array.from({ length: 3_000 }, (_, index) => `row ${index + 1} of the register`).join("\n");
const list = tool("list", () => rows);
const other: ReadSource = { name: "own", description: "other texts", open: (id) => (id === "other" ? rows : undefined) };

const idIn = ({ messages }: ModelRequest): string => /with the id \\"([0-9a-z-]+)\\"/.exec(JSON.stringify(messages))?.[1] ?? "";
const sizeOf = ({ messages }: ModelRequest): number => JSON.stringify(messages).length;
const read = (id: string, startLine: number, callId: string): ReturnType<typeof toolCall> =>
  toolCall("read_part", { action: "read", id, start_line: startLine }, { id: callId });

/**
 * The model lists the texts, reads the stored result twice and another text once, releases the stored result, and tries to read it
 * again.
 */
const script: MockScript = (request, index) => {
  const id = idIn(request);
  return [
    toolCall("list", {}, { id: "list" }),
    [read(id, 1, "a"), read("other", 1, "other")],
    read(id, 500, "b"),
    toolCall("read_part", { action: "release", id }, { id: "release" }),
    read(id, 1, "again"),
    text("Done."),
  ][index];
};

const middleware = [maskResults({ keepIterations: Number.POSITIVE_INFINITY })];

describe("read_part with the release action", () => {
  it("masks earlier reads of the released result in the next request", async () => {
    const cache = createResultCache({ sources: [other] });
    const playing = play(script, {
      tools: [list, cache.tool],
      middleware: [maskResults({ keepIterations: Infinity }), processResults({ cacher: cache.cacher })],
    });
    const { provider, recording } = playing;
    const result = await playing.result;
    const [, , , before, after] = provider.requests;
    if (before === undefined || after === undefined) throw new Error("The run ended early.");
    expect([maskedIn(before.messages), maskedIn(after.messages)]).toEqual([[], ["a", "b"]]);
    expect(sizeOf(before) - sizeOf(after)).toBeGreaterThan(10_000);
    const answers = new Map(answersOf(result).map((answer) => [answer.callId, answer]));
    expect(answers.get("release")?.result).toBe("Released: the results of 2 earlier calls. The stored result is deleted.");
    expect(answers.get("again")).toMatchObject({ outcome: "failed" });
    expect(answers.get("a")?.result).toContain("row 1 of the register");
    expect(recording.of("masked").map(({ calls }) => calls)).toEqual([["a", "b"]]);
  });

  it("leads to the same requests when a run is resumed from a journal", async () => {
    const cache = createResultCache({ sources: [other] });
    const options = {
      tools: [list, cache.tool],
      middleware: [maskResults({ keepIterations: Infinity }), processResults({ cacher: cache.cacher })],
    };
    const first = play(script, options);
    const { journal } = await first.result;
    const { steps } = memoryJournal(JSON.parse(JSON.stringify(journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !key.startsWith("i5/")));
    const again = play([text("Done.")], { ...options, journal: memoryJournal({ steps: kept }) });
    await again.result;
    expect(again.provider.requests.map(({ messages }) => messages)).toEqual([first.provider.requests[5]?.messages]);
  });

  it("masks earlier reads of a custom source, but deletes nothing in the source", async () => {
    const cache = createResultCache({ sources: [other] });
    const release = toolCall("read_part", { action: "release", id: "other" });
    const { provider, result } = play([read("other", 1, "a"), release, text("Done.")], { tools: [cache.tool], middleware });
    expect(answersOf(await result)[1]?.result).toBe("Released: the results of 1 earlier call.");
    expect(provider.requests.map(({ messages }) => maskedIn(messages))).toEqual([[], [], ["a"]]);
    expect(await readPart(cache, { id: "other", action: "head", lines: 1 })).toContain("row 1");
  });

  it("does not mask results of an earlier run of the conversation", async () => {
    const cache = createResultCache({ sources: [other] });
    const first = await play([read("other", 1, "a"), text("Done.")], { tools: [cache.tool], middleware }).result;
    const release = toolCall("read_part", { action: "release", id: "other" });
    const messages = [...first.messages, { role: "user" as const, content: "Go on." }];
    const { provider, result } = play([read("other", 9, "b"), release, text("Done.")], {
      messages,
      tools: [cache.tool],
      middleware,
    });
    await result;
    expect(maskedIn(provider.requests.at(-1)?.messages ?? [])).toEqual(["b"]);
  });

  it("deletes a stored result that was never read", async () => {
    const cache = createResultCache();
    const id = await storedIn(cache, rows);
    expect(await readPart(cache, { action: "release", id })).toBe(
      "Released: the results of 0 earlier calls. The stored result is deleted.",
    );
    expect(await readPart(cache, { action: "head", id })).toMatch(/^failed: There is no stored result with this id/);
  });

  it.for<[id: string]>([["abc-000000000000000000000000"], ["../x"], ["__proto__"], [""]])(
    "fails for the id %j if nothing was read with this id",
    async ([id]) => {
      expect(await readPart(createResultCache({ sources: [other] }), { action: "release", id })).toBe(
        "failed: This id matches neither a stored result nor a text that you have read.",
      );
    },
  );

  it("masks the remaining result after context_release has masked another result", async () => {
    const cache = createResultCache({ sources: [other] });
    const turns = [
      [read("other", 1, "a"), read("other", 200, "b")],
      toolCall("context_release", { call_ids: ["b"] }),
      toolCall("read_part", { action: "release", id: "other" }),
      text("Done."),
    ];
    const tools = [createContextRelease(), cache.tool];
    const { provider, result } = play(turns, { tools, middleware: [maskResults({ keepIterations: 5 })] });
    await result;
    expect(provider.requests.map(({ messages }) => maskedIn(messages))).toEqual([[], [], ["b"], ["a", "b"]]);
  });
});
