import { expect, it } from "vitest";
import { isLoopError } from "../core/index.ts";
import { anthropic } from "../services/services.ts";
import { checkMessagesOptions, type AnthropicMessagesOptions } from "./messages-options.ts";

const client = { messages: { create: () => Promise.reject(new Error("not asked")) } };

const errorOf = (options: unknown): unknown => {
  try {
    return Reflect.apply(checkMessagesOptions, undefined, [options]);
  } catch (error) {
    return isLoopError(error) ? [error.code, error.details] : error;
  }
};

const invalid = (option: string, expected: string, received: string): unknown => [
  "invalid-option",
  { option, expected, received },
];
const thinking = 'an object with a "type"; type "enabled" also needs "budget_tokens"';
const cache = 'true, false, { ttl: "5m" } or { ttl: "1h" }';
const compaction = 'true, false or { instructions: "..." }';
const serverTools = 'an array of objects with a "type"';

it.for<[options: unknown, error: unknown]>([
  [undefined, invalid("options", "an object", "undefined")],
  [{}, invalid("client", "an Anthropic client", "undefined")],
  [{ client: {}, model: "m" }, invalid("client", "an Anthropic client", "an object")],
  [{ client: { messages: {} }, model: "m" }, invalid("client", "an Anthropic client", "an object")],
  [{ client }, invalid("model", "the name of a model", "undefined")],
  [{ client, model: " " }, invalid("model", "the name of a model", '" "')],
  [{ client, model: "m", id: "" }, invalid("id", "a name", '""')],
  [{ client, model: "m", family: 5 }, invalid("family", "a name", "5")],
  [{ client, model: "m", maxTokens: 0 }, invalid("maxTokens", "a whole number of at least 1", "0")],
  [{ client, model: "m", maxTokens: 1.5 }, invalid("maxTokens", "a whole number of at least 1", "1.5")],
  [{ client, model: "m", maxTokens: "9" }, invalid("maxTokens", "a whole number of at least 1", '"9"')],
  [{ client, model: "m", thinking: true }, invalid("thinking", thinking, "true")],
  [{ client, model: "m", thinking: {} }, invalid("thinking", thinking, "an object")],
  [{ client, model: "m", thinking: { type: "enabled" } }, invalid("thinking", thinking, "an object")],
  [
    { client, model: "m", maxTokens: 9, thinking: { type: "enabled", budget_tokens: 9 } },
    invalid("maxTokens", "greater than the thinking budget", "9"),
  ],
  [{ client, model: "m", cache: "1h" }, invalid("cache", cache, '"1h"')],
  [{ client, model: "m", cache: { ttl: "2h" } }, invalid("cache", cache, "an object")],
  [{ client, model: "m", cache: { TTL: "1h" } }, invalid("cache", cache, "an object")],
  [{ client, model: "m", compaction: "on" }, invalid("compaction", compaction, '"on"')],
  [{ client, model: "m", compaction: { instructions: " " } }, invalid("compaction", compaction, "an object")],
  [{ client, model: "m", compaction: { instruction: "Be brief." } }, invalid("compaction", compaction, "an object")],
  [{ client, model: "m", betas: "b" }, invalid("betas", "an array of names", '"b"')],
  [{ client, model: "m", betas: [""] }, invalid("betas", "an array of names", "an array of 1 item")],
  [{ client, model: "m", apiVersion: "v1" }, invalid("apiVersion", 'a date such as "2026-10-21"', '"v1"')],
  [{ client, model: "m", dropsUnfitThinking: 1 }, invalid("dropsUnfitThinking", "true or false", "1")],
  [{ client, model: "m", serverTools: [{}] }, invalid("serverTools", serverTools, "an array of 1 item")],
  [
    { client, model: "m", apiKey: "sk-x" },
    [
      "unknown-option",
      { option: "apiKey", nearest: "client", instead: "client, an SDK client created with your key and base URL" },
    ],
  ],
  [{ client, model: "m", service: 1 }, expect.arrayContaining(["invalid-option"])],
  [{ client, model: "m", maxToken: 5 }, ["unknown-option", { option: "maxToken", nearest: "maxTokens" }]],
  [{ client, model: "m", servertools: [] }, ["unknown-option", { option: "servertools", nearest: "serverTools" }]],
  [JSON.parse('{"__proto__":{}}'), ["unknown-option", { option: "__proto__" }]],
])("anthropicMessages: rejects the options %j", ([options, error]) => {
  expect(errorOf(options)).toEqual(error);
});

it("anthropicMessages: fills in the default options", () => {
  expect(checkMessagesOptions({ client, model: "m", family: undefined, cache: false, compaction: false })).toMatchObject({
    client,
    model: "m",
    id: "anthropic",
    maxTokens: 16_384,
    cacheControl: undefined,
    compaction: undefined,
    betas: [],
    serverTools: [],
    structuresOutput: false,
    facts: undefined,
    quirks: anthropic.quirks,
    refusesSampling: false,
    clientBetas: [],
    dropsUnfit: false,
  });
});

it.for<[options: Partial<AnthropicMessagesOptions>, settings: object]>([
  [{ thinking: { type: "enabled", budget_tokens: 1_024 } }, { maxTokens: 17_408 }],
  [{ thinking: { type: "enabled", budget_tokens: 8 }, maxTokens: 9 }, { maxTokens: 9 }],
  [
    { thinking: { type: "adaptive" }, maxTokens: 9 },
    { maxTokens: 9, thinking: { type: "adaptive" } },
  ],
  [{ compaction: true }, { compaction: {}, betas: ["compact-2026-01-12"] }],
  [
    { compaction: {}, betas: ["a-1"] },
    { compaction: {}, betas: ["a-1", "compact-2026-01-12"] },
  ],
  [
    { compaction: { instructions: "Be brief." }, betas: ["compact-2026-01-12", "a-1"] },
    { compaction: { instructions: "Be brief." }, betas: ["compact-2026-01-12", "a-1"] },
  ],
  [{ cache: true }, { cacheControl: { type: "ephemeral" } }],
  [{ cache: {} }, { cacheControl: { type: "ephemeral" } }],
  [{ cache: { ttl: "1h" } }, { cacheControl: { type: "ephemeral", ttl: "1h" } }],
])("anthropicMessages: accepts the options %j", ([options, settings]) => {
  expect(checkMessagesOptions({ client, model: "m", ...options })).toMatchObject(settings);
});
