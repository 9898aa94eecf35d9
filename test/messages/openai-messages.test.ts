import fc from "fast-check";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { fromOpenAIMessages, openaiResponses, toOpenAIMessages } from "turnwright/openai";
import { convertForged, png, texts, toForm, transcripts } from "./transcripts.ts";

type ChatMessage = OpenAI.ChatCompletionMessageParam;
type Item = OpenAI.Responses.ResponseInputItem;

const provider = { id: "openai", model: "gpt-5" };
const runs = { numRuns: 60, seed: 20_261_127 };

const argumentTexts = fc.constantFrom("{}", '{"a":1}', '{ "a": 1 }', "", "broken");
const image = { type: "image_url" as const, image_url: { url: `data:image/png;base64,${png}` } };

const chatUnits: fc.Arbitrary<ChatMessage[]> = fc.oneof(
  texts.map((content): ChatMessage[] => [{ role: "user", content }]),
  texts.map((text): ChatMessage[] => [{ role: "user", content: [{ type: "text", text }, image], name: "Ann" }]),
  texts.map((text): ChatMessage[] => [{ role: "user", content: [image, { type: "text", text }] }]),
  texts.map((content): ChatMessage[] => [{ role: "developer", content }]),
  fc
    .record({ content: fc.option(texts), refusal: fc.option(texts) })
    .map((said): ChatMessage[] => [{ role: "assistant", ...said }]),
  fc.tuple(fc.constantFrom("c1", "c2", "c3"), argumentTexts, fc.integer({ min: 0, max: 2 })).map(([id, text, count]) => {
    const call = { id, type: "function" as const, function: { name: "look", arguments: text } };
    const result: ChatMessage = { role: "tool", tool_call_id: id, content: "seen" };
    const asked: ChatMessage = { role: "assistant", content: null, tool_calls: [call] };
    return [asked, ...Array.from({ length: count }, () => result)];
  }),
);
const chats = fc.array(chatUnits, { maxLength: 5 }).map((units) => units.flat());

const itemUnits: fc.Arbitrary<Item[]> = fc.oneof(
  texts.map((content): Item[] => [{ role: "user", content }]),
  texts.map((text): Item[] => [
    {
      role: "user",
      content: [
        { type: "input_text", text },
        { type: "input_image", detail: "auto", image_url: image.image_url.url },
      ],
    },
  ]),
  texts.map((content): Item[] => [{ role: "assistant", content }]),
  fc
    .record({
      text: texts,
      args: argumentTexts,
      id: fc.constantFrom("c1", "c2", "c3"),
      count: fc.integer({ min: 0, max: 2 }),
      hasText: fc.boolean(),
    })
    .map(({ text, args, id, count, hasText }): Item[] => [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }], encrypted_content: "secret" },
      ...(hasText
        ? [
            {
              type: "message" as const,
              id: "msg_1",
              role: "assistant" as const,
              status: "completed" as const,
              content: [{ type: "output_text" as const, text, annotations: [] }],
            },
          ]
        : []),
      { type: "function_call", id: "fc_1", call_id: id, name: "look", arguments: args },
      ...Array.from({ length: count }, (): Item => ({ type: "function_call_output", call_id: id, output: "seen" })),
    ]),
);
const inputs = fc.array(itemUnits, { maxLength: 5 }).map((units) => units.flat());

/** Removes ids, states, and differences in form that have no meaning. */
function toPlainForm(messages: readonly object[]): readonly unknown[] {
  return messages.map((message) => {
    const {
      id: _,
      status: __,
      content,
      type,
      ...rest
    } = message as { id?: string; status?: string; content?: unknown; type?: string; role?: string };
    const kind = rest.role === undefined || type !== "message" ? { type } : {};
    const textType = rest.role === "assistant" ? "output_text" : "input_text";
    const parts = typeof content === "string" ? [{ type: textType, text: content }] : (content ?? undefined);
    const merged = Array.isArray(parts)
      ? parts.map((part: object) => ({
          ...part,
          annotations: undefined,
          type: Reflect.get(part, "type") === "text" ? textType : (Reflect.get(part, "type") as unknown),
        }))
      : parts;
    return JSON.parse(JSON.stringify({ ...rest, ...kind, content: merged, refusal: undefined })) as unknown;
  });
}

