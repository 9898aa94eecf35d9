import { expect, it } from "vitest";
import { isLoopError } from "../core/index.ts";
import { checkChatOptions } from "./chat-options.ts";

const client = { chat: { completions: { create: () => Promise.reject(new Error("not asked")) } } };

const errorOf = (options: unknown): unknown => {
  try {
    return Reflect.apply(checkChatOptions, undefined, [options]);
  } catch (error) {
    return isLoopError(error) ? [error.code, error.details] : error;
  }
};

const invalid = (option: string, expected: string, received: string): unknown => [
  "invalid-option",
  { option, expected, received },
];

it.for<[options: unknown, error: unknown]>([
  [undefined, invalid("options", "an object", "undefined")],
  [{}, invalid("client", "an OpenAI client", "undefined")],
  [{ client: {}, model: "m" }, invalid("client", "an OpenAI client", "an object")],
  [{ client: { chat: { completions: {} } }, model: "m" }, invalid("client", "an OpenAI client", "an object")],
  [{ client }, invalid("model", "the name of a model", "undefined")],
  [{ client, model: " " }, invalid("model", "the name of a model", '" "')],
  [{ client, model: "m", id: "" }, invalid("id", "a name", '""')],
  [{ client, model: "m", family: 5 }, invalid("family", "a name", "5")],
  [{ client, model: "m", includeUsage: "yes" }, invalid("includeUsage", "true or false", '"yes"')],
  [{ client, model: "m", maxTokensField: "max" }, invalid("maxTokensField", '"max_completion_tokens" or "max_tokens"', '"max"')],
  [{ client, model: "m", echoReasoning: true }, invalid("echoReasoning", '"reasoning_content" or "reasoning"', "true")],
  [{ client, model: "m", toolResultMedia: "drop" }, invalid("toolResultMedia", '"user-message" or "tool-message"', '"drop"')],
  [{ client, model: "m", promptCacheKey: "" }, invalid("promptCacheKey", "a name", '""')],
  [{ client, model: "m", toWireCallId: "x" }, invalid("toWireCallId", "a function", '"x"')],
  [
    { client, model: "m", apiKey: "sk-x" },
    [
      "unknown-option",
      { option: "apiKey", nearest: "client", instead: "client, an SDK client created with your key and base URL" },
    ],
  ],
  [{ client, model: "m", includeUsages: true }, ["unknown-option", { option: "includeUsages", nearest: "includeUsage" }]],
  [{ client, model: "m", max_tokens_field: "x" }, ["unknown-option", { option: "max_tokens_field", nearest: "maxTokensField" }]],
  [JSON.parse('{"__proto__":{}}'), ["unknown-option", { option: "__proto__" }]],
])("openaiChat: rejects the options %j", ([options, error]) => {
  expect(errorOf(options)).toEqual(error);
});

it("openaiChat: fills in the default options", () => {
  const { toWireCallId, ...settings } = checkChatOptions({ client, model: "m", family: undefined });
  expect(settings).toEqual({
    client,
    model: "m",
    id: "openai",
    family: undefined,
    includeUsage: true,
    maxTokensField: "max_completion_tokens",
    echoReasoning: undefined,
    toolResultMedia: "user-message",
    structuresOutput: false,
    quirks: {},
    thinkTags: true,
  });
  expect(toWireCallId("call_1")).toBe("call_1");
});
