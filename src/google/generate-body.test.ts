import { expect, it } from "vitest";
import type { Message, ModelRequest } from "../core/index.ts";
import { buildGenerateParams, createContentConverter } from "./generate-body.ts";
import { checkGenerateOptions, type GoogleGenerateContentOptions } from "./generate-options.ts";

const client = { models: { generateContentStream: () => Promise.reject(new Error("not asked")) } };
const { signal } = new AbortController();
const tool = { name: "f", description: "F", inputSchema: { type: "object", properties: {}, $schema: "x" } };
const declared = { functionDeclarations: [{ name: "f", description: "F", parametersJsonSchema: tool.inputSchema }] };
const user: Message = { role: "user", content: "hi" };
const fixed = { automaticFunctionCalling: { disable: true }, automaticContinuation: false, abortSignal: signal };

function build(
  request: Partial<ModelRequest>,
  options: Partial<GoogleGenerateContentOptions> = {},
): ReturnType<typeof buildGenerateParams> {
  const settings = checkGenerateOptions({ client, model: "m", ...options });
  const ports = { settings, convert: createContentConverter(settings), signal, report: () => {} };
  return buildGenerateParams({ messages: [user], tools: [], iteration: 0, ...request }, ports);
}

it.for<[what: string, request: Partial<ModelRequest>, options: Partial<GoogleGenerateContentOptions>, config: object]>([
  ["only the required fields by default", {}, {}, {}],
  ["a system prompt", { system: "Be brief." }, {}, { systemInstruction: { parts: [{ text: "Be brief." }] } }],
  ["no system prompt if the prompt is blank", { system: " " }, {}, {}],
  ["a continuation token", { continuationToken: "t" }, {}, { continuationToken: "t" }],
  ["a tool", { tools: [tool] }, {}, { tools: [declared] }],
  ["no tool choice if there are no tools", { toolChoice: "required" }, {}, {}],
  [
    'the tool choice "auto"',
    { tools: [tool], toolChoice: "auto" },
    {},
    { tools: [declared], toolConfig: { functionCallingConfig: { mode: "AUTO" } } },
  ],
  [
    'the tool choice "required"',
    { tools: [tool], toolChoice: "required" },
    {},
    { tools: [declared], toolConfig: { functionCallingConfig: { mode: "ANY" } } },
  ],
  [
    'the tool choice "none"',
    { tools: [tool], toolChoice: "none" },
    {},
    { tools: [declared], toolConfig: { functionCallingConfig: { mode: "NONE" } } },
  ],
  [
    "a tool choice that names one tool",
    { tools: [tool], toolChoice: { name: "f" } },
    {},
    { tools: [declared], toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } } },
  ],
  [
    "streamFunctionCallArguments if streamArguments is true",
    { tools: [tool], toolChoice: "auto" },
    { streamArguments: true },
    { tools: [declared], toolConfig: { functionCallingConfig: { mode: "AUTO", streamFunctionCallArguments: true } } },
  ],
  ["server tools", { toolChoice: "auto" }, { serverTools: [{ urlContext: {} }] }, { tools: [{ urlContext: {} }] }],
  [
    "tools and server tools",
    { tools: [tool] },
    { serverTools: [{ urlContext: {} }] },
    { tools: [declared, { urlContext: {} }], toolConfig: { includeServerSideToolInvocations: true } },
  ],
  [
    "tools and server tools for Gemini 2",
    { tools: [tool] },
    { serverTools: [{ urlContext: {} }], generation: 2 },
    { tools: [declared, { urlContext: {} }] },
  ],
  [
    "tools and server tools for Vertex AI",
    { tools: [tool] },
    { serverTools: [{ urlContext: {} }], client: { ...client, vertexai: true } },
    { tools: [declared, { urlContext: {} }] },
  ],
  ["the thinking option", {}, { thinking: { thinkingBudget: 0 } }, { thinkingConfig: { thinkingBudget: 0 } }],
  [
    "every setting",
    { settings: { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 0 } },
    {},
    { maxOutputTokens: 9, temperature: 0, topP: 0.5, stopSequences: ["END"], seed: 0 },
  ],
  ["no stop sequences if their list is empty", { settings: { stopSequences: [] } }, {}, {}],
  [
    "the fields of settings.extra, which replace settings with the same name",
    { settings: { temperature: 0, extra: { temperature: 1, topK: 2 } } },
    {},
    { temperature: 1, topK: 2 },
  ],
  [
    "no fields of settings.extra that only the provider may set",
    {
      settings: {
        extra: { abortSignal: null, automaticContinuation: true, automaticFunctionCalling: null, continuationToken: "x" },
      },
      continuationToken: "t",
    },
    {},
    { continuationToken: "t" },
  ],
])("googleGenerateContent: the config of a request contains %s", ([, request, options, config]) => {
  expect(build(request, options)).toEqual({
    model: "m",
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    config: { ...config, ...fixed },
  });
});

it("googleGenerateContent: the config of a request contains a field named __proto__ from settings.extra as plain data", () => {
  const { config } = build({ settings: { extra: JSON.parse('{"__proto__":{"a":1}}') } });
  expect(Object.getOwnPropertyDescriptor(config, "__proto__")?.value).toEqual({ a: 1 });
});

it("googleGenerateContent: the config of a request contains the same object for the same tool in every request", () => {
  const written = (): unknown => Object(build({ tools: [tool] }).config).tools[0].functionDeclarations[0];
  expect(written()).toBe(written());
});

const turn: Message = { role: "assistant", content: [{ type: "text", text: "A" }] };
const said = (...texts: readonly string[]): object => ({ role: "user", parts: texts.map((text) => ({ text })) });

it.for<[what: string, messages: readonly Message[], contents: readonly object[]]>([
  [
    "a conversation to one content per message",
    [user, turn, user],
    [said("hi"), { role: "model", parts: [{ text: "A" }] }, said("hi")],
  ],
  ["two user messages in a row to one content", [user, user], [said("hi", "hi")]],
  [
    "two assistant messages in a row to one content",
    [user, turn, turn],
    [said("hi"), { role: "model", parts: [{ text: "A" }, { text: "A" }] }, said("Continue.")],
  ],
  [
    "two user messages around an empty message to one content",
    [user, { role: "assistant", content: [] }, user],
    [said("hi", "hi")],
  ],
  [
    "a leading assistant message to a content after a user content",
    [turn, user],
    [said("(The conversation begins.)"), { role: "model", parts: [{ text: "A" }] }, said("hi")],
  ],
  ["an empty conversation to a message that begins it", [], [{ role: "user", parts: [{ text: "(The conversation begins.)" }] }]],
])("googleGenerateContent: converts %s", ([, messages, contents]) => {
  expect(build({ messages }).contents).toEqual(contents);
});
