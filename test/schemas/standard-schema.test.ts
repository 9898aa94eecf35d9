import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { describe, expect, it } from "vitest";
import { createToolRegistry, defineTool, isLoopError, type JsonSchema, type StandardSchema } from "turnwright";
import { runTool, text, toolCall } from "turnwright/testing";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod-v3";
import { z as z3v4 } from "zod-v3/v4";
import { answersOf, play } from "../loop/play.ts";
import { asking, forecasts } from "./libraries.ts";

const described = { name: "get_forecast", description: "Forecast of a city" };

describe.for(Object.entries(forecasts))("defineTool with a schema from %s", ([, schemas]) => {
  const setUp = () => {
    const got: unknown[] = [];
    const tool = defineTool({ ...described, ...schemas, execute: (args) => got.push(args) });
    return { got, tool };
  };

  it("shows the model the input's JSON Schema", async () => {
    const { provider, result } = play([text("Hello.")], { tools: [setUp().tool] });
    await result;
    const [shown] = provider.requests[0]?.tools ?? [];
    expect(shown).toMatchObject({
      ...described,
      inputSchema: {
        type: "object",
        properties: {
          city: { type: "string", minLength: 2 },
          unit: { enum: ["C", "F"] },
          days: { type: "string", pattern: expect.stringMatching(/^\^\\d[+*]\$$/) },
        },
      },
    });
    // A field with a default is optional for the model.
    expect(shown?.inputSchema["required"]).toEqual(["city", "days"]);
  });

  it("calls execute with the schema's defaults and transforms applied", async () => {
    const { got, tool } = setUp();
    const calls = [
      toolCall("get_forecast", { city: "Oslo", days: "3" }),
      toolCall("get_forecast", { city: "Oslo", days: "10", unit: "F" }),
    ];
    const { result } = play([calls, text("Done.")], { tools: [tool] });
    expect(answersOf(await result).map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
    expect(got).toEqual([
      { city: "Oslo", unit: "C", days: 3 },
      { city: "Oslo", unit: "F", days: 10 },
    ]);
  });

  it("sends the model the path of each problem in invalid arguments", async () => {
    const { got, tool } = setUp();
    const calls = [
      toolCall("get_forecast", { city: "O", days: "soon" }),
      toolCall("get_forecast", { city: "Oslo", days: 3 }),
      toolCall("get_forecast", { city: "Oslo", days: "3", unit: "K" }),
      toolCall("get_forecast", [1]),
    ];
    const { provider, result } = play([calls, text("Sorry.")], { tools: [tool] });
    const answers = answersOf(await result);
    expect(answers.map(({ outcome }) => outcome)).toEqual(["invalid-input", "invalid-input", "invalid-input", "invalid-input"]);
    const reasons = answers.map(({ result: read }) => String(Reflect.get(Object(read), "reason")));
    expect(reasons).toEqual([
      expect.stringMatching(/city: .*2.*; days: /),
      expect.stringMatching(/^days: /),
      expect.stringMatching(/^unit: /),
      expect.stringMatching(/object|city/i),
    ]);
    expect(got).toEqual([]);
    expect(provider.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", results: answers });
  });

  it("reports validation issues as plain data", async () => {
    const outcome = await runTool(setUp().tool, { city: 7, days: "3" });
    const issues = outcome.kind === "invalid-input" ? outcome.issues : [];
    expect(issues[0]?.path).toStrictEqual(["city"]);
    expect(Object.getPrototypeOf(issues[0]?.path)).toBe(Array.prototype);
  });

  it("keeps the model's original arguments in the transcript", async () => {
    const { result } = play([toolCall("get_forecast", { city: "Oslo", days: "3" }), text("Done.")], { tools: [setUp().tool] });
    expect((await result).messages[1]).toMatchObject({
      content: [{ type: "tool-call", args: { city: "Oslo", days: "3" } }],
    });
  });
});

describe.for(Object.entries(asking))("defineTool with an asynchronous schema from %s", ([, schemas]) => {
  it("awaits the validation", async () => {
    const got: unknown[] = [];
    const tool = defineTool({ ...described, ...schemas, execute: (args) => got.push(args) });
    const calls = [toolCall("get_forecast", { city: "Atlantis" }), toolCall("get_forecast", { city: "Oslo" })];
    const { result } = play([calls, text("Done.")], { tools: [tool] });
    expect(answersOf(await result).map(({ outcome, result: read }) => [outcome, read])).toEqual([
      ["invalid-input", { status: "invalid_input", reason: "city: there is no such city", tool_name: "get_forecast" }],
      ["completed", 1],
    ]);
    expect(got).toEqual([{ city: "Oslo" }]);
  });
});

describe("defineTool with a schema that cannot be converted to JSON Schema", () => {
  it.for<[string, StandardSchema, string]>([
    [
      "a zod/mini schema",
      mini.object({}),
      'zod/mini and zod before 4.2 have no conversion; use z.toJSONSchema(schema, { io: "input" })',
    ],
    [
      "a zod/v4 schema from zod 3.25",
      z3v4.object({}),
      'zod before 4.2 have no conversion; use z.toJSONSchema(schema, { io: "input" })',
    ],
    ["a zod 3 schema", z3.object({}), 'write the schema with "z" from "zod/v4", which zod has since 3.25'],
    ["a valibot schema", v.object({}), "valibot has no conversion"],
    ["a zod schema for a date", z.object({ at: z.date() }), "Date cannot be represented in JSON Schema"],
    [
      "a valibot schema for a date",
      toStandardJsonSchema(v.object({ at: v.date() })),
      'The "date" schema cannot be converted to JSON Schema',
    ],
  ])("throws an error with advice for %s", ([, inputSchema, why]) => {
    let thrown: unknown;
    try {
      createToolRegistry([defineTool({ ...described, inputSchema, execute: () => 1 })]);
    } catch (error) {
      thrown = error;
    }
    const message = isLoopError(thrown, "invalid-schema") ? thrown.message : String(thrown);
    expect(message).toContain(why);
    expect(message).toMatch(/Give the tool a "jsonSchema" to show to the model\.$/);
  });

  it("validates the arguments if the tool has a jsonSchema", () => {
    const jsonSchema: JsonSchema = { type: "object", properties: { at: { type: "string", format: "date-time" } } };
    const tool = defineTool({
      ...described,
      inputSchema: mini.object({ at: mini.coerce.date() }),
      jsonSchema,
      execute: ({ at }) => at,
    });
    const registry = createToolRegistry([tool]);
    expect(registry.definitions()[0]?.inputSchema).toBe(jsonSchema);
    expect(registry.validate(tool.name, { at: "2026-01-01" })).toEqual({ value: { at: new Date("2026-01-01") } });
  });
});

it.for<[string, JsonSchema, StandardSchema]>([
  ["zod/v4 in zod 3.25", z3v4.toJSONSchema(z3v4.object({ n: z3v4.number() })) as JsonSchema, z3v4.object({ n: z3v4.number() })],
  ["zod 3", { type: "object" }, z3.object({ n: z3.number() })],
])("defineTool: a schema from %s validates the arguments if the tool has a jsonSchema", async ([, jsonSchema, inputSchema]) => {
  const tool = defineTool({ ...described, inputSchema, jsonSchema, execute: (args) => args });
  expect(await runTool(tool, { n: 1 })).toMatchObject({ kind: "completed", data: { n: 1 } });
  expect(await runTool(tool, { n: "x" })).toMatchObject({ kind: "invalid-input", issues: [{ path: ["n"] }] });
});

it("defineTool: throws for a zod version without Standard Schema and names the required version", () => {
  // Imitates a class from zod 3.23. It lacks the property "~standard", which zod 3.25 has.
  class ZodObject {
    readonly _def = {};
    safeParse(): void {}
  }
  const fields = { ...described, inputSchema: new ZodObject(), execute: () => 1 };
  const make = (): unknown => createToolRegistry([Reflect.apply(defineTool, undefined, [fields])]);
  expect(make).toThrow(/is neither a Standard Schema nor a plain JSON Schema object: .*"zod\/v4", which zod has since 3\.25/);
});

it("defineTool: accepts schemas that are functions", () => {
  const { inputSchema } = forecasts.arktype;
  expect(typeof inputSchema).toBe("function");
  const tool = defineTool({ ...described, inputSchema, execute: ({ days }) => days });
  expect(createToolRegistry([tool]).validate(tool.name, { city: "Oslo", days: "4" })).toEqual({
    value: { city: "Oslo", unit: "C", days: 4 },
  });
});
