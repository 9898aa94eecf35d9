import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../types/common.ts";
import { isLoopError } from "../errors/loop-error.ts";
import { runToolLoop } from "../loop/run-tool-loop.ts";
import { createMockProvider } from "../../testing/mock-provider.ts";
import { assertTool, defineTool } from "./define-tool.ts";

const search = {
  name: "search",
  description: "Searches",
  inputSchema: { type: "object" },
  execute: () => "found",
};

/** Returns the problem in the error about a value; undefined if it is a tool. */
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
  it("returns the tool that it is given", () => {
    const tool = { ...search, inputSchema: z.object({ q: z.string() }) };
    expect(defineTool(tool)).toBe(tool);
  });

  it("throws if a field is invalid", () => {
    expect(() => defineTool({ ...search, name: "no spaces", inputSchema: {} })).toThrow(
      'Tool "no spaces" must have as "name" 1 to 64 letters, digits, "_" or "-", but has "no spaces".',
    );
  });
});

describe("defineTool: invalid inputSchema", () => {
  class Point {
    x = 1;
  }
  const wrap = "Wrap the fields: inputSchema: z.object({ ... })";
  it.for<[what: string, inputSchema: object, problem: string]>([
    ["a raw zod shape", { a: z.number() }, `is an object whose field "a" is a schema of zod. ${wrap}`],
    [
      "a zod field next to plain fields",
      { type: "object", city: z.string() },
      `is an object whose field "city" is a schema of zod. ${wrap}`,
    ],
    [
      "a raw shape of another library",
      { a: { "~standard": { version: 1, vendor: "other", validate: () => ({ value: 1 }) } } },
      'is an object whose field "a" is a schema of other. Wrap the fields: inputSchema: an object schema of other',
    ],
    [
      "JSON Schema with schemas inside",
      { type: "object", properties: { a: z.number() } },
      'is not JSON: "properties.a" is a schema of zod, which JSON Schema cannot hold',
    ],
    ["JSON Schema with a function", { type: "object", required: [() => "a"] }, 'is not JSON: "required.0" is a function'],
    [
      "JSON Schema with an instance",
      { properties: { at: { default: new Point() } } },
      'is not JSON: "properties.at.default" is an instance of a class',
    ],
  ])("rejects %s, and so does a run with a custom registry", async ([, inputSchema, problem]) => {
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

  it("accepts data of another realm, undefined values and values with toJSON", () => {
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
  ])("accepts %o", ([fields]) => {
    expect(problemWith({ ...search, ...fields })).toBeUndefined();
  });

  it.for<[fields: object, problem: string]>([
    [{ name: "" }, ': must have as "name" 1 to 64 letters, digits, "_" or "-", but has ""'],
    [{ name: undefined }, ': must have as "name" 1 to 64 letters, digits, "_" or "-", but has undefined'],
    [
      { name: "a".repeat(65) },
      `${"a".repeat(65)}: must have as "name" 1 to 64 letters, digits, "_" or "-", but has a string of 65 characters`,
    ],
    [{ name: "a\n" }, 'a\n: must have as "name" 1 to 64 letters, digits, "_" or "-", but has a string of 2 characters'],
    [
      { name: "wetter_für" },
      'wetter_für: must have as "name" 1 to 64 letters, digits, "_" or "-", but has a string of 10 characters',
    ],
    [{ description: undefined }, 'search: must have as "description" a string, but has undefined'],
    [{ inputSchema: "object" }, 'search: must have as "inputSchema" a Standard Schema or a JSON Schema, but has "object"'],
    [{ inputSchema: [] }, 'search: must have as "inputSchema" a Standard Schema or a JSON Schema, but has an array of 0 items'],
    [{ jsonSchema: null }, 'search: must have as "jsonSchema" a JSON Schema, but has null'],
    [{ execute: Promise.resolve() }, 'search: must have as "execute" a function, but has a promise'],
    [{ sequential: "yes" }, 'search: must have as "sequential" true or false, but has "yes"'],
    [{ timeoutMs: 0 }, 'search: must have as "timeoutMs" a whole number from 1 to 2147483647, or Infinity, but has 0'],
    [{ timeoutMs: 1.5 }, 'search: must have as "timeoutMs" a whole number from 1 to 2147483647, or Infinity, but has 1.5'],
    [
      { timeoutMs: 2 ** 31 },
      'search: must have as "timeoutMs" a whole number from 1 to 2147483647, or Infinity, but has 2147483648',
    ],
    [
      { idleTimeoutMs: "10" },
      'search: must have as "idleTimeoutMs" a whole number from 1 to 2147483647, or Infinity, but has "10"',
    ],
    [{ idempotent: 1 }, 'search: must have as "idempotent" true or false, but has 1'],
    [
      { idempotent: true, retry: { maxAttempts: 1 } },
      'search: must have as "retry" { maxAttempts } of at least 2, but has an object',
    ],
    [
      { idempotent: true, retry: { maxAttempts: 2, delayMs: 5 } },
      'search: must have as "retry" { maxAttempts } of at least 2, but has an object',
    ],
    [{ idempotent: true, retry: 3 }, 'search: must have as "retry" { maxAttempts } of at least 2, but has 3'],
    [{ retry: { maxAttempts: 2 } }, 'search: has "retry", which only a tool with "idempotent: true" may have'],
    [{ replay: "always" }, 'search: must have as "replay" "safe" or "never", but has "always"'],
    [{ timoutMs: 5 }, 'search: has an unknown field "timoutMs" (did you mean "timeoutMs"?)'],
    [
      { outputSchema: {} },
      'search: must have as "outputSchema" a Standard Schema (fromJsonSchema of "turnwright/json-schema" makes one), but has an object',
    ],
    [{ execute: undefined, eager: true }, 'search: has "eager", which a tool without "execute" may not have'],
    [
      { execute: undefined, run: () => 1 },
      'search: must have as "execute" a function, but has undefined: rename "run" to "execute"',
    ],
    [{ parameters: {} }, 'search: has an unknown field "parameters" (write: inputSchema: z.object({ ... }))'],
    [JSON.parse('{"__proto__":{"a":1}}'), 'search: has an unknown field "__proto__"'],
    [{ constructor: 1 }, 'search: has an unknown field "constructor"'],
  ])("rejects %o", ([fields, problem]) => {
    const tool = Object.defineProperties({ ...search }, Object.getOwnPropertyDescriptors(fields));
    expect(problemWith(tool)).toBe(problem);
  });

  it.for<[value: unknown, received: string]>([
    [undefined, "undefined"],
    [[search], "an array of 1 item"],
    [() => search, "a function"],
  ])("rejects a value that is not an object (%#)", ([value, received]) => {
    expect(problemWith(value)).toBe(`: must be an object, but is ${received}`);
  });

  it("accepts additional fields of a class instance", () => {
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
