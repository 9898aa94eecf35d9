import { expect, it } from "vitest";
import { isLoopError } from "../core/index.ts";
import { checkResponsesOptions } from "./responses-options.ts";

const client = { responses: { create: () => Promise.reject(new Error("not asked")) } };
const valid = { client, model: "m" };

const errorOf = (options: unknown): unknown => {
  try {
    return Reflect.apply(checkResponsesOptions, undefined, [options]);
  } catch (error) {
    return isLoopError(error) ? [error.code, error.details] : error;
  }
};

const invalid = (option: string, expected: string, received: string): unknown => [
  "invalid-option",
  { option, expected, received },
];
const formats = 'an object with a format for each tool, such as { type: "text" }';

it.for<[options: unknown, error: unknown]>([
  [undefined, invalid("options", "an object", "undefined")],
  [{}, invalid("client", "an OpenAI client", "undefined")],
  [{ client: {}, model: "m" }, invalid("client", "an OpenAI client", "an object")],
  [{ client: { responses: {} }, model: "m" }, invalid("client", "an OpenAI client", "an object")],
  [{ client }, invalid("model", "the name of a model", "undefined")],
  [{ client, model: " " }, invalid("model", "the name of a model", '" "')],
  [{ ...valid, id: "" }, invalid("id", "a name", '""')],
  [{ ...valid, family: 5 }, invalid("family", "a name", "5")],
  [{ ...valid, store: "no" }, invalid("store", "true or false", '"no"')],
  [{ ...valid, include: "x" }, invalid("include", "an array of names", '"x"')],
  [{ ...valid, include: [""] }, invalid("include", "an array of names", "an array of 1 item")],
  [{ ...valid, compaction: "on" }, invalid("compaction", "true or false", '"on"')],
  [{ ...valid, reasoning: "low" }, invalid("reasoning", 'an object, such as { effort: "low" }', '"low"')],
  [{ ...valid, customTools: ["f"] }, invalid("customTools", formats, "an array of 1 item")],
  [{ ...valid, customTools: { f: true } }, invalid("customTools", formats, "an object")],
  [{ ...valid, customTools: { f: { type: "json" } } }, invalid("customTools", formats, "an object")],
  [
    { ...valid, customTools: { f: { type: "grammar", syntax: "ebnf", definition: "x" } } },
    invalid("customTools", formats, "an object"),
  ],
  [
    { ...valid, customTools: { f: { type: "grammar", syntax: "lark", definition: "" } } },
    invalid("customTools", formats, "an object"),
  ],
  [{ ...valid, serverTools: [{}] }, invalid("serverTools", 'an array of objects with a "type"', "an array of 1 item")],
  [{ ...valid, toolSearch: "bm25" }, invalid("toolSearch", "true or false", '"bm25"')],
  [{ ...valid, toolResultMedia: "drop" }, invalid("toolResultMedia", '"tool-message" or "user-message"', '"drop"')],
  [{ ...valid, promptCacheKey: "" }, invalid("promptCacheKey", "a name", '""')],
  [{ ...valid, stored: true }, ["unknown-option", { option: "stored", nearest: "store" }]],
  [JSON.parse('{"__proto__":{}}'), ["unknown-option", { option: "__proto__" }]],
])("openaiResponses: rejects the options %j", ([options, error]) => {
  expect(errorOf(options)).toEqual(error);
});

it.for<[what: string, options: object, settings: object]>([
  ["if only client and model are given", {}, { store: false, include: ["reasoning.encrypted_content"] }],
  ["if compaction is true", { compaction: true }, { store: false, include: ["reasoning.encrypted_content"], compacts: true }],
  ["if store is true", { store: true }, { store: true, include: [] }],
  ["if include is empty", { include: [] }, { store: false, include: [] }],
  [
    "if a custom tool has the name __proto__",
    { customTools: JSON.parse('{"__proto__":{"type":"text"}}') },
    { store: false, include: ["reasoning.encrypted_content"], customTools: new Map([["__proto__", { type: "text" }]]) },
  ],
])("openaiResponses: fills in the default options %s", ([, options, settings]) => {
  expect(checkResponsesOptions({ ...valid, ...options })).toMatchObject({
    client,
    model: "m",
    id: "openai",
    compacts: false,
    customTools: new Map(),
    serverTools: [],
    structuresOutput: false,
    quirks: {},
    searchesTools: false,
    toolResultMedia: "tool-message",
    ...settings,
  });
});
