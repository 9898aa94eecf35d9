// What reads the schemas and answers of servers, and the arguments that a model writes for them.

import { expect, it } from "vitest";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import { checkAnswer } from "../../src/adapters/mcp/check-answer.ts";
import { toToolResult } from "../../src/adapters/mcp/call-result.ts";
import { readAnswer } from "../../src/adapters/mcp/read-server.ts";
import { toToolNames } from "../../src/adapters/mcp/tool-names.ts";
import { toOutcome } from "../../src/tools/to-outcome.ts";
import { toContentResult } from "../../src/toolsets/content-parts.ts";
import { growthOf, mostGrowth } from "./measure.ts";
import { onText, type Row, textOf } from "./rows.ts";

const schema = fromJsonSchema({
  items: { pattern: "^(a+)+$" },
  patternProperties: { "^(a|a)*$": { type: "string" } },
  pattern: "^(a+)+$",
});
const unique = fromJsonSchema({ uniqueItems: true });
const ofFormat = (format: string) => fromJsonSchema({ format });
const formats = [
  "date",
  "time",
  "date-time",
  "duration",
  "uri",
  "uri-reference",
  "uri-template",
  "url",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "regex",
  "uuid",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
];
const probes = ["a", "/", "a.", "%41", "{a}", '"', "1", "t", "a@", "~0", "//", "(", "a:"];

const schemas: readonly Row[] = [
  ["a pattern of a schema", 20_000, onText("a", (text) => schema["~standard"].validate(`${text}!`))],
  [
    "a pattern of a schema, for items",
    20_000,
    (size) => {
      const items = Array.from({ length: 100 }, () => `${textOf("a", size / 100)}!`);
      return () => schema["~standard"].validate(items);
    },
  ],
  [
    "patterns of properties",
    1_000,
    (size) => {
      const value = Object.fromEntries(Array.from({ length: size }, (_, index) => [`a${index}`, 1]));
      return () => schema["~standard"].validate(value);
    },
  ],
  [
    "items that must be unique",
    900,
    (size) => {
      const items = Array.from({ length: size }, (_, index) => ({ a: 1, index }));
      return () => unique["~standard"].validate(items);
    },
  ],
  [
    "withValidation",
    20_000,
    onText("a", (text) =>
      withValidation([
        {
          name: "t",
          description: "",
          inputSchema: { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } },
          execute: () => 1,
        },
      ]).validate?.("t", { x: `${text}!` }),
    ),
  ],
  ...formats.flatMap((format) =>
    probes.map((probe): Row => [
      `the format ${format} on ${JSON.stringify(probe)}`,
      20_000,
      onText(probe, (text) => ofFormat(format)["~standard"].validate(text)),
    ]),
  ),
];

const mcp: readonly Row[] = [
  [
    "names of a server's tools",
    2_000,
    (size) => {
      const names = Array.from({ length: size }, (_, index) => `a.${"./:!"[index % 4]}${"x".repeat(60)}${index}`);
      return () => toToolNames(names, "p_");
    },
  ],
  [
    "a server's answer in many texts",
    5_000,
    (size) => {
      const content = Array.from({ length: size }, (_, index) => ({ type: "text", text: `{"a":${index}}` }));
      return () => toToolResult(readAnswer({ content, structuredContent: { a: 1 } }));
    },
  ],
  [
    "a server's answer of one text",
    200_000,
    onText('"', (text) => toToolResult(readAnswer({ content: [{ type: "text", text }], structuredContent: { text } }))),
  ],
  [
    "a server's error",
    200_000,
    onText("-eyJ", (text) => toOutcome(toToolResult(readAnswer({ isError: true, content: [{ type: "text", text }] })))),
  ],
  [
    "a server's answer against its schema",
    20_000,
    onText("a", (text) => {
      const outputSchema = { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } };
      try {
        checkAnswer({ name: "t", inputSchema: {}, outputSchema }, readAnswer({ structuredContent: { x: `${text}!` } }));
      } catch (error) {
        return error;
      }
      throw new Error("It fits.");
    }),
  ],
  [
    "blocks of an imported tool",
    5_000,
    (size) => {
      const blocks = Array.from({ length: size }, () => ({ type: "text", text: "a" }));
      return () => toContentResult(blocks);
    },
  ],
];

it.for<Row>([...schemas, ...mcp])("%s takes time in proportion to its input", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(mostGrowth);
});
