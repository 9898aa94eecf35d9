import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../types/common.ts";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { runToolLoop } from "../loop/run-tool-loop.ts";
import { createMockProvider } from "../../testing/mock-provider.ts";
import { assertTool, defineTool } from "./define-tool.ts";

const search = {
  name: "search",
  description: "Searches",
  inputSchema: { type: "object" },
  execute: () => "found",
};

function problemWith(value: unknown): string | undefined {
  try {
    assertTool(value);
    return undefined;
  } catch (error) {
    if (isLoopError(error, "invalid-tool")) return `${error.details.toolName}: ${error.details.problem}`;
    throw error;
  }
}

describe("defineTool", () => {
  it("returns the tool object that it receives", () => {
    const tool = { ...search, inputSchema: z.object({ q: z.string() }) };
    expect(defineTool(tool)).toBe(tool);
  });

  it("throws if a field is invalid", () => {
    expect(() => defineTool({ ...search, name: "no spaces", inputSchema: {} })).toThrow(
      'Tool "no spaces" has an invalid "name": it is "no spaces", but must be a string of 1 to 64 letters, digits, "_" or "-".',
    );
  });
});

describe("defineTool with an inputSchema", () => {
  class Point {
    x = 1;
  }
  const wrap = "Wrap all fields in one schema: inputSchema: z.object({ ... })";
  it.for<[what: string, inputSchema: object, problem: string]>([
    ["a raw zod shape", { a: z.number() }, `is an object whose field "a" is a zod schema. ${wrap}`],
    [
      "a zod field next to plain fields",
      { type: "object", city: z.string() },
      `is an object whose field "city" is a zod schema. ${wrap}`,
    ],
    [
      "a raw shape of another schema library",
      { a: { "~standard": { version: 1, vendor: "other", validate: () => ({ value: 1 }) } } },
      'is an object whose field "a" is a other schema. Wrap all fields in one schema: inputSchema: an object schema from other',
    ],
    [
      "JSON Schema that contains a zod schema",
      { type: "object", properties: { a: z.number() } },
      'is not JSON: "properties.a" is a zod schema, which a JSON Schema cannot contain',
    ],
    [
      "JSON Schema that contains a function",
      { type: "object", required: [() => "a"] },
      'is not JSON: "required.0" is a function',
    ],
    [
      "JSON Schema that contains a class instance",
      { properties: { at: { default: new Point() } } },
      'is not JSON: "properties.at.default" is an instance of a class',
    ],
  ])("rejects %s, even in a custom registry", async ([, inputSchema, problem]) => {
    const message = `The input schema of tool "search" ${problem}.`;
    const given = inputSchema as JsonSchema;
    const refused = expect.objectContaining({ code: "invalid-schema", message }) as Error;
    expect(() => defineTool({ ...search, inputSchema: given })).toThrow(refused);
    expect(() => defineTool({ ...search, inputSchema: given, jsonSchema: { type: "object" } })).toThrow(refused);
    const definition = { name: "search", description: "", inputSchema: given };
    const tools = { definitions: () => [definition], executeTool: () => 1 };
    const provider = createMockProvider([]);
    await expect(runToolLoop({ provider, tools, messages: [{ role: "user", content: "Go." }] })).rejects.toThrow(refused);
    expect(provider.calls).toBe(0);
  });

  it("accepts JSON Schema from another realm, with undefined values or with toJSON", () => {
    const foreign = runInNewContext('({ type: "object", properties: { a: { type: "string" } } })') as JsonSchema;
    const dated = { type: "object", title: undefined, default: { at: new Date(0) } } as unknown as JsonSchema;
    for (const inputSchema of [{ properties: foreign }, dated])
      expect(defineTool({ ...search, inputSchema }).name).toBe("search");
  });
});

