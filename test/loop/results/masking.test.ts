import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  maskResults,
  type Message,
  prepareIteration,
  processResults,
  toolResult,
} from "turnwright";
import type { MaskingOptions } from "../../../src/core/types/middleware-options.ts";
import { finish, type MockMessage, text, toolCall } from "turnwright/testing";
import { play, tool } from "../play.ts";
import { maskedIn, masksOf, playIterations, search, turnsOf } from "./masking-stage.ts";

describe("maskResults", () => {
  it.for<[what: string, masking: MaskingOptions, requests: readonly string[]]>([
    ["results older than two iterations by default", {}, ["", "", "", "c0", "c0 c1", "c0 c1 c2"]],
    [
      "all results with keepIterations: 0",
      { keepIterations: 0 },
      ["", "c0", "c0 c1", "c0 c1 c2", "c0 c1 c2 c3", "c0 c1 c2 c3 c4"],
    ],
    [
      "results older than one iteration with keepIterations: 1",
      { keepIterations: 1 },
      ["", "", "c0", "c0 c1", "c0 c1 c2", "c0 c1 c2 c3"],
    ],
    ["nothing with keepIterations: Infinity", { keepIterations: Number.POSITIVE_INFINITY }, ["", "", "", "", "", ""]],
    ["nothing if the results are just below minTokens", { minTokens: 1_001 }, ["", "", "", "", "", ""]],
    ["results of exactly minTokens", { minTokens: 1_000 }, ["", "", "", "c0", "c0 c1", "c0 c1 c2"]],
    [
      "two iterations at a time with batchOf: 2",
      { keepIterations: 1, batchOf: 2 },
      ["", "", "", "c0 c1", "c0 c1", "c0 c1 c2 c3"],
    ],
    ["three iterations at a time with batchOf: 3", { keepIterations: 2, batchOf: 3 }, ["", "", "", "", "", "c0 c1 c2"]],
    ["forced iterations of any age", { keepIterations: 4, force: new Set([1, 3]) }, ["", "", "c1", "c1", "c1 c3", "c0 c1 c3"]],
    ["no forced iterations below minTokens", { minTokens: 1_001, force: new Set([0, 1]) }, ["", "", "", "", "", ""]],
    [
      "nothing for forced iterations that do not exist",
      { keepIterations: 9, force: new Set([-1, 77, 0.5]) },
      ["", "", "", "", "", ""],
    ],
  ])("masks %s", async ([, masking, requests]) => {
    const { provider, result } = playIterations(5, { middleware: [maskResults(masking)] });
    await result;
    expect(masksOf(provider.requests)).toEqual(requests);
  });

  it("masks nothing if the policy is not set", async () => {
    const { provider, result } = playIterations(5, {});
    await result;
    expect(masksOf(provider.requests)).toEqual(["", "", "", "", "", ""]);
  });

  it("never masks errors or results of calls that did not run", async () => {
    const long = "x".repeat(8_000);
    const tools = [
      tool("search", () => long),
      tool("failing", () => toolResult({ success: false, error: long })),
      tool("restart", () => contextRestart({ type: "context_restart_x", enhanced_context_item: [long] })),
      tool("late", () => new Promise(() => {}), { timeoutMs: 10 }),
    ];
    const names = ["search", "failing", "nope", "restart", "late"];
    const turn = names.map((name) => toolCall(name, { long }, { id: name }));
    const playing = play([turn, ...turnsOf(3)], { tools, middleware: [maskResults({ minTokens: 0 })] });
    await playing.clock.runAll();
    await playing.result;
    expect(masksOf(playing.provider.requests)).toEqual(["", "", "", "search", "search c0"]);
  });

  it("never masks results in the given messages, even if forced", async () => {
    const messages: readonly Message[] = [
      { role: "user", content: "Go." },
      { role: "assistant", content: [{ type: "tool-call", callId: "old", name: "search", args: {} }] },
      { role: "tool", results: [{ callId: "old", name: "search", outcome: "completed", result: "x".repeat(8_000) }] },
      { role: "user", content: "Once more." },
    ];
    const { provider, result } = playIterations(2, {
      messages,
      middleware: [maskResults({ keepIterations: 0, force: new Set([0, 1]) })],
    });
    await result;
    expect(masksOf(provider.requests)).toEqual(["", "c0", "c0 c1"]);
  });

  it("measures each call in a batch separately, including images", async () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "z".repeat(4_000) };
    const tools = [search(), tool("small", () => "x"), tool("look", () => toolResult({ data: "seen", content: [image] }))];
    const turn = ["search", "small", "look"].map((name) => toolCall(name, {}, { id: name }));
    const { provider, result } = play([turn, text("Done.")], {
      tools,
      middleware: [maskResults({ keepIterations: 0 })],
    });
    await result;
    expect(provider.requests[1]?.messages.at(-1)).toEqual({
      role: "tool",
      results: [
        {
          callId: "search",
          name: "search",
          outcome: "completed",
          result: "[Result of search (call search) from iteration 0 left out: 1,000 tokens.]",
        },
        { callId: "small", name: "small", outcome: "completed", result: "x" },
        {
          callId: "look",
          name: "look",
          outcome: "completed",
          result: "[Result of look (call look) from iteration 0 left out: 1,601 tokens.]",
        },
      ],
    });
  });

  it("measures a result after processResults has shortened it", async () => {
    const { provider, result } = playIterations(2, {
      middleware: [maskResults({ keepIterations: 0 }), processResults({ processor: (_, output) => output.slice(0, 1_999) })],
    });
    await result;
    expect(masksOf(provider.requests)).toEqual(["", "c0", "c0 c1"]);
    const shorter = playIterations(2, {
      middleware: [maskResults({ keepIterations: 0 }), processResults({ processor: (_, output) => output.slice(0, 1_996) })],
    });
    await shorter.result;
    expect(masksOf(shorter.provider.requests)).toEqual(["", "", ""]);
  });
});

