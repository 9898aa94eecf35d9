import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { StandardSchema, StandardSchemaProps } from "../core/types/common.ts";
import { validateArgs } from "./argument-schema.ts";

function schemaOf(validate: StandardSchemaProps["validate"]): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

const forecast = z.object({ city: z.string(), days: z.number().default(3), note: z.string().trim().optional() });

describe("validateArgs", () => {
  it("returns the output of a synchronous schema synchronously", () => {
    expect(validateArgs(forecast, { city: "Oslo", note: " x ", extra: true })).toEqual({
      value: { city: "Oslo", days: 3, note: "x" },
    });
  });

  it("returns a promise if the schema returns one", async () => {
    const schema = z.object({ city: z.string().refine(async (city) => city !== "Atlantis", "no such city") });
    const fits = validateArgs(schema, { city: "Oslo" });
    expect(fits).toBeInstanceOf(Promise);
    expect(await fits).toEqual({ value: { city: "Oslo" } });
    expect(await validateArgs(schema, { city: "Atlantis" })).toEqual({ issues: [{ message: "no such city", path: ["city"] }] });
  });

  it("reports each issue with its path", () => {
    const schema = z.object({ city: z.string(), list: z.array(z.object({ n: z.number() })) });
    expect(validateArgs(schema, { list: [{ n: 1 }, { n: "2" }] })).toEqual({
      issues: [
        { message: "Invalid input: expected string, received undefined", path: ["city"] },
        { message: "Invalid input: expected number, received string", path: ["list", 1, "n"] },
      ],
    });
  });

  it.for<[args: unknown, message: string]>([
    [null, "Invalid input: expected object, received null"],
    [[], "Invalid input: expected object, received array"],
    ["city", "Invalid input: expected object, received string"],
  ])("reports no path for the arguments %j, which are not an object", ([args, message]) => {
    expect(validateArgs(forecast, args)).toEqual({ issues: [{ message }] });
  });

  it("ignores fields inside a __proto__ key", () => {
    const args: unknown = JSON.parse('{"__proto__":{"city":"Oslo"}}');
    expect(validateArgs(forecast, args)).toEqual({
      issues: [{ message: "Invalid input: expected string, received undefined", path: ["city"] }],
    });
  });

  it("converts path keys to strings or numbers", () => {
    const path = ["a", 1, Symbol("s"), { key: "b" }, { key: 2 }, "k".repeat(100)];
    expect(
      validateArgs(
        schemaOf(() => ({ issues: [{ message: "no", path }] })),
        {},
      ),
    ).toEqual({
      issues: [{ message: "no", path: ["a", 1, "Symbol(s)", "b", 2, `${"k".repeat(64)}…`] }],
    });
  });

  it("limits the issues, messages and paths of hostile arguments", () => {
    const issues = Array.from({ length: 1_000 }, () => ({
      message: "m".repeat(1_000),
      path: new Array<string>(100).fill("deep"),
    }));
    const answer = validateArgs(
      schemaOf(() => ({ issues })),
      {},
    );
    const issue = { message: `${"m".repeat(300)}…`, path: new Array<string>(16).fill("deep") };
    expect(answer).toEqual({ issues: Array.from({ length: 20 }, () => issue) });
  });

  it.for<[what: string, validate: StandardSchemaProps["validate"], message: string]>([
    [
      "throws",
      () => {
        throw new Error("boom sk-abcdefgh12345678");
      },
      "could not be checked: boom [redacted]",
    ],
    ["rejects its promise", () => Promise.reject(new Error("later")), "could not be checked: later"],
    ["rejects its promise with a string", () => Promise.reject("text"), "could not be checked: text"],
    ["returns an empty list of issues", () => ({ issues: [] }), "does not fit the schema"],
  ])("returns an issue if the schema %s", async ([, validate, message]) => {
    expect(await validateArgs(schemaOf(validate), {})).toEqual({ issues: [{ message }] });
  });

  it("adds a message to an issue that lacks one", () => {
    const issue = { path: ["a"] } as never;
    expect(
      validateArgs(
        schemaOf(() => ({ issues: [issue] })),
        {},
      ),
    ).toEqual({
      issues: [{ message: "does not fit the schema", path: ["a"] }],
    });
  });

  it("returns an issue if the schema returns an invalid result", async () => {
    const answers: unknown[] = [undefined, { issues: [null] }, Promise.resolve(undefined)];
    for (const answer of answers) {
      const checked = await validateArgs(
        schemaOf(() => answer as never),
        {},
      );
      expect(checked).toEqual({ issues: [{ message: expect.stringMatching(/^could not be checked: /) }] });
    }
  });

  it("accepts any arguments if the tool has only JSON Schema", () => {
    const args = { whatever: 1 };
    const checked = validateArgs({ type: "object", required: ["city"] }, args);
    expect(checked).toEqual({ value: args, unchecked: true });
  });
});
