import { describe, expect, it } from "vitest";
import type { Json, ModelChunk } from "../core/index.ts";
import { createGenerateReader } from "./generate-events.ts";

type Fields = { readonly [field: string]: unknown };

const says = (...parts: readonly unknown[]): Fields => ({ candidates: [{ content: { role: "model", parts } }] });
const call = (functionCall: Fields, rest: Fields = {}): Fields => says({ functionCall, ...rest });
const stop = (finishReason = "STOP", rest: Fields = {}): Fields => ({ candidates: [{ finishReason, ...rest }] });

function read(...chunks: readonly unknown[]): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const reader = createGenerateReader(out);
  for (const chunk of chunks) if (!reader.failed) reader.read(chunk);
  reader.end();
  return out;
}

const metadataOf = (chunks: readonly ModelChunk[]): readonly Json[] =>
  chunks.flatMap((chunk) => (chunk.type === "provider-metadata" ? [Object(chunk.item).part] : []));
const without = (type: ModelChunk["type"], chunks: readonly ModelChunk[]): readonly ModelChunk[] =>
  chunks.filter((chunk) => chunk.type !== type);
const finish = (reason: string, raw: string): object => ({ type: "finish", reason, raw });

describe("googleGenerateContent: the chunks of a stream", () => {
  it("contain each text and thought as soon as it arrives", () => {
    const chunks = read(
      says({ text: "Hm", thought: true }),
      says({ text: ".", thought: true }, { text: "Mi" }),
      says({ text: "" }, { text: "ld", thought: false }),
      says({ text: ".", thoughtSignature: "s" }),
      stop(),
    );
    expect(chunks).toEqual([
      { type: "reasoning-delta", text: "Hm" },
      { type: "reasoning-delta", text: "." },
      { type: "text-delta", text: "Mi" },
      { type: "text-delta", text: "ld" },
      { type: "text-delta", text: "." },
      { type: "provider-metadata", item: { part: { text: "Hm.", thought: true } } },
      { type: "provider-metadata", item: { part: { text: "Mild" } } },
      { type: "provider-metadata", item: { part: { text: ".", thoughtSignature: "s" } } },
      finish("stop", "STOP"),
    ]);
  });

  it("contain a complete call as soon as it arrives", () => {
    const name = "f";
    const args = { n: 1 };
    const chunks = read(says({ functionCall: { id: "a", name, args } }, { functionCall: { name: "g" } }), stop());
    expect(chunks).toEqual([
      { type: "call-start", key: "call-0", id: "a", name },
      { type: "call-args-delta", key: "call-0", text: '{"n":1}' },
      { type: "call-ready", key: "call-0", id: "a", name, args, argsText: '{"n":1}' },
      { type: "call-start", key: "call-1", id: undefined, name: "g" },
      { type: "call-args-delta", key: "call-1", text: "{}" },
      { type: "call-ready", key: "call-1", id: undefined, name: "g", args: {}, argsText: "{}" },
      { type: "provider-metadata", item: { part: { functionCall: { id: "a", name, args } } } },
      { type: "provider-metadata", item: { part: { functionCall: { name: "g" } } } },
      finish("tool-calls", "STOP"),
    ]);
  });

  it("contain a streamed call with only its first thought signature", () => {
    const chunks = read(
      call({ id: "a", name: "f", willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.n", numberValue: 1 }], willContinue: true }, { thoughtSignature: "s-1" }),
      call(
        { id: "a", name: "f", partialArgs: [{ jsonPath: "$.m", stringValue: "x" }], willContinue: true },
        { thoughtSignature: "s-2" },
      ),
      call({}),
      call({}),
      stop(),
    );
    expect(chunks).toEqual([
      { type: "call-start", key: "call-0", id: "a", name: "f" },
      { type: "call-args-delta", key: "call-0", text: '{"n":1' },
      { type: "call-args-delta", key: "call-0", text: ',"m":"x"' },
      { type: "call-args-delta", key: "call-0", text: "}" },
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1, m: "x" }, argsText: '{"n":1,"m":"x"}' },
      {
        type: "provider-metadata",
        item: { part: { functionCall: { id: "a", name: "f", args: { n: 1, m: "x" } }, thoughtSignature: "s-1" } },
      },
      finish("tool-calls", "STOP"),
    ]);
  });

  it.for<[what: string, chunks: readonly Fields[], ready: object]>([
    [
      "one piece of partial arguments",
      [call({ name: "f", partialArgs: [{ jsonPath: "$.n", numberValue: 1 }] })],
      { args: { n: 1 } },
    ],
    ["no arguments", [call({ name: "f", willContinue: true }), call({})], { args: {} }],
    ["all arguments in its last piece", [call({ name: "f", willContinue: true }), call({ args: { n: 1 } })], { args: { n: 1 } }],
    ["no last piece, marked as truncated", [call({ name: "f", willContinue: true })], { args: {}, problem: "truncated" }],
    [
      "complete arguments but no last piece, marked as truncated",
      [call({ name: "f", args: { n: 1 }, willContinue: true })],
      { problem: "truncated" },
    ],
    [
      "an unfinished string as truncated",
      [call({ name: "f", partialArgs: [{ jsonPath: "$.n", stringValue: "x", willContinue: true }] })],
      { problem: "truncated" },
    ],
    [
      "an invalid argument path as malformed",
      [call({ name: "f", partialArgs: [{ jsonPath: "$.*", stringValue: "x" }] })],
      { problem: "malformed" },
    ],
    ["arguments that are not an object", [call({ name: "f", args: [1] })], { args: [1] }],
    ["arguments but no name", [call({ args: { n: 1 } })], { name: "", args: { n: 1 } }],
  ])("contain a call with %s", ([, chunks, ready]) => {
    const calls = read(...chunks, stop()).filter(({ type }) => type === "call-ready");
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ key: "call-0", problem: undefined, ...ready });
  });

  it("do not repeat arguments that arrived in pieces", () => {
    const chunks = read(
      call({ name: "f", partialArgs: [{ jsonPath: "$.n", numberValue: 1 }], willContinue: true }),
      call({ args: { n: 1 } }),
      stop(),
    );
    const told = chunks.map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : "")).join("");
    expect(told).toBe('{"n":1}');
  });

  it("mark an unfinished call as truncated if another call starts", () => {
    const chunks = read(call({ name: "f", willContinue: true }), call({ name: "f", args: { n: 2 } }), stop());
    const calls = chunks.flatMap((chunk) => (chunk.type === "call-ready" ? [[chunk.args, chunk.problem]] : []));
    expect(calls).toEqual([
      [{}, "truncated"],
      [{ n: 2 }, undefined],
    ]);
  });

  it("contain unknown parts as provider metadata, even with a key named __proto__", () => {
    const part: Fields = JSON.parse('{"novelty":{"__proto__":{"a":1}},"thoughtSignature":"s"}');
    const providerMetadata = metadataOf(read(says(part, null, "x"), stop()));
    expect(JSON.stringify(providerMetadata)).toBe('[{"novelty":{"__proto__":{"a":1}},"thoughtSignature":"s"}]');
  });

  it("contain the unknown fields of a call in provider metadata", () => {
    const part = { functionCall: { name: "f", args: { n: 1 }, novelty: 1 }, thoughtSignature: "s", other: 2 };
    expect(metadataOf(read(says(part), stop()))).toEqual([part]);
  });

  it("contain only the first candidate", () => {
    const second = { index: 1, content: { parts: [{ text: "B" }] }, finishReason: "SAFETY" };
    expect(read({ candidates: [{ index: 0, content: { parts: [{ text: "A" }] } }, second, 5] }, stop())).toEqual([
      { type: "text-delta", text: "A" },
      { type: "provider-metadata", item: { part: { text: "A" } } },
      finish("stop", "STOP"),
    ]);
  });

  it.for<[what: string, chunks: readonly unknown[], reason: string, raw: string]>([
    ['"stop" for a repeated STOP', [stop("STOP"), stop("STOP")], "stop", "STOP"],
    ['"content-filter" for SAFETY after STOP', [stop("STOP"), stop("SAFETY")], "content-filter", "SAFETY"],
    ['"content-filter" for SAFETY before STOP', [stop("SAFETY"), stop("STOP")], "content-filter", "SAFETY"],
    ['"content-filter" for a blocked prompt', [{ promptFeedback: { blockReason: "JAILBREAK" } }], "content-filter", "JAILBREAK"],
    [
      '"content-filter" for a prompt that is blocked after STOP',
      [stop("STOP"), { promptFeedback: { blockReason: "OTHER" } }],
      "content-filter",
      "OTHER",
    ],
    [
      '"stop" for prompt feedback that blocks nothing',
      [{ promptFeedback: { blockReason: "BLOCKED_REASON_UNSPECIFIED" } }, stop()],
      "stop",
      "STOP",
    ],
    ['"stop" for prompt feedback without a reason', [{ promptFeedback: {} }, stop()], "stop", "STOP"],
  ])("end with the finish reason %s", ([, chunks, reason, raw]) => {
    expect(read(...chunks)).toEqual([finish(reason, raw)]);
  });

  it.for<[what: string, chunks: readonly Fields[], text: string]>([
    ["a prompt", [{ promptFeedback: { blockReason: "SAFETY", blockReasonMessage: " Not this. " } }], "Not this."],
    ["an answer", [stop("SAFETY", { finishMessage: "Not this." })], "Not this."],
    ["the rest of an answer", [says({ text: "Sure" }), stop("SAFETY", { finishMessage: "Not this." })], "\n\nNot this."],
    ["an answer after a thought", [says({ text: "Hm", thought: true }), stop("SAFETY", { finishMessage: "No." })], "No."],
  ])("contain the service's explanation for blocking %s", ([, chunks, text]) => {
    const said = read(...chunks);
    expect(said.filter(({ type }) => type === "refusal-delta")).toEqual([{ type: "refusal-delta", text }]);
    expect(metadataOf(said)).toEqual([]);
  });

  it("end with the latest continuation token if the finish reason is CONTINUATION", () => {
    const checkpoint = { candidates: [{ content: { parts: [{ text: "A" }] }, continuationToken: "c" }] };
    expect(read(checkpoint, stop("CONTINUATION", { continuationToken: "t" })).at(-1)).toEqual({
      ...finish("continue", "CONTINUATION"),
      token: "t",
    });
    expect(read(checkpoint, stop("CONTINUATION")).at(-1)).toEqual({ ...finish("continue", "CONTINUATION"), token: "c" });
    expect(read(stop("CONTINUATION")).at(-1)).toEqual(finish("length", "CONTINUATION"));
    expect(read(checkpoint, stop()).at(-1)).toEqual(finish("stop", "STOP"));
  });

  it.for<[what: string, reason: string]>([
    ["has a malformed call", "MALFORMED_FUNCTION_CALL"],
    ["has the finish reason OTHER", "OTHER"],
    ["has an unknown finish reason", "WEATHER"],
  ])("contain no provider metadata if the answer %s", ([, reason]) => {
    expect(metadataOf(read(says({ text: "A" }), stop(reason)))).toEqual([]);
  });

  it("contain usage whenever token counts arrive", () => {
    const counts = (promptTokenCount: number): Fields => ({ usageMetadata: { promptTokenCount } });
    const usage = (inputTokens: number): object => ({
      type: "usage",
      mode: "snapshot",
      usage: { inputTokens, outputTokens: 0, totalTokens: inputTokens },
    });
    expect(without("finish", read(counts(1), { usageMetadata: { trafficType: "ON_DEMAND" } }, counts(2), stop()))).toEqual([
      usage(1),
      usage(2),
    ]);
  });

  it("contain no finish chunk if the finish reason is missing", () => {
    const chunks = read(says({ text: "A" }), call({ name: "f" }), call({ name: "g", willContinue: true }), stop(""));
    expect(chunks.map(({ type }) => type)).toEqual(["text-delta", "call-start", "call-args-delta", "call-ready", "call-start"]);
  });

  it.for<[error: unknown, code: string]>([
    [{ code: 503, message: "Busy.", status: "UNAVAILABLE" }, "overloaded"],
    [{ code: 429, message: "Slow.", status: "RESOURCE_EXHAUSTED" }, "rate-limit"],
    ["Busy.", "server"],
  ])("contain an error for the service's error %j", ([error, code]) => {
    expect(read(says({ text: "A" }), { error }, stop()).slice(1)).toMatchObject([{ type: "error", error: { code } }]);
  });

  it("end with an error if the error follows the finish reason", () => {
    expect(read(stop(), { error: { code: 503, message: "Busy." } })).toMatchObject([{ type: "error" }]);
  });

  it.for<[chunk: unknown]>([
    [undefined],
    [null],
    [5],
    ["x"],
    [[]],
    [{}],
    [{ candidates: 5 }],
    [{ candidates: [null] }],
    [says("x")],
    [{ candidates: [{ content: { parts: 5 } }] }],
  ])("omit malformed data from the SDK, such as %j", ([chunk]) => {
    expect(read(chunk, stop())).toEqual([finish("stop", "STOP")]);
  });
});

it.for([999, 20_000])("googleGenerateContent: keeps arguments that are nested %i levels deep as text", (levels) => {
  let args: object = {};
  for (let level = 1; level < levels; level += 1) args = { a: args };
  const chunks = read(call({ name: "f", args }), stop());
  expect(metadataOf(chunks)).toEqual([{ functionCall: { name: "f", args: { INVALID_ARGUMENTS: expect.any(String) } } }]);
  expect(chunks.at(-1)).toEqual(finish("tool-calls", "STOP"));
});