describe("masked results", () => {
  it("stay in the transcript, the history, and the messages for tools and approvals", async () => {
    const seen: number[] = [];
    const look = (messages: readonly Message[]): void => void seen.push(maskedIn(messages).length);
    const tools = [tool("search", (_, { messages }) => (look(messages), "x".repeat(4_000)))];
    const { provider, result } = play(turnsOf(4), {
      tools,
      middleware: [maskResults({ keepIterations: 0 }), approve((_, { messages }) => (look(messages), { kind: "approve" }))],
    });
    const { messages, functionHistory } = await result;
    expect(masksOf(provider.requests).at(-1)).toBe("c0 c1 c2 c3");
    expect([maskedIn(messages), new Set(seen)]).toEqual([[], new Set([0])]);
    expect(functionHistory.map(({ functionResponse }) => JSON.stringify(functionResponse.response.result).length)).toEqual([
      4_002, 4_002, 4_002, 4_002,
    ]);
  });

  it("are also masked in the messages for prepareIteration", async () => {
    const shown: string[] = [];
    const { provider, result } = playIterations(4, {
      middleware: [maskResults(), prepareIteration(({ messages }) => void shown.push(maskedIn(messages).join(" ")))],
    });
    await result;
    expect(shown).toEqual(masksOf(provider.requests));
  });

  it("are reported once, with the iteration, the calls and the tokens before and after", async () => {
    const { recording, result } = playIterations(4, { middleware: [maskResults()] });
    await result;
    const told = recording
      .of("masked")
      .map(({ iteration, calls, tokensBefore, tokensAfter }) => [iteration, calls, tokensBefore, tokensAfter]);
    expect(told).toEqual([
      [3, ["c0"], 1_000, 18],
      [4, ["c1"], 1_000, 18],
    ]);
    expect(recording.outline()).toContain("  masked c0 1000 -> 18\n  iteration-start 3\n");
  });

  it("are the same objects in every later request", async () => {
    const { provider, result } = playIterations(8, { middleware: [maskResults()] });
    await result;
    const last = provider.requests.at(-1)?.messages ?? [];
    for (const { messages } of provider.requests) {
      messages.forEach((message, at) => {
        if (message.role !== "tool" || maskedIn([message]).length > 0) expect(message).toBe(last[at]);
      });
    }
  });

  it("come before context items and stay masked in a continuation", async () => {
    const turns: readonly MockMessage[] = [...turnsOf(1).slice(0, 1), [text("So "), finish("paused")], text("it is.")];
    const { provider, result } = play(turns, {
      tools: [search()],
      middleware: [maskResults({ keepIterations: 0 }), contextRestarts({ items: ["It is night."] })],
    });
    expect((await result).text).toBe("So it is.");
    const roles = provider.requests.map(({ messages }) => messages.map(({ role }) => role).join(" "));
    expect(roles).toEqual(["user user", "user assistant tool user", "user assistant tool user assistant"]);
    expect(masksOf(provider.requests)).toEqual(["", "c0", "c0"]);
  });
});

it.for<[title: string, option: string, masking: unknown, code: string]>([
  ["true as options", "maskResults", true, "invalid-option"],
  ["a negative keepIterations", "maskResults.keepIterations", { keepIterations: -1 }, "invalid-option"],
  ["a fractional keepIterations", "maskResults.keepIterations", { keepIterations: 1.5 }, "invalid-option"],
  ["a minTokens that is NaN", "maskResults.minTokens", { minTokens: Number.NaN }, "invalid-option"],
  ["a batchOf of 0", "maskResults.batchOf", { batchOf: 0 }, "invalid-option"],
  ["an infinite batchOf", "maskResults.batchOf", { batchOf: Number.POSITIVE_INFINITY }, "invalid-option"],
  ["a number in the force list", "maskResults.force", { force: [1] }, "invalid-option"],
  ["an unknown option", "maskResults.keep", { keep: 1 }, "unknown-option"],
])("maskResults throws for %s", ([, option, masking, code]) => {
  const make = (): unknown => maskResults(masking as MaskingOptions);
  expect(make).toThrow(expect.objectContaining({ code, details: expect.objectContaining({ option }) as unknown }));
});
