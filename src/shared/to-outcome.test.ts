import { describe, expect, it } from "vitest";
import { FatalToolError, toolResult } from "../core/tools/tool-result.ts";
import { toFailure, toOutcome } from "./to-outcome.ts";

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

function failure(message: string) {
  return { kind: "failed", error: { name: "ToolFailure", message } };
}

describe("toOutcome", () => {
  it.for<[what: string, output: unknown, data: unknown]>([
    ["a string", "found", "found"],
    ["undefined", undefined, null],
    ["null", null, null],
    ["0", 0, 0],
    ["an empty string", "", ""],
    ["an object with a date", { at: new Date(0), gone: undefined }, { at: "1970-01-01T00:00:00.000Z" }],
    [
      "a plain object that only looks like a failure",
      { success: false, error: "only looks like a failure" },
      { success: false, error: "only looks like a failure" },
    ],
    ["a toolResult with data", toolResult({ data: { n: 1 } }), { n: 1 }],
    ["a toolResult without fields", toolResult({}), null],
    ["a toolResult with only a message", toolResult({ message: "Saved." }), "Saved."],
    ["a toolResult with a message and null as data", toolResult({ data: null, message: "Saved." }), null],
  ])("returns a success with data for %s", ([, output, data]) => {
    expect(toOutcome(output)).toEqual({ outcome: { kind: "completed", data } });
  });

  it("copies data, so that later changes by the tool have no effect", () => {
    const list = [1];
    const { outcome } = toOutcome({ list });
    list.push(2);
    expect(outcome).toEqual({ kind: "completed", data: { list: [1] } });
  });

  it("keeps the content parts that are not empty", () => {
    const empty = { type: "text", text: "" } as const;
    const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
    expect(toOutcome(toolResult({ data: 1, content: [empty] }))).toEqual({ outcome: { kind: "completed", data: 1 } });
    expect(toOutcome(toolResult({ data: 1, content: [empty, image] }))).toMatchObject({ outcome: { content: [image] } });
  });

  it("passes on content, endTurn and metadata", () => {
    const content = [{ type: "text", text: "a" }] as const;
    const metadata = { rows: 7n };
    expect(toOutcome(toolResult({ data: 1, content, endTurn: true, metadata }))).toEqual({
      outcome: { kind: "completed", data: 1, content, endTurn: true },
      metadata,
    });
    expect(toOutcome(toolResult({ data: 1, content: [], endTurn: false }))).toEqual({ outcome: { kind: "completed", data: 1 } });
  });

  it.for<[what: string, output: unknown, message: string]>([
    [
      "a toolResult that reports a failure",
      toolResult({ success: false, message: "The inbox is full.", error: "E_FULL" }),
      "The inbox is full.",
    ],
    [
      "a toolResult that reports a failure with a blank message",
      toolResult({ success: false, message: " ", error: "E_FULL" }),
      "E_FULL",
    ],
    [
      "a toolResult whose error contains a credential",
      toolResult({ error: "key sk-abcdefgh12345678 refused" }),
      "key [redacted] refused",
    ],
    [
      "a toolResult that reports a failure with a long message",
      toolResult({ success: false, message: "x".repeat(5_000) }),
      "x".repeat(2_000),
    ],
    [
      "a toolResult that reports a failure without a reason",
      toolResult({ success: false }),
      "The tool reported a failure without a reason.",
    ],
    ["cyclic data", cyclic, "The tool's result cannot be written as JSON: a cyclic value, or more than 1,000 levels."],
    ["a BigInt", { rows: 1n }, "The tool's result cannot be written as JSON: a BigInt."],
    ["a function", () => 1, "The tool's result cannot be written as JSON: a function."],
    ["a Map", new Map([["a", 1]]), "The tool's result cannot be written as JSON: a Map."],
    ["a Set", new Set([1]), "The tool's result cannot be written as JSON: a Set."],
    [
      "a fetch response",
      new Response("7 °C"),
      "The tool's result cannot be written as JSON: a Response, whose body has to be read first, for example with `await response.json()`.",
    ],
    [
      "an iterator",
      [1].values(),
      "The tool's result cannot be written as JSON: a generator or a stream, which has to be read to its end first.",
    ],
    [
      "an async generator",
      (async function* () {})(),
      "The tool's result cannot be written as JSON: a generator or a stream, which has to be read to its end first.",
    ],
    ["a symbol", Symbol("x"), "The tool's result cannot be written as JSON: a symbol."],
    [
      "a toolResult with cyclic data",
      toolResult({ data: cyclic, endTurn: true }),
      "The tool's result cannot be written as JSON: a cyclic value, or more than 1,000 levels.",
    ],
    [
      "a toolResult whose data is a promise",
      toolResult({ data: Promise.resolve(1) }),
      "The tool's result cannot be written as JSON: a promise, which has to be awaited first.",
    ],
    [
      "a toJSON method that throws",
      {
        toJSON() {
          throw new Error("closed.");
        },
      },
      "The tool's result cannot be written as JSON: closed.",
    ],
    [
      "a toolResult that reports a failure and has cyclic data",
      toolResult({ success: false, message: "Full.", data: cyclic }),
      "Full. The tool's result cannot be written as JSON: a cyclic value, or more than 1,000 levels.",
    ],
  ])("returns a failure for %s", ([, output, message]) => {
    expect(toOutcome(output)).toEqual({ outcome: failure(message) });
  });

  it("keeps the data and the content of a failed toolResult", () => {
    const content = [
      { type: "text", text: "log" },
      { type: "image", mediaType: "image/png", data: "aGk=" },
    ] as const;
    expect(toOutcome(toolResult({ success: false, message: "Full.", data: { n: 1 }, content }))).toEqual({
      outcome: { ...failure("Full."), data: { n: 1 }, content },
    });
  });

  const shared = Array.from({ length: 5 }).reduce<unknown>((part) => Array.from({ length: 300 }, () => part), 1);
  it.for<[what: string, output: unknown]>([
    ["nested arrays that share parts", shared],
    ["a buffer", Buffer.alloc(20_000_000)],
    ["an array of bytes", new Uint8Array(20_000_000)],
  ])("returns a failure for more than 10,000,000 parts in %s", ([, output]) => {
    const message = "The tool's result cannot be written as JSON: a value of more than 10,000,000 parts.";
    expect(toOutcome(output)).toEqual({ outcome: failure(message) });
  });

  it("passes on the metadata of a failure", () => {
    expect(toOutcome(toolResult({ error: "no", metadata: 1 }))).toEqual({ outcome: failure("no"), metadata: 1 });
  });

  it("treats a returned error like a thrown error", () => {
    expect(toOutcome(new RangeError("too far"))).toEqual({
      outcome: { kind: "failed", error: { name: "RangeError", message: "too far" } },
    });
  });
});

describe("toFailure", () => {
  it.for<[what: string, thrown: unknown, failed: object]>([
    [
      "Error with a cause",
      new TypeError("no", { cause: "why" }),
      { error: { name: "TypeError", message: "no", cause: { name: "Error", message: "why" } } },
    ],
    ["string", "plain text", { error: { name: "Error", message: "plain text" } }],
    ["undefined", undefined, { error: { name: "Error", message: "undefined" } }],
    ["plain object", { code: 42, hint: "x" }, { error: { name: "Error", message: '{"code":42,"hint":"x"}' } }],
    ["FatalToolError", new FatalToolError("gone"), { error: { name: "FatalToolError", message: "gone" }, fatal: true }],
  ])("creates a failure from a thrown %s", ([, thrown, failed]) => {
    expect(toFailure(thrown)).toEqual({ kind: "failed", ...failed });
  });

  it("omits the stack", () => {
    expect(JSON.stringify(toFailure(new Error("no")))).not.toContain("to-outcome.test");
  });
});
