import { describe, expect, it } from "vitest";
import { type Json, type ModelChunk, type Provider, toolResult } from "turnwright";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";
import { thenable } from "./thenable.ts";

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

describe("what a tool gives", () => {
  const huge = "x".repeat(2_000_000);
  it.for<[what: string, given: unknown, outcome: string, read: Json]>([
    ["nothing", undefined, "completed", null],
    ["null", null, "completed", null],
    ["a text that is empty", "", "completed", ""],
    ["false", false, "completed", false],
    ["NaN", Number.NaN, "completed", null],
    ["a date", new Date(0), "completed", "1970-01-01T00:00:00.000Z"],
    ["a map", new Map([[1, 2]]), "failed", unwritable("a Map")],
    ["a URL", new URL("https://example.org/"), "completed", "https://example.org/"],
    ["places without a value", [1, undefined, () => 1], "completed", [1, null, null]],
    ["fields without a value", { a: undefined, b: () => 1, c: Symbol("c"), d: 1 }, "completed", { d: 1 }],
    ["something huge", huge, "completed", huge],
    ["a cycle", cyclic, "failed", unwritable("a cyclic value")],
    ["a BigInt", { n: 7n }, "failed", unwritable("a BigInt")],
    ["a function", () => 1, "failed", unwritable("a function")],
    ["an error, returned", new Error("no"), "failed", { status: "tool_execution_failed", reason: "no", tool_name: "work" }],
    ["a result of nothing", toolResult({}), "completed", null],
    ["a result of a cycle", toolResult({ data: cyclic }), "failed", unwritable("a cyclic value")],
    ["a plain object like a result", { success: false, error: "E" }, "completed", { success: false, error: "E" }],
  ])("is read as it is: %s", async ([, given, outcome, read]) => {
    expect(await answerTo(() => given)).toEqual([outcome, read]);
    expect(await answerTo(async () => given)).toEqual([outcome, read]);
  });

  it("keeps a hostile key as data", async () => {
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
    [
      "is a promise that throws when it is awaited",
      () =>
        thenable({
          value: () => {
            throw new Error("broken then");
          },
        }),
      "broken then",
    ],
    [
      "has a `then` that cannot be looked at",
      () =>
        thenable({
          get: () => {
            throw new Error("broken look");
          },
        }),
      "broken look",
    ],
  ])("is a failure where it %s", async ([, given, reason]) => {
    const [outcome, read] = await answerTo(given);
    expect([outcome, JSON.stringify(read)]).toEqual(["failed", expect.stringContaining(reason)]);
  });

  it("counts once where a promise of another kind answers twice", async () => {
    const twice = thenable({
      value: (resolve: (value: unknown) => void, reject: (error: Error) => void) => {
        resolve("first");
        reject(new Error("second"));
        resolve("third");
      },
    });
    const playing = play([toolCall("work"), text("Done.")], { tools: [tool("work", () => twice)] });
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual(["first"]);
    expect(playing.recording.of("late-result")).toEqual([]);
  });

  it("is content too: a picture reaches the model beside the result", async () => {
    const content = [{ type: "image" as const, mediaType: "image/png", data: new URL("data:image/png;base64,aGk=") }];
    const playing = play([toolCall("work"), text("Done.")], {
      tools: [tool("work", () => toolResult({ data: "seen", content }))],
    });
    const result = await playing.result;
    const expected = [{ type: "image", mediaType: "image/png", data: "data:image/png;base64,aGk=" }];
    expect([answersOf(result)[0]?.content, result.functionHistory[0]?.content]).toEqual([expected, expected]);
  });

  it("has a part that only listeners hear", async () => {
    const playing = play([toolCall("work"), text("Done.")], {
      tools: [tool("work", () => toolResult({ data: 1, metadata: { secret: 7 } }))],
    });
    expect(JSON.stringify(await playing.result)).not.toContain("secret");
    expect(playing.recording.of("tool-end")).toMatchObject([{ result: 1, metadata: { secret: 7 } }]);
  });
});

describe("what was said stays said", () => {
  it("when a tool scribbles on its arguments", async () => {
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

  it("when a tool goes on changing what it gave", async () => {
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

  it("when a call's arguments are read by nobody but its own tool", async () => {
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
