import { describe, expect, it } from "vitest";
import { type Json, type ModelChunk, type Provider, toolResult } from "turnwright";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

async function answerTo(execute: () => unknown): Promise<readonly [outcome: string | undefined, result: Json | undefined]> {
  const { result } = play([toolCall("work"), text("Done.")], { tools: [tool("work", execute)] });
  const ended = await result;
  expect(() => JSON.stringify(ended)).not.toThrow();
  const [answer] = answersOf(ended);
  return [answer?.outcome, answer?.result];
}

const unwritable = (problem: string): Json => ({
  status: "tool_execution_failed",
  reason: `The tool's result cannot be written as JSON: ${problem}.`,
  tool_name: "work",
});

describe("tool results", () => {
  const huge = "x".repeat(2_000_000);
  it.for<[what: string, given: unknown, outcome: string, read: Json]>([
    ["undefined", undefined, "completed", null],
    ["null", null, "completed", null],
    ["an empty string", "", "completed", ""],
    ["false", false, "completed", false],
    ["NaN", Number.NaN, "completed", null],
    ["a Date", new Date(0), "completed", "1970-01-01T00:00:00.000Z"],
    ["a Map", new Map([[1, 2]]), "failed", unwritable("a Map")],
    ["a URL", new URL("https://example.org/"), "completed", "https://example.org/"],
    ["array items without a value", [1, undefined, () => 1], "completed", [1, null, null]],
    ["fields without a value", { a: undefined, b: () => 1, c: Symbol("c"), d: 1 }, "completed", { d: 1 }],
    ["a huge string", huge, "completed", huge],
    ["a cycle", cyclic, "failed", unwritable("a cyclic value, or more than 1,000 levels")],
    ["a BigInt", { n: 7n }, "failed", unwritable("a BigInt")],
    ["a function", () => 1, "failed", unwritable("a function")],
    ["an error", new Error("no"), "failed", { status: "tool_execution_failed", reason: "no", tool_name: "work" }],
    ["an empty toolResult", toolResult({}), "completed", null],
    [
      "a toolResult with a cycle",
      toolResult({ data: cyclic }),
      "failed",
      unwritable("a cyclic value, or more than 1,000 levels"),
    ],
    ["a plain object that looks like a toolResult", { success: false, error: "E" }, "completed", { success: false, error: "E" }],
  ])("have the expected outcome and text if the tool returns %s", async ([, given, outcome, read]) => {
    expect(await answerTo(() => given)).toEqual([outcome, read]);
    expect(await answerTo(async () => given)).toEqual([outcome, read]);
  });

  it("keep the keys __proto__ and constructor as data", async () => {
    const [, read] = await answerTo(() => JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}'));
    expect(Object.entries(Object(read))).toEqual([
      ["__proto__", { admin: true }],
      ["constructor", 1],
    ]);
    expect(Reflect.get({}, "admin")).toBeUndefined();
  });

  it.for<[what: string, given: () => unknown, reason: string]>([
    [
      "throws from its toJSON",
      () => ({
        toJSON(): never {
          throw new Error("broken toJSON");
        },
      }),
      "broken toJSON",
    ],
    [
      "throws from a getter",
      () => ({
        get value(): never {
          throw new Error("broken getter");
        },
      }),
      "broken getter",
    ],
  ])("fail the call if the value that the tool returned %s", async ([, given, reason]) => {
    const [outcome, read] = await answerTo(given);
    expect([outcome, JSON.stringify(read)]).toEqual(["failed", expect.stringContaining(reason)]);
  });

  it("put image content into the message for the model and into the function history", async () => {
    const content = [{ type: "image" as const, mediaType: "image/png", data: new URL("data:image/png;base64,aGk=") }];
    const playing = play([toolCall("work"), text("Done.")], {
      tools: [tool("work", () => toolResult({ data: "seen", content }))],
    });
    const result = await playing.result;
    const expected = [{ type: "image", mediaType: "image/png", data: "data:image/png;base64,aGk=" }];
    expect([answersOf(result)[0]?.content, result.functionHistory[0]?.content]).toEqual([expected, expected]);
  });

  it("send toolResult metadata only to listeners", async () => {
    const playing = play([toolCall("work"), text("Done.")], {
      tools: [tool("work", () => toolResult({ data: 1, metadata: { secret: 7 } }))],
    });
    expect(JSON.stringify(await playing.result)).not.toContain("secret");
    expect(playing.recording.of("tool-end")).toMatchObject([{ result: 1, metadata: { secret: 7 } }]);
  });
});

describe("arguments and results of calls", () => {
  it("do not change in the transcript if a tool changes its arguments", async () => {
    const scribble = tool("work", (args) => {
      const { list } = args as { readonly list: string[] };
      list.push("more");
      Object.assign(Object(args), { extra: 1 });
    });
    const { result, provider } = play([toolCall("work", { list: ["a"] }), text("Done.")], { tools: [scribble] });
    const ended = await result;
    expect(ended.messages[1]).toMatchObject({ content: [{ args: { list: ["a"] } }] });
    expect(ended.functionHistory[0]?.functionCall.args).toEqual({ list: ["a"] });
    expect(provider.requests[1]?.messages[1]).toEqual(ended.messages[1]);
  });

  it("do not change if a tool changes a result that it returned earlier", async () => {
    const clock = createTestClock();
    const shared = { list: ["a"] };
    const parts = [{ type: "text" as const, text: "a" }];
    const first = tool("first", () => shared);
    const second = tool("second", () => {
      shared.list.push("b");
      return toolResult({ data: shared, content: parts });
    });
    const third = tool("third", () => {
      shared.list.push("c");
      parts.push({ type: "text", text: "b" });
    });
    const { result } = play([toolCall("first"), toolCall("second"), toolCall("third"), text("Done.")], {
      clock,
      tools: [first, second, third],
    });
    const answers = answersOf(await result);
    expect(answers.map((part) => part.result)).toEqual([{ list: ["a"] }, { list: ["a", "b"] }, null]);
    expect(answers[1]?.content).toEqual([{ type: "text", text: "a" }]);
  });

  it("do not change if a provider changes arguments after call-ready", async () => {
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream(request): AsyncIterable<ModelChunk> {
        if (request.iteration > 0) {
          yield { type: "text-delta", text: "Done." };
          yield { type: "finish", reason: "stop" };
          return;
        }
        const args = { list: ["a"] };
        yield { type: "call-ready", key: "k", name: "work", args };
        args.list.push("b");
        yield { type: "finish", reason: "tool-calls" };
      },
    };
    const { result } = play([], { provider, tools: [tool("work", (args) => args)] });
    expect(answersOf(await result)[0]?.result).toEqual({ list: ["a"] });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: completed"]);
  });
});
