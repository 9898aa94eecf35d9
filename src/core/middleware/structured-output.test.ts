import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema, StandardSchema } from "../types/common.ts";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { runToolLoop } from "../loop/run-tool-loop.ts";
import type { StructuredOutput } from "../types/middleware.ts";
import { createMockProvider, text } from "turnwright/testing";
import { describeMisfit, validateOutput } from "./structured-output.ts";
import { structuredOutput } from "./structured-output.ts";

const anything: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const issueOf = async (text: string): Promise<string> => {
  const validation = await validateOutput(text, anything);
  return "issues" in validation ? validation.issues.map(({ message }) => message).join() : "none";
};

it.for<[title: string, text: string, value: unknown]>([
  ["an object", '{"n":1}', { n: 1 }],
  ["an array between spaces", "  [1, 2]\n", [1, 2]],
  ["null", "null", null],
  ["a string that contains a code fence", '"```"', "```"],
  ["JSON in a json code fence", '```json\n{"n":1}\n```', { n: 1 }],
  ["JSON in a code fence whose language is in capital letters, with CRLF line endings", '\n```JSON \r\n{"n":1}```\n', { n: 1 }],
  ["JSON in a code fence without a language", "```\n1\n```", 1],
  ["JSON in a code fence that contains another fence", '```json\n"a ``` b"\n```', "a ``` b"],
])("validateOutput: parses %s", async ([, text, value]) => {
  expect(await validateOutput(text, anything)).toEqual({ value });
});

it.for<[title: string, text: string]>([
  ["a number followed by a period", "8."],
  ["strings in single quotes", "{'n':1}"],
  ["an object key without quotes", "{n:1}"],
  ["a trailing comma", '{"n":1,}'],
  ["JSON with text before it", 'Here: {"n":1}'],
  ["JSON in a js code fence", '```js\n{"n":1}\n```'],
  ["JSON in an unclosed code fence", '```json\n{"n":1}'],
  ["JSON in a code fence on one line", '```json {"n":1}```'],
  ["an empty code fence", "```json\n```"],
])("validateOutput: reports %s as invalid JSON", async ([, text]) => {
  expect(await issueOf(text)).toMatch(/^it is not JSON: /);
});

it("validateOutput: reports a blank or long answer with a short issue", async () => {
  expect(await issueOf(" \n")).toBe("there is no answer");
  expect((await issueOf("x".repeat(1e6))).length).toBeLessThan(400);
});

it("validateOutput: keeps the key __proto__ as data", async () => {
  const validation = await validateOutput('{"__proto__":{"admin":true}}', anything);
  expect("value" in validation && Object.keys(validation.value as object)).toEqual(["__proto__"]);
});

it("validateOutput: reports an issue for an answer that is nested too deeply", async () => {
  const deep = (value: unknown): unknown => (Array.isArray(value) ? deep(value[0]) : value);
  const schema: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: deep(value) }) } };
  const validation = await validateOutput("[".repeat(1e5) + "]".repeat(1e5), schema);
  expect("issues" in validation).toBe(true);
});

it("describeMisfit: lists each problem with its path, up to a maximum length", () => {
  expect(describeMisfit([{ message: "too small", path: ["items", 0, "price"] }, { message: "no" }])).toBe(
    "Your answer does not fit the schema: items.0.price: too small; no\nSend the whole answer again, as JSON and nothing else.",
  );
  expect(describeMisfit([{ message: "x".repeat(1e5) }]).length).toBeLessThan(2_200);
});

/** Returns the system text of a request to a provider that cannot send a schema. */
async function promptOf(output: StructuredOutput): Promise<string | undefined> {
  const provider = createMockProvider([text("1")]);
  await runToolLoop({ provider, messages: [{ role: "user", content: "Go." }], middleware: [output] });
  return provider.requests[0]?.system;
}

describe("structuredOutput", () => {
  const ask = "Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:\n";

  it.for<[title: string, policy: { readonly schema: StandardSchema; readonly jsonSchema?: JsonSchema }, schema: object]>([
    [
      "the JSON Schema of a zod object",
      { schema: z.strictObject({ n: z.number() }) },
      { type: "object", properties: { n: { type: "number" } }, required: ["n"], additionalProperties: false },
    ],
    ["the JSON Schema of a zod array", { schema: z.array(z.string()) }, { type: "array", items: { type: "string" } }],
    [
      "the given jsonSchema of a schema with a transform",
      { schema: z.iso.datetime().transform((text) => new Date(text)), jsonSchema: { type: "string" } },
      { type: "string" },
    ],
    [
      "the given jsonSchema of a custom schema",
      { schema: anything, jsonSchema: { enum: ["yes", "no"] } },
      { enum: ["yes", "no"] },
    ],
  ])("puts %s into the prompt", async ([, policy, schema]) => {
    const prompt = await promptOf(structuredOutput(policy.schema, { jsonSchema: policy.jsonSchema }));
    expect(prompt?.slice(0, ask.length)).toBe(ask);
    expect(JSON.parse(prompt?.slice(ask.length) ?? "")).toEqual(schema);
  });

  it.for<[title: string, schema: StandardSchema, why: string]>([
    [
      "has no conversion to JSON Schema",
      anything,
      "a schema that cannot be converted to JSON Schema, because test has no conversion",
    ],
    [
      "cannot be expressed in JSON Schema",
      z.date(),
      "a schema that cannot be converted to JSON Schema: Date cannot be represented in JSON Schema",
    ],
  ])("throws invalid-option for a schema that %s", ([, schema, why]) => {
    let error: unknown;
    try {
      structuredOutput(schema);
    } catch (thrown) {
      error = thrown;
    }
    expect(isLoopError(error, "invalid-option") && error.message).toBe(
      `Option "structuredOutput.schema" is ${why}, but must be a schema that can be converted to JSON Schema, or have a "jsonSchema" option.`,
    );
  });
});
