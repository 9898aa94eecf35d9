import { describe, expect, it } from "vitest";
import { type Check, checkEither, checkFields } from "./check-fields.ts";
import { invalidOption, isLoopError } from "./loop-error.ts";

const checks: { readonly [name: string]: Check } = {
  maxTokens: ["a number", (value) => typeof value === "number"],
  cache: ["true or false", (value) => typeof value === "boolean"],
};

const errorOf = (group: string, value: unknown): unknown => {
  try {
    return checkFields(group, value, checks);
  } catch (error) {
    return isLoopError(error) ? [error.code, error.details] : error;
  }
};

const invalid = (option: string, expected: string, received: string): unknown => [
  "invalid-option",
  { option, expected, received },
];
const unknown = (option: string, nearest?: string): unknown => ["unknown-option", { option, nearest }];

describe("checkFields", () => {
  it.for<[what: string, value: unknown]>([
    ["an empty object", {}],
    ["valid fields", { maxTokens: 5, cache: false }],
    ["an undefined field", { maxTokens: undefined }],
    ["an object without a prototype", Object.create(null)],
  ])("accepts %s", ([, value]) => {
    expect(errorOf("options", value)).toBeUndefined();
  });

  it.for<[group: string, value: unknown, error: unknown]>([
    ["options", undefined, invalid("options", "an object", "undefined")],
    ["options", [], invalid("options", "an object", "an array of 0 items")],
    ["hooks", null, invalid("hooks", "an object", "null")],
    ["options", { maxTokens: "5" }, invalid("maxTokens", "a number", '"5"')],
    ["options", { maxTokens: null }, invalid("maxTokens", "a number", "null")],
    ["settings", { cache: 1 }, invalid("settings.cache", "true or false", "1")],
    ["options", { maxToken: 5 }, unknown("maxToken", "maxTokens")],
    ["settings", { cashe: true }, unknown("settings.cashe", "settings.cache")],
    ["options", { maxToken: undefined }, unknown("maxToken", "maxTokens")],
    ["options", { something: 1 }, unknown("something")],
    ["options", { toString: 1 }, unknown("toString")],
    ["options", JSON.parse('{"__proto__":{"cache":true}}'), unknown("__proto__")],
    ["options", { cache: 1, maxTokens: "5" }, invalid("cache", "true or false", "1")],
  ])("rejects the value $1 for the %s", ([group, value, error]) => {
    expect(errorOf(group, value)).toEqual(error);
  });
});

it("invalidOption: describes the received value without its content", () => {
  expect(invalidOption("key", "a function", { secret: "hush" }).details.received).toBe("an object");
  expect(invalidOption("key", "a function", "sk-abc123def456ghi789").message).not.toContain("sk-");
});

it("checkFields: suggests the nearest valid option in the same group", () => {
  expect(() => checkFields("limits", { maxIteration: 1 }, { maxIterations: { min: 1 } })).toThrow(
    'There is no option "limits.maxIteration". Did you mean "limits.maxIterations"?',
  );
});

it.for<[value: object, received: string]>([
  [{}, 'an object with neither "a" nor "b"'],
  [{ a: undefined, c: 1 }, 'an object with neither "a" nor "b"'],
  [{ a: 1, b: 2 }, 'an object with both "a" and "b"'],
])("checkEither: rejects %j, which does not have exactly one of the fields a and b", ([value, received]) => {
  expect(() => checkEither("options", value, ["a", "b"])).toThrow(
    `Option "options" is ${received}, but must be an object with exactly one of them.`,
  );
  expect(() => checkEither("options", { b: 0 }, ["a", "b"])).not.toThrow();
});
