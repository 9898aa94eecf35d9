import { expect, it } from "vitest";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import { toToolResult } from "../../src/mcp/call-tool.ts";
import { checkAnswer, readAnswer } from "../../src/mcp/read-server.ts";
import { toToolNames } from "../../src/mcp/create-mcp-registry.ts";
import { toOutcome } from "../../src/shared/to-outcome.ts";
import { toContentResult } from "../../src/interop/foreign-tool.ts";
import { growthOf, maxGrowth, timeOf } from "./measure.ts";
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
  [
    "fromJsonSchema: validating a text against a pattern",
    20_000,
    onText("a", (text) => schema["~standard"].validate(`${text}!`)),
  ],
  [
    "fromJsonSchema: validating list items against a pattern",
    20_000,
    (size) => {
      const items = Array.from({ length: 100 }, () => `${textOf("a", size / 100)}!`);
      return () => schema["~standard"].validate(items);
    },
  ],
  [
    "fromJsonSchema: validating many properties against patternProperties",
    1_000,
    (size) => {
      const value = Object.fromEntries(Array.from({ length: size }, (_, index) => [`a${index}`, 1]));
      return () => schema["~standard"].validate(value);
    },
  ],
  [
    "fromJsonSchema: validating many items against uniqueItems",
    900,
    (size) => {
      const items = Array.from({ length: size }, (_, index) => ({ a: 1, index }));
      return () => unique["~standard"].validate(items);
    },
  ],
  [
    "withValidation: validating an argument against a pattern",
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
      `fromJsonSchema: validating repeated ${JSON.stringify(probe)} against the format "${format}"`,
      20_000,
      onText(probe, (text) => ofFormat(format)["~standard"].validate(text)),
    ]),
  ),
];

const mcp: readonly Row[] = [
  [
    "toToolNames: converting many names",
    2_000,
    (size) => {
      const names = Array.from({ length: size }, (_, index) => `a.${"./:!"[index % 4]}${"x".repeat(60)}${index}`);
      return () => toToolNames(names, "p_");
    },
  ],
  [
    "toToolResult: converting an MCP result with many texts",
    5_000,
    (size) => {
      const content = Array.from({ length: size }, (_, index) => ({ type: "text", text: `{"a":${index}}` }));
      return () => toToolResult(readAnswer({ content, structuredContent: { a: 1 } }));
    },
  ],
  [
    "toToolResult: converting an MCP result with one long text",
    200_000,
    onText('"', (text) => toToolResult(readAnswer({ content: [{ type: "text", text }], structuredContent: { text } }))),
  ],
  [
    "toToolResult: converting an MCP error with a long text",
    200_000,
    onText("-eyJ", (text) => toOutcome(toToolResult(readAnswer({ isError: true, content: [{ type: "text", text }] })))),
  ],
  [
    "checkAnswer: checking an MCP result against a pattern",
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
    "toContentResult: converting many content blocks",
    5_000,
    (size) => {
      const blocks = Array.from({ length: size }, () => ({ type: "text", text: "a" }));
      return () => toContentResult(blocks);
    },
  ],
];

function nestIds(levels: number, length: number): Readonly<Record<string, unknown>> {
  let schema: Readonly<Record<string, unknown>> = {};
  for (let level = 0; level < levels; level += 1)
    schema = { $id: `http://x/${"y".repeat(length)}${level}`, properties: { a: schema } };
  return schema;
}

const longest = "y".repeat(1_990);
const addresses: readonly (readonly [what: string, schema: Readonly<Record<string, unknown>>])[] = [
  ["long nested $id values", nestIds(16, 60_000)],
  ["short nested $id values", nestIds(500, 2_000)],
  ["$id values of the maximum depth and length", { allOf: Array.from({ length: 60 }, () => nestIds(8, 1_950)) }],
  ["a few long $id values", nestIds(10, 100_000)],
  [
    "long $id values that resolve to short $id values",
    { allOf: Array.from({ length: 10 }, () => ({ $id: "a/../".repeat(20_000), not: {} })) },
  ],
  [
    "many subschemas below a long $id",
    { $id: `http://x/${longest}`, allOf: Array.from({ length: 90_000 }, () => ({ not: {} })) },
  ],
  [
    "many subschemas below a long property name",
    { properties: { ["y".repeat(300_000)]: { allOf: Array.from({ length: 50_000 }, () => ({})) } } },
  ],
  ["very long $ref values", { allOf: Array.from({ length: 10 }, () => ({ $ref: `#/${"y".repeat(100_000)}` })) }],
  [
    "many $anchor values below a long $id",
    { $id: `http://x/${longest}`, allOf: Array.from({ length: 50_000 }, () => ({ $anchor: "a" })) },
  ],
];

const checking = (outputSchema: Readonly<Record<string, unknown>>) => (): void => {
  try {
    checkAnswer({ name: "t", inputSchema: {}, outputSchema }, readAnswer({ structuredContent: {} }));
  } catch {
    // Errors are ignored, because this test only measures time.
  }
};

/** The time for one of the largest schemas that are accepted. It has no addresses, so each part is read once. */
const plainMs = await timeOf(checking({ allOf: Array.from({ length: 45_000 }, () => ({ not: {} })) }));

it.for(addresses)("checkAnswer: takes no longer than for a large plain schema if an output schema has %s", async ([, schema]) => {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5 && best >= 3 * plainMs; round += 1) best = Math.min(best, await timeOf(checking({ ...schema })));
  expect(best / plainMs).toBeLessThan(3);
});

it.for<Row>([...schemas, ...mcp])("%s takes linear time", async ([, size, prepare]) => {
  expect(await growthOf(prepare, size)).toBeLessThan(maxGrowth);
});
