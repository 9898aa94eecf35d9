import type Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromAnthropicMessages, toAnthropicMessages } from "turnwright/anthropic";
import { convertForged, png, texts, toForm, transcripts } from "./transcripts.ts";

type WireMessage = Anthropic.MessageParam;

const provider = { id: "anthropic", model: "claude-opus-4-6" };
const runs = { numRuns: 60, seed: 20_261_127 };

const contents: fc.Arbitrary<WireMessage["content"]> = fc.oneof(
  texts,
  texts.map((text): Anthropic.ContentBlockParam[] => [
    { type: "text", text },
    { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "Grüße" } },
  ]),
);

const answers = fc.record({
  text: texts,
  thinks: fc.boolean(),
  searches: fc.boolean(),
  id: fc.constantFrom("c1", "c2", "c3"),
  results: fc.array(fc.record({ content: contents, isError: fc.boolean() }), { maxLength: 2 }),
});

type Answer = typeof answers extends fc.Arbitrary<infer Value> ? Value : never;

function toWire({ text, thinks, searches, id, results }: Answer): WireMessage[] {
  const search = { type: "server_tool_use" as const, id: "srv", name: "web_search" as const, input: { query: "x" } };
  const found = { type: "web_search_tool_result" as const, tool_use_id: "srv", content: [] };
  const answered = results.map(({ content, isError }): Anthropic.ToolResultBlockParam => ({
    type: "tool_result",
    tool_use_id: id,
    content: content as NonNullable<Anthropic.ToolResultBlockParam["content"]>,
    ...(isError ? { is_error: true } : {}),
  }));
  const content: Anthropic.ContentBlockParam[] = [
    ...(thinks ? [{ type: "thinking" as const, thinking: "Hm.", signature: "signed" }] : []),
    ...(searches ? [search, found] : []),
    { type: "text", text },
    { type: "tool_use", id, name: "look", input: { a: 1 } },
  ];
  return [
    { role: "assistant", content },
    ...(answered.length === 0 ? [] : [{ role: "user" as const, content: [...answered, { type: "text" as const, text }] }]),
  ];
}

const histories = fc
  .array(
    fc.oneof(
      contents.map((content): WireMessage[] => [{ role: "user", content }]),
      answers.map(toWire),
    ),
    { maxLength: 4 },
  )
  .map((units) => units.flat());

/** A string means the same as one text block. */
function toPlainForm(messages: readonly object[]): unknown {
  return JSON.parse(JSON.stringify(messages), (key, value: unknown) =>
    key === "content" && typeof value === "string" ? [{ type: "text", text: value }] : value,
  );
}

describe("toAnthropicMessages", () => {
  it("is undone by fromAnthropicMessages for random transcripts that convert without loss", () => {
    let kept = 0;
    fc.assert(
      fc.property(transcripts, (messages) => {
        const written = toAnthropicMessages<WireMessage>(messages, { system: "Be brief.", provider });
        expect(written.system).toBe("Be brief.");
        if (written.lost.length > 0) return;
        kept += 1;
        const read = fromAnthropicMessages(written.messages, { provider });
        expect(toForm(read.messages)).toEqual(toForm(messages));
        expect(read.lost).toEqual([]);
      }),
      { ...runs, numRuns: 100 },
    );
    expect(kept).toBeGreaterThan(2);
  });

  it("lists the user files and parts of calls that the API cannot represent", () => {
    const { messages, lost } = toAnthropicMessages([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "file", mediaType: "video/mp4", data: "AAAA" },
        ],
        pinned: true,
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "Hm." },
          { type: "tool-call", callId: "c", providerCallId: "p", name: "look", args: {} },
        ],
      },
      { role: "tool", results: [{ callId: "c", name: "look", outcome: "timed-out", result: { n: 1 } }] },
    ]);
    const [, asked] = messages satisfies WireMessage[];
    expect(asked?.content).toEqual([{ type: "tool_use", id: "c", name: "look", input: {} }]);
    expect(lost.map(({ index, field, reason }) => `${index} ${field} ${reason}`)).toEqual([
      "0 content[1] omitted",
      "0 pinned omitted",
      "1 content[0] omitted",
      "1 content[1].providerCallId omitted",
      "2 results[0].outcome changed",
      "2 results[0].result changed",
    ]);
  });
});

describe("fromAnthropicMessages", () => {
  it("is undone by toAnthropicMessages for random histories that convert without loss", () => {
    let kept = 0;
    fc.assert(
      fc.property(histories, (history) => {
        const read = fromAnthropicMessages(history, { provider });
        // `toAnthropicMessages` throws for a transcript that a run would reject.
        const written = toAnthropicMessages(read.messages, { provider });
        if (read.lost.length > 0 || written.lost.length > 0) return;
        kept += 1;
        expect(toPlainForm(written.messages)).toEqual(toPlainForm(history));
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(5);
  });

  it("keeps signatures only for the same model", () => {
    const history: WireMessage[] = [
      { role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "signed" },
          { type: "text", text: "Hello" },
        ],
      },
    ];
    const system = [
      { type: "text", text: "A" },
      { type: "text", text: "B" },
    ];
    const kept = fromAnthropicMessages(history, { provider, system });
    expect(kept.system).toBe("A\n\nB");
    expect(kept.lost).toEqual([
      { index: 0, field: "content[0].cache_control", reason: "omitted" },
      { index: 0, field: "system", reason: "changed" },
    ]);
    expect(toAnthropicMessages(kept.messages, { provider }).messages[1]).toEqual(history[1]);
    const elsewhere = toAnthropicMessages(kept.messages, { provider: { ...provider, model: "other" } });
    expect(elsewhere.messages[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "Hello" }] });
    expect(elsewhere.lost.map(({ field }) => field)).toEqual(["content[0]", "providerMetadata"]);
    expect(fromAnthropicMessages(history).lost).toContainEqual({ index: 1, field: "content[0]", reason: "omitted" });
  });

  it.each([
    [
      [{ role: "assistant", content: [{ type: "tool_use", id: "c", name: "f" }] }],
      'Message 0 has an invalid field "content[0].input": it must be an object, not undefined.',
    ],
    [
      [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "file:///etc/passwd" } }],
        },
      ],
      'invalid field "content[0].source.data"',
    ],
    [[{ role: "user", content: 5 }], 'Message 0 has an invalid field "content": it must be an array, not 5.'],
    [[7], "Message 0 must be an object, not 7."],
  ])("names the invalid field in %j", (history, message) => {
    expect(() => fromAnthropicMessages(history as never)).toThrow(message);
  });

  it('reads a tool_result with is_error: true as a result with the outcome "failed"', () => {
    const { messages, lost } = fromAnthropicMessages([
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "look", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "No.", is_error: true }] },
    ]);
    expect(messages[1]).toEqual({ role: "tool", results: [{ callId: "c", name: "look", outcome: "failed", result: "No." }] });
    expect(lost).toEqual([]);
  });

  it("throws only LoopErrors for hostile histories", () => {
    const keys = ["role", "type", "content", "id", "text", "__proto__", "input", "tool_use_id", "source", "thinking"];
    const words = ["user", "assistant", "text", "tool_use", "tool_result", "thinking", "image", "", "x"];
    convertForged(keys, words, (history) => toAnthropicMessages(fromAnthropicMessages(history, { provider }).messages));
  });
});
