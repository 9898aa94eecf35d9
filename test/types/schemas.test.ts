import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import {
  defineTool,
  type StandardSchema,
  type Tool,
  type ToolRegistry,
  mergeRegistries,
  withFilter,
  withPrefix,
} from "turnwright";
import type { ToolArgs, ToolInput } from "../../src/core/types/typed-call.ts";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import { importTool, importTools } from "turnwright/interop";
import * as v from "valibot";
import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { _default as withDefault } from "zod/mini";

const described = { name: "report", description: "Reports" };
const jsonSchema = { type: "object" } as const;

interface Output {
  city: string;
  unit: "C" | "F";
  days: number;
}
interface Input {
  city: string;
  unit?: "C" | "F" | undefined;
  days: string;
}

it("defineTool: gives execute the output of a zod schema", () => {
  const inputSchema = z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C"), days: z.string().transform(Number) });
  const tool = defineTool({
    ...described,
    inputSchema,
    execute(args) {
      expectTypeOf(args).toEqualTypeOf<Output>();
    },
  });
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<Output>();
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<Input>();
  // @ts-expect-error days is a number by then
  defineTool({ ...described, inputSchema, execute: ({ days }) => days satisfies string });
  expect(tool.name).toBe("report");
});

it("defineTool: gives execute the output of a zod/mini schema", () => {
  const inputSchema = mini.object({
    city: mini.string(),
    unit: withDefault(mini.enum(["C", "F"]), "C"),
    days: mini.pipe(mini.string(), mini.transform(Number)),
  });
  const tool = defineTool({
    ...described,
    inputSchema,
    jsonSchema,
    execute(args) {
      expectTypeOf(args).toEqualTypeOf<Output>();
    },
  });
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<Output>();
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<Input>();
  // @ts-expect-error days is a number by then
  defineTool({ ...described, inputSchema, jsonSchema, execute: ({ days }) => days satisfies string });
  expect(tool.name).toBe("report");
});

it("defineTool: gives execute the output of a valibot schema", () => {
  const inputSchema = v.object({
    city: v.string(),
    unit: v.optional(v.picklist(["C", "F"]), "C"),
    days: v.pipe(v.string(), v.transform(Number)),
  });
  const plain = defineTool({
    ...described,
    inputSchema,
    jsonSchema,
    execute(args) {
      expectTypeOf(args).toEqualTypeOf<Output>();
    },
  });
  const converted = defineTool({
    ...described,
    inputSchema: toStandardJsonSchema(inputSchema),
    execute(args) {
      expectTypeOf(args).toEqualTypeOf<Output>();
    },
  });
  expectTypeOf<ToolInput<typeof plain>>().toEqualTypeOf<Input>();
  expectTypeOf<ToolInput<typeof converted>>().toEqualTypeOf<Input>();
  // @ts-expect-error there is no town
  defineTool({ ...described, inputSchema, jsonSchema, execute: ({ town }) => town });
  expect([plain.name, converted.name]).toEqual(["report", "report"]);
});

it("defineTool: gives execute the output of an arktype schema", () => {
  const inputSchema = type({
    city: "string",
    unit: "'C' | 'F' = 'C'",
    days: type("string").pipe((text) => Number(text)),
  });
  const tool = defineTool({
    ...described,
    inputSchema,
    execute(args) {
      expectTypeOf(args.city).toBeString();
      expectTypeOf(args.unit).toEqualTypeOf<"C" | "F">();
      expectTypeOf(args.days).toBeNumber();
    },
  });
  expectTypeOf<ToolInput<typeof tool>["days"]>().toBeString();
  // @ts-expect-error days is a number by then
  defineTool({ ...described, inputSchema, execute: ({ days }) => days satisfies string });
  expect(tool.name).toBe("report");
});

it("fromJsonSchema: the type argument is the type of the arguments", () => {
  const tool = defineTool({
    ...described,
    inputSchema: fromJsonSchema<{ city: string }>(jsonSchema),
    execute(args) {
      expectTypeOf(args).toEqualTypeOf<{ city: string }>();
    },
  });
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<{ city: string }>();
  expectTypeOf(fromJsonSchema(jsonSchema)).toEqualTypeOf<StandardSchema<unknown>>();
  // @ts-expect-error the arguments have no known type
  defineTool({ ...described, inputSchema: fromJsonSchema(jsonSchema), execute: ({ city }) => city });
  expect(tool.name).toBe("report");
});

it("importTool, mergeRegistries and withValidation: have the return types Tool and ToolRegistry", () => {
  const foreign = { inputSchema: z.object({}), execute: () => 1 };
  const imported = importTool(foreign, { name: "one" });
  expectTypeOf(imported).toExtend<Tool>();
  expectTypeOf(importTools({ one: foreign })).toExtend<readonly Tool[]>();
  const merged = mergeRegistries([imported], withPrefix([imported], "a_"), withFilter([imported], []));
  expectTypeOf(merged).toEqualTypeOf<ToolRegistry>();
  expectTypeOf(withValidation([imported])).toEqualTypeOf<ToolRegistry>();
  // @ts-expect-error "timeout" is no trait
  expect(() => importTool(foreign, { name: "one", timeout: 5 })).toThrow(/unknown field/);
  // @ts-expect-error a name is no tool
  expect(() => importTool("one")).toThrow(/must be an object/);
});