describe("assertTool", () => {
  it.for<[fields: object]>([
    [{}],
    [{ name: "a" }],
    [{ name: `Az_-09${"x".repeat(58)}` }],
    [{ name: "__proto__" }],
    [{ description: "" }],
    [{ timeoutMs: 1, idleTimeoutMs: 2 ** 31 - 1 }],
    [{ timeoutMs: Number.POSITIVE_INFINITY, idleTimeoutMs: Number.POSITIVE_INFINITY }],
    [{ sequential: true, idempotent: true, retry: { maxAttempts: 2 }, replay: "safe" }],
    [{ sequential: undefined, timeoutMs: undefined, retry: undefined, jsonSchema: undefined }],
    [{ jsonSchema: { type: "object" } }],
    [{ inputSchema: Object.assign(() => 1, { "~standard": {} }) }],
    [{ [Symbol("note")]: 1 }],
  ])("accepts a tool with the fields %o", ([fields]) => {
    expect(problemWith({ ...search, ...fields })).toBeUndefined();
  });

  it.for<[fields: object, problem: string]>([
    [{ name: "" }, ': has an invalid "name": it is "", but must be a string of 1 to 64 letters, digits, "_" or "-"'],
    [
      { name: undefined },
      ': has an invalid "name": it is undefined, but must be a string of 1 to 64 letters, digits, "_" or "-". Add a name. AI SDK tools have none; for these, write: tools: importTools({ search: tool }), from "turnwright/interop"',
    ],
    [
      { name: "a".repeat(65) },
      `${"a".repeat(65)}: has an invalid "name": it is a string of 65 characters, but must be a string of 1 to 64 letters, digits, "_" or "-"`,
    ],
    [
      { name: "a\n" },
      'a\n: has an invalid "name": it is a string of 2 characters, but must be a string of 1 to 64 letters, digits, "_" or "-"',
    ],
    [
      { name: "wetter_für" },
      'wetter_für: has an invalid "name": it is a string of 10 characters, but must be a string of 1 to 64 letters, digits, "_" or "-"',
    ],
    [{ description: undefined }, 'search: has an invalid "description": it is undefined, but must be a string'],
    [
      { inputSchema: undefined },
      'search: has an invalid "inputSchema": it is undefined, but must be a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }',
    ],
    [
      { inputSchema: "object" },
      'search: has an invalid "inputSchema": it is "object", but must be a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }',
    ],
    [
      { inputSchema: [] },
      'search: has an invalid "inputSchema": it is an array of 0 items, but must be a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }',
    ],
    [{ jsonSchema: null }, 'search: has an invalid "jsonSchema": it is null, but must be a JSON Schema'],
    [{ execute: Promise.resolve() }, 'search: has an invalid "execute": it is a promise, but must be a function'],
    [{ sequential: "yes" }, 'search: has an invalid "sequential": it is "yes", but must be true or false'],
    [
      { timeoutMs: 0 },
      'search: has an invalid "timeoutMs": it is 0, but must be a whole number from 1 to 2147483647, or Infinity',
    ],
    [
      { timeoutMs: 1.5 },
      'search: has an invalid "timeoutMs": it is 1.5, but must be a whole number from 1 to 2147483647, or Infinity',
    ],
    [
      { timeoutMs: 2 ** 31 },
      'search: has an invalid "timeoutMs": it is 2147483648, but must be a whole number from 1 to 2147483647, or Infinity',
    ],
    [
      { idleTimeoutMs: "10" },
      'search: has an invalid "idleTimeoutMs": it is "10", but must be a whole number from 1 to 2147483647, or Infinity',
    ],
    [{ idempotent: 1 }, 'search: has an invalid "idempotent": it is 1, but must be true or false'],
    [
      { idempotent: true, retry: { maxAttempts: 1 } },
      'search: has an invalid "retry": it is an object, but must be { maxAttempts } with a whole number of at least 2',
    ],
    [
      { idempotent: true, retry: { maxAttempts: 2, delayMs: 5 } },
      'search: has an invalid "retry": it is an object, but must be { maxAttempts } with a whole number of at least 2',
    ],
    [
      { idempotent: true, retry: 3 },
      'search: has an invalid "retry": it is 3, but must be { maxAttempts } with a whole number of at least 2',
    ],
    [{ retry: { maxAttempts: 2 } }, 'search: needs "idempotent: true" to have "retry"'],
    [{ replay: "always" }, 'search: has an invalid "replay": it is "always", but must be "safe" or "never"'],
    [{ timoutMs: 5 }, 'search: has an unknown field "timoutMs" (did you mean "timeoutMs"?)'],
    [
      { outputSchema: {} },
      'search: has an invalid "outputSchema": it is an object, but must be a Standard Schema (fromJsonSchema from "turnwright/json-schema" creates one)',
    ],
    [{ execute: undefined, eager: true }, 'search: has "eager" without "execute". Add "execute", or remove "eager"'],
    [
      { execute: undefined, run: () => 1 },
      'search: has an invalid "execute": it is undefined, but must be a function. Rename "run" to "execute"',
    ],
    [{ parameters: {} }, 'search: has an unknown field "parameters" (write: inputSchema: z.object({ ... }))'],
    [JSON.parse('{"__proto__":{"a":1}}'), 'search: has an unknown field "__proto__"'],
    [{ constructor: 1 }, 'search: has an unknown field "constructor"'],
  ])("rejects a tool with the fields %o", ([fields, problem]) => {
    const tool = Object.defineProperties({ ...search }, Object.getOwnPropertyDescriptors(fields));
    expect(problemWith(tool)).toBe(problem);
  });

  it.for<[value: unknown, received: string]>([
    [undefined, "undefined"],
    [[search], "an array of 1 item"],
    [() => search, "a function"],
  ])("rejects a value that is not an object, and describes it as $1", ([value, received]) => {
    expect(problemWith(value)).toBe(`: is ${received}, but must be an object`);
  });

  it("accepts a class instance with additional fields", () => {
    class Search {
      readonly name = "search";
      readonly description = "Searches";
      readonly inputSchema = { type: "object" };
      readonly client = { url: "https://example.org" };
      execute(): string {
        return this.client.url;
      }
    }
    expect(problemWith(new Search())).toBeUndefined();
  });
});
