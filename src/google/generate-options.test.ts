import { expect, it } from "vitest";
import { isLoopError } from "../core/index.ts";
import { googleMedia } from "../services/media-limits.ts";
import { checkGenerateOptions, type GoogleGenerateContentOptions } from "./generate-options.ts";

const models = { generateContentStream: () => Promise.reject(new Error("not asked")) };
const client = { models };

const errorOf = (options: unknown): unknown => {
  try {
    return Reflect.apply(checkGenerateOptions, undefined, [options]);
  } catch (error) {
    return isLoopError(error) ? [error.code, error.details] : error;
  }
};

const invalid = (option: string, expected: string, received: string): unknown => [
  "invalid-option",
  { option, expected, received },
];
const tools = "an array of non-empty objects, such as { googleSearch: {} }";

it.for<[options: unknown, error: unknown]>([
  [undefined, invalid("options", "an object", "undefined")],
  [{}, invalid("client", "a Google client", "undefined")],
  [{ client: {}, model: "m" }, invalid("client", "a Google client", "an object")],
  [{ client: { models: {} }, model: "m" }, invalid("client", "a Google client", "an object")],
  [{ client }, invalid("model", "the name of a model", "undefined")],
  [{ client, model: " " }, invalid("model", "the name of a model", '" "')],
  [{ client, model: "m", id: "" }, invalid("id", "a name", '""')],
  [{ client, model: "m", family: 5 }, invalid("family", "a name", "5")],
  [{ client, model: "m", generation: 1 }, invalid("generation", "2 or 3", "1")],
  [{ client, model: "m", thinking: true }, invalid("thinking", "an object", "true")],
  [{ client, model: "m", streamArguments: 1 }, invalid("streamArguments", "true or false", "1")],
  [
    { client: { models, vertexai: false }, model: "m", streamArguments: true },
    invalid("streamArguments", "false for a Gemini API client", "true"),
  ],
  [{ client, model: "m", serverTools: [{}] }, invalid("serverTools", tools, "an array of 1 item")],
  [{ client, model: "m", serverTools: { googleSearch: {} } }, invalid("serverTools", tools, "an object")],
  [
    { client, model: "m", apiKey: "AIza" },
    [
      "unknown-option",
      { option: "apiKey", nearest: "client", instead: "client, an SDK client created with your key and base URL" },
    ],
  ],
  [{ client, model: "m", thinkin: {} }, ["unknown-option", { option: "thinkin", nearest: "thinking" }]],
])("googleGenerateContent: rejects the options %j", ([options, error]) => {
  expect(errorOf(options)).toEqual(error);
});

it("googleGenerateContent: fills in the default options", () => {
  expect(checkGenerateOptions({ client, model: "m", family: undefined })).toEqual({
    client,
    model: "m",
    id: "gcp.gemini",
    family: undefined,
    generation: 3,
    thinking: undefined,
    streamArguments: false,
    serverTools: [],
    structuresOutput: true,
    quirks: expect.objectContaining({ media: googleMedia }),
  });
});

it.for<[used: string, vertexai: boolean | undefined, id: string | undefined]>([
  ["gcp.vertex_ai", true, undefined],
  ["gcp.gemini", false, undefined],
  ["gcp.gen_ai", true, "gcp.gen_ai"],
])("googleGenerateContent: has the id %s if client.vertexai is %s and the `id` option is %s", ([used, vertexai, id]) => {
  expect(checkGenerateOptions({ client: { models, vertexai }, model: "m", id }).id).toBe(used);
});

it.for<[model: string, generation: GoogleGenerateContentOptions["generation"]]>([
  ["gemini-1.5-pro", 2],
  ["gemini-2.0-flash-001", 2],
  ["gemini-2.5-pro", 2],
  ["models/gemini-2.5-pro", 2],
  ["publishers/google/models/gemini-2.5-flash", 2],
  ["gemma-3-27b-it", 2],
  ["gemini-3-pro-preview", 3],
  ["gemini-3.1-pro", 3],
  ["gemini-10-pro", 3],
  ["gemini-20-pro", 3],
  ["gemini-flash-latest", 3],
  ["tunedModels/mine", 3],
])("googleGenerateContent: treats the model %s as generation %i", ([model, generation]) => {
  expect(checkGenerateOptions({ client, model }).generation).toBe(generation);
  expect(checkGenerateOptions({ client, model, generation: 2 }).generation).toBe(2);
});
