import { describe, expect, it } from "vitest";
import type { AiSdkWarning } from "../../src/ai-sdk/model-options.ts";
import { hear, partsOf, typesOf } from "./ai-sdk-bench.ts";
import { callParts, specs, type SpecStream, textParts } from "./ai-sdk-specs.ts";

describe.each(specs)("aiSdkModel (spec $version): a stream", (spec) => {
  const usage = { input: 10, output: 4, cached: 3, reasoning: 1 };
  const done = spec.finish("stop", { raw: "end_turn", usage });

  it("yields reasoning, text, usage, provider metadata and one finish chunk", async () => {
    const signed = { mock: { signature: "c2ln" } };
    const parts = [
      { type: "stream-start", warnings: [] },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "reasoning-delta", id: "0", delta: "m.", providerMetadata: { mock: { signature: "early" } } },
      { type: "reasoning-end", id: "0", providerMetadata: signed },
      ...textParts(["Hel", "", "lo"], { id: "0", metadata: { mock: { itemId: "msg_1" } } }),
      { type: "raw", rawValue: {} },
      { type: "novelty", delta: "?" },
      done,
    ];
    expect(await hear(spec, { parts })).toEqual({
      chunks: [
        { type: "reasoning-delta", text: "Hm" },
        { type: "reasoning-delta", text: "m." },
        { type: "text-delta", text: "Hel" },
        { type: "text-delta", text: "lo" },
        {
          type: "usage",
          mode: "snapshot",
          usage: { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 3, reasoningTokens: 1 },
        },
        { type: "provider-metadata", item: { part: { type: "reasoning", text: "Hmm.", providerOptions: signed } } },
        {
          type: "provider-metadata",
          item: { part: { type: "text", text: "Hello", providerOptions: { mock: { itemId: "msg_1" } } } },
        },
        { type: "finish", reason: "stop", raw: spec.version === "v2" ? "stop" : "end_turn" },
      ],
      thrown: undefined,
    });
  });

  it("yields a call's argument deltas and then the complete arguments", async () => {
    const parts = [
      ...callParts("a", ["search", '{"q":1}'], { providerMetadata: { mock: { sig: 1 } } }),
      { type: "tool-call", toolCallId: "b", toolName: "search", input: "" },
      { type: "tool-input-start", id: "c", toolName: "made up" },
      { type: "tool-call", toolCallId: "c", toolName: "made up", input: '{"q":' },
      spec.finish("stop"),
    ];
    const heard = await hear(spec, { parts });
    expect(heard.chunks.filter(({ type }) => type !== "provider-metadata")).toEqual([
      { type: "call-start", key: "call-0", id: "a", name: "search" },
      { type: "call-args-delta", key: "call-0", text: '{"q' },
      { type: "call-args-delta", key: "call-0", text: '":1}' },
      { type: "call-ready", key: "call-0", id: "a", name: "search", args: { q: 1 }, argsText: '{"q":1}' },
      { type: "call-ready", key: "call-1", id: "b", name: "search", args: {}, argsText: "" },
      { type: "call-ready", key: "call-2", id: "c", name: "made up", args: {}, argsText: '{"q":', problem: "malformed" },
      { type: "finish", reason: "tool-calls", raw: "stop" },
    ]);
    expect(partsOf(heard)).toEqual([
      {
        part: {
          type: "tool-call",
          toolCallId: "a",
          toolName: "search",
          input: { q: 1 },
          providerOptions: { mock: { sig: 1 } },
        },
      },
      { part: { type: "tool-call", toolCallId: "b", toolName: "search", input: {} } },
      { part: { type: "tool-call", toolCallId: "c", toolName: "made up", input: { INVALID_ARGUMENTS: '{"q":' } } },
    ]);
  });

  it("keeps streamed calls with the same id apart", async () => {
    const parts = [...callParts("a", ["search", '{"q":1}']), ...callParts("a", ["search", '{"q":2}']), spec.finish("tool-calls")];
    const { chunks } = await hear(spec, { parts });
    const ready = chunks.filter((chunk) => chunk.type === "call-ready");
    expect(ready.map(({ key, args }) => [key, args])).toEqual([
      ["call-0", { q: 1 }],
      ["call-1", { q: 2 }],
    ]);
  });

  it("keeps complete calls with the same id apart if the tool or the arguments differ", async () => {
    const whole = { type: "tool-call", toolCallId: "a", toolName: "search", input: '{"q":1}' };
    const parts = [whole, { ...whole, input: '{"q":2}' }, { ...whole, toolName: "find" }, spec.finish("tool-calls")];
    const { chunks } = await hear(spec, { parts });
    expect(chunks.filter(({ type }) => type === "call-ready")).toHaveLength(3);
  });

  it("yields a call once, even if the package sends it twice", async () => {
    const [start, ...rest] = callParts("a", ["search", '{"q":1}']);
    const whole = { type: "tool-call", toolCallId: "a", toolName: "search", input: '{"q":1}' };
    const parts = [start, start, ...rest, whole, whole, spec.finish("tool-calls")].filter((part) => part !== undefined);
    const heard = await hear(spec, { parts });
    expect(typesOf(heard)).toEqual([
      "call-start",
      "call-args-delta",
      "call-args-delta",
      "call-ready",
      "provider-metadata",
      "finish",
    ]);
  });

  it("marks a call as truncated if it is never completed", async () => {
    const begun = callParts("a", ["search", '{"q":1']).slice(0, 3);
    const heard = await hear(spec, { parts: [...begun, spec.finish("length")] });
    expect(heard.chunks).toContainEqual(
      expect.objectContaining({ type: "call-ready", key: "call-0", problem: "truncated", argsText: '{"q":1' }),
    );
    expect(heard.chunks.at(-1)).toEqual({ type: "finish", reason: "length", raw: "length" });
  });

  it.for<[what: string, stream: SpecStream]>([
    ["it ends without a finish part", { parts: textParts(["Hel"]) }],
    ["the service sent no finish reason", { parts: [...textParts(["Hel"]), spec.finish(spec.cutOff, { usage })] }],
    ["its finish part has no reason", { parts: [...textParts(["Hel"]), { type: "finish" }] }],
    [
      "the service sent no finish reason after a complete call",
      { parts: [...textParts(["Hel"]), ...callParts("a", ["search", "{}"]), spec.finish(spec.cutOff)] },
    ],
  ])("yields neither a finish chunk nor provider metadata if %s", async ([, stream]) => {
    const heard = await hear(spec, stream);
    expect(typesOf(heard)).not.toContain("finish");
    expect(typesOf(heard)).not.toContain("provider-metadata");
    expect(heard.chunks[0]).toEqual({ type: "text-delta", text: "Hel" });
  });

  it("yields the token usage even if the stream is cut off", async () => {
    const { chunks } = await hear(spec, { parts: [spec.finish(spec.cutOff, { usage })] });
    expect(chunks).toMatchObject([{ type: "usage", usage: { totalTokens: 14 } }]);
  });

  it("ignores parts after the finish part", async () => {
    const heard = await hear(spec, { parts: [...textParts(["A"]), done, ...textParts(["B"]), spec.finish("length")] });
    expect(heard.chunks.map((chunk) => ("text" in chunk ? chunk.text : chunk.type))).toEqual([
      "A",
      "usage",
      "provider-metadata",
      "finish",
    ]);
  });

  it("ends with an error chunk after an error part", async () => {
    const error = { type: "error", code: "rate_limit_exceeded", message: "Slow down." };
    const heard = await hear(spec, { parts: [...textParts(["A"]), { type: "error", error }, ...textParts(["B"]), done] });
    expect(heard.chunks).toMatchObject([{ text: "A" }, { type: "error", error: { code: "rate-limit", retryable: true } }]);
    expect(heard.thrown).toBeUndefined();
  });

  it("throws the model's error if its stream fails", async () => {
    const heard = await hear(spec, { parts: textParts(["A"]), ending: "broken" });
    expect(heard.thrown).toBeInstanceOf(TypeError);
  });

  it("does not yield provider metadata if the answer is a refusal", async () => {
    const heard = await hear(spec, { parts: [...textParts(["Well"]), spec.finish("content-filter", { raw: "refusal" })] });
    expect(typesOf(heard)).toEqual(["text-delta", "finish"]);
  });

  it("calls onWarning for each valid warning", async () => {
    const warnings = [{ type: "unsupported", feature: "seed" }, { type: "other", message: "Hm." }, "?"];
    const told: AiSdkWarning[] = [];
    const onWarning = (warning: AiSdkWarning): void => {
      told.push(warning);
      throw new Error("The log is full.");
    };
    const heard = await hear(spec, { parts: [{ type: "stream-start", warnings }, done] }, { onWarning });
    expect(told).toEqual(warnings.slice(0, 2));
    expect(heard.thrown).toBeUndefined();
  });

  it("keeps keys like __proto__ as data", async () => {
    const input = '{"__proto__":{"polluted":true},"constructor":1}';
    const metadata: object = JSON.parse('{"__proto__":{"a":1},"mock":{"__proto__":{"b":1}}}');
    const parts = [{ type: "tool-call", toolCallId: "__proto__", toolName: "search", input, providerMetadata: metadata }, done];
    const [item] = partsOf(await hear(spec, { parts }));
    expect(JSON.stringify(item)).toBe(
      `{"part":{"type":"tool-call","toolCallId":"__proto__","toolName":"search","input":${input},"providerOptions":${JSON.stringify(metadata)}}}`,
    );
    expect({}).not.toHaveProperty("polluted");
  });

  it("keeps too deeply nested arguments as text", async () => {
    const input = `${'{"a":'.repeat(999)}1${"}".repeat(999)}`;
    const heard = await hear(spec, { parts: [{ type: "tool-call", toolCallId: "a", toolName: "search", input }, done] });
    expect(partsOf(heard)).toMatchObject([{ part: { input: { INVALID_ARGUMENTS: input } } }]);
    expect(heard.chunks.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" });
  });
});