describe.each(["chat", "responses"] as const)('toOpenAIMessages with api: "%s"', (api) => {
  it("is undone by fromOpenAIMessages for random transcripts that convert without loss", () => {
    let kept = 0;
    fc.assert(
      fc.property(transcripts, (messages) => {
        const written = toOpenAIMessages<ChatMessage | Item>(messages, { api, system: "Be brief.", provider });
        const read = fromOpenAIMessages(written.messages, { api, provider });
        expect(read.system).toBe("Be brief.");
        if (written.lost.length > 0) return;
        kept += 1;
        expect(toForm(read.messages)).toEqual(toForm(messages));
        expect(read.lost).toEqual([]);
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(2);
  });
});

describe("fromOpenAIMessages", () => {
  it.each([
    { api: "chat" as const, histories: chats as fc.Arbitrary<(ChatMessage | Item)[]> },
    { api: "responses" as const, histories: inputs as fc.Arbitrary<(ChatMessage | Item)[]> },
  ])("is undone by toOpenAIMessages for random $api histories that convert without loss", ({ api, histories }) => {
    let kept = 0;
    fc.assert(
      fc.property(histories, (history) => {
        const read = fromOpenAIMessages(history, { api, provider });
        // `toOpenAIMessages` throws for a transcript that a run would reject.
        const written = toOpenAIMessages(read.messages, {
          api,
          provider,
          ...(read.system === undefined ? {} : { system: read.system }),
        });
        if (read.lost.length > 0) return;
        kept += 1;
        expect(toPlainForm(written.messages)).toEqual(toPlainForm(history));
      }),
      runs,
    );
    expect(kept).toBeGreaterThan(5);
  });

  it("lists the parts and fields that a Chat history loses", () => {
    const history = [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "file", file: { file_id: "file-1" } },
        ],
        name: "Ann",
      },
      { role: "developer", content: "Now in French." },
      {
        role: "assistant",
        content: "A",
        tool_calls: [{ id: "c", type: "function", function: { name: "look", arguments: '{ "a": 1 }' } }],
        audio: { id: "a1" },
      },
      { role: "tool", tool_call_id: "elsewhere", content: "5" },
    ];
    const { messages, system, lost } = fromOpenAIMessages(history);
    expect(system).toBe("Be brief.");
    expect(messages[1]).toEqual({ role: "user", content: "Now in French.", pinned: true });
    expect(messages.at(-1)).toMatchObject({ role: "tool", results: [{ callId: "c", outcome: "not-run" }] });
    expect(lost.map(({ index, field, reason }) => `${index} ${field} ${reason}`)).toEqual([
      "1 name omitted",
      "1 content[1] omitted",
      "2 role changed",
      "3 audio omitted",
      "3 tool_calls[0].function.arguments changed",
      "3  added",
      "4  omitted",
    ]);
  });

  it("keeps encrypted reasoning and argument strings only for the same model", () => {
    const [history = []] = fc.sample(
      inputs.filter((items) => items.some(({ type }) => type === "function_call")),
      { numRuns: 1, seed: 3 },
    );
    const { messages } = fromOpenAIMessages(history, { provider });
    const other = { id: "openai", model: "gpt-4" };
    expect(JSON.stringify(toOpenAIMessages(messages, { api: "responses", provider }))).toContain("encrypted_content");
    const elsewhere = toOpenAIMessages(messages, { api: "responses", provider: other });
    expect(JSON.stringify(elsewhere)).not.toContain("encrypted_content");
    expect(elsewhere.lost).toContainEqual({ index: expect.any(Number) as number, field: "providerMetadata", reason: "omitted" });
    expect(JSON.stringify(fromOpenAIMessages(history))).not.toContain("secret");
  });

  it.each([
    [
      [
        { role: "user", content: "x" },
        { role: "user", content: [{ type: "text", text: 5 }] },
      ],
      'Message 1 has an invalid field "content[0].text": it must be a string, not 5.',
    ],
    [[{ role: "robot" }], 'Message 0 has an invalid field "role": it must be a role of the Chat Completions API, not "robot".'],
    [
      [{ role: "assistant", tool_calls: [null] }],
      'Message 0 has an invalid field "tool_calls[0]": it must be an object, not null.',
    ],
    [
      [{ type: "function_call", call_id: "", name: "f", arguments: "" }],
      'Message 0 has an invalid field "call_id": it must be a non-empty string, not "".',
    ],
    [
      [{ role: "user", content: [{ type: "input_file", file_data: "http://intranet/" }] }],
      'Message 0 has an invalid field "content[0].file_data": it must be a base64 string or a data URL, not a string of 16 characters.',
    ],
    ["text", 'Message 0 is missing: the history must be an array, not "text".'],
  ])("names the invalid field in %j", (history, message) => {
    expect(() => fromOpenAIMessages(history as never)).toThrow(message);
  });

  it("gives each call a different id, even if the history repeats an id", () => {
    const call = (id: string): ChatMessage => ({
      role: "assistant",
      tool_calls: [{ id, type: "function", function: { name: "search", arguments: "{}" } }],
    });
    const history = ["a", "a-2", ...Array.from({ length: 300 }, () => "a")].map(call);
    const ids = fromOpenAIMessages(history).messages.flatMap((message) =>
      message.role === "assistant" ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.callId] : [])) : [],
    );
    expect([ids.slice(0, 4), new Set(ids).size]).toEqual([["a", "a-2", "a-3", "a-4"], 302]);
  });

  it("throws only LoopErrors for hostile histories", () => {
    const keys = ["role", "type", "content", "tool_calls", "id", "text", "__proto__", "arguments", "call_id", "output"];
    const words = ["user", "assistant", "tool", "text", "function_call", "reasoning", "message", "", "x"];
    convertForged(keys, words, (history) => toOpenAIMessages(fromOpenAIMessages(history, { provider }).messages));
    expect(Reflect.get({}, "role")).toBeUndefined();
    expect(openaiResponses).toBeTypeOf("function");
  });
});
