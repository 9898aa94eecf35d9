import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isLoopError } from "../errors/loop-error.ts";
import { assertTool } from "./check-tool.ts";
import { defineTool } from "./define-tool.ts";

const search = {
  name: "search",
  description: "Searches",
  inputSchema: { type: "object" },
  execute: () => "found",
};

/** What is wrong with a value, as the error says it; undefined where it is a tool. */
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
  it("gives back the tool that it was given", () => {
    const tool = { ...search, inputSchema: z.object({ q: z.string() }) };
    expect(defineTool(tool)).toBe(tool);
  });

  it("throws at once where the shape is wrong", () => {
    expect(() => defineTool({ ...search, name: "no spaces", inputSchema: {} })).toThrow(
      'Tool "no spaces" must have as "name" 1 to 64 letters, digits, "_" or "-", but has "no spaces".',
    );
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
  ])("accepts %j", ([fields]) => {
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
    [{ parameters: {} }, 'search: has an unknown field "parameters" (did you mean "inputSchema"?)'],
    [JSON.parse('{"__proto__":{"a":1}}'), 'search: has an unknown field "__proto__"'],
    [{ constructor: 1 }, 'search: has an unknown field "constructor"'],
  ])("refuses %j", ([fields, problem]) => {
    const tool = Object.defineProperties({ ...search }, Object.getOwnPropertyDescriptors(fields));
    expect(problemWith(tool)).toBe(problem);
  });

  it.for<[value: unknown, received: string]>([
    [undefined, "undefined"],
    [[search], "an array of 1 item"],
    [() => search, "a function"],
  ])("refuses what is no object (%#)", ([value, received]) => {
    expect(problemWith(value)).toBe(`: must be an object, but is ${received}`);
  });

  it("lets an instance of a class keep fields of its own", () => {
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
