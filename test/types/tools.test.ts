import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { LoopOptions, Tool, ToolContext, Unvalidated } from "../../src/core/types/loop-options.ts";
import type { StandardSchema } from "../../src/core/types/common.ts";
import type { ToolArgs, ToolInput, ToolOutput } from "../../src/core/types/typed-call.ts";
import { isLoopError, LoopError, type LoopErrorDetails } from "../../src/shared/errors/loop-error.ts";
import type { ApprovalView } from "../../src/core/types/tool.ts";
import { defineAgentTool } from "../../src/core/loop/nested/define-agent-tool.ts";
import { defineTool } from "../../src/core/tools/define-tool.ts";

const described = { name: "report", description: "Reports" };
const anyObject = { type: "object" } as const;

it("defineTool: gives execute the output of a zod object", () => {
  const tool = defineTool({
    ...described,
    inputSchema: z.object({ city: z.string(), days: z.number().int() }),
    execute(args, context) {
      expectTypeOf(args).toEqualTypeOf<{ city: string; days: number }>();
      expectTypeOf(context).toEqualTypeOf<ToolContext>();
      return args.city.length;
    },
  });
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<{ city: string; days: number }>();
  expectTypeOf<ToolOutput<typeof tool>>().toEqualTypeOf<number>();
  expect(tool.name).toBe("report");
});

it("defineTool: gives needsApproval the same argument type as execute", () => {
  const inputSchema = z.object({ amount: z.coerce.number(), note: z.string().optional() });
  const tool = defineTool({
    ...described,
    inputSchema,
    needsApproval(args, view) {
      expectTypeOf(args).toEqualTypeOf<{ amount: number; note?: string | undefined }>();
      expectTypeOf(view).toEqualTypeOf<ApprovalView>();
      return args.amount > 50;
    },
    execute: ({ amount }) => amount,
  });
  const agent = defineAgentTool({
    ...described,
    inputSchema,
    needsApproval: ({ amount }) => amount > 50,
    prepare: () => ({ messages: [] }),
  });
  const plain = defineTool<{ amount: number }>({
    ...described,
    inputSchema: anyObject,
    needsApproval: ({ amount }) => amount > 50,
    execute: ({ amount }) => amount,
  });
  const tools: LoopOptions["tools"] = [tool, agent, plain];
  // @ts-expect-error: the call is not among the arguments
  defineTool({ ...described, inputSchema, needsApproval: ({ args }) => args !== undefined, execute: () => 1 });
  expect(tools).toHaveLength(3);
});

it("ToolInput and ToolArgs: distinguish the input and the output of a schema", () => {
  const inputSchema = z.object({
    unit: z.enum(["C", "F"]).default("C"),
    days: z.string().transform((text) => Number(text)),
    note: z.string().optional(),
  });
  const tool = defineTool({
    ...described,
    inputSchema,
    execute: async ({ unit, days, note }) => {
      expectTypeOf(unit).toEqualTypeOf<"C" | "F">();
      expectTypeOf(days).toEqualTypeOf<number>();
      expectTypeOf(note).toEqualTypeOf<string | undefined>();
      return { days };
    },
  });
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<z.input<typeof inputSchema>>();
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<z.output<typeof inputSchema>>();
  expectTypeOf<ToolOutput<typeof tool>>().toEqualTypeOf<{ days: number }>();
  expect(tool.inputSchema).toBe(inputSchema);
});

it("ToolOutput: is a generator's return type, or else its yielded type", () => {
  const counted = defineTool({
    ...described,
    inputSchema: anyObject,
    async *execute() {
      yield "half";
      return { done: true };
    },
  });
  const streamed = defineTool({
    ...described,
    inputSchema: anyObject,
    *execute() {
      yield 1;
    },
  });
  const loose = defineTool({ ...described, inputSchema: anyObject, execute: (): unknown => 1 });
  expectTypeOf<ToolOutput<typeof counted>>().toEqualTypeOf<{ done: boolean }>();
  expectTypeOf<ToolOutput<typeof streamed>>().toEqualTypeOf<number>();
  expectTypeOf<ToolOutput<typeof loose>>().toEqualTypeOf<unknown>();
  expect([counted.name, streamed.name, loose.name]).toEqual(["report", "report", "report"]);
});

it("defineTool: accepts any Standard Schema", () => {
  const inputSchema: StandardSchema<{ n: string }, { n: number }> = {
    "~standard": { version: 1, vendor: "test", validate: () => ({ value: { n: 1 } }) },
  };
  const tool = defineTool({ ...described, inputSchema, jsonSchema: anyObject, execute: ({ n }) => n });
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<{ n: string }>();
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<{ n: number }>();
  expect(tool.jsonSchema).toBe(anyObject);
});

it("defineTool: leaves the arguments of plain JSON Schema unknown", () => {
  const tool = defineTool({
    ...described,
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<Unvalidated>();
      // @ts-expect-error the schema does not guarantee that there is a city
      return () => args.city;
    },
  });
  // @ts-expect-error the same for destructured arguments
  defineTool({ ...described, inputSchema: { type: "object" }, execute: ({ city }) => city });
  expectTypeOf<ToolArgs<typeof tool>>().toBeUnknown();
  expect(tool.description).toBe("Reports");
});

it("defineTool: accepts a type argument for plain JSON Schema only", () => {
  const tool = defineTool<{ city: string }>({
    ...described,
    inputSchema: anyObject,
    execute: ({ city }) => city,
  });
  expectTypeOf<ToolArgs<typeof tool>>().toEqualTypeOf<{ city: string }>();
  expectTypeOf<ToolInput<typeof tool>>().toEqualTypeOf<{ city: string }>();

  const inputSchema = z.object({ town: z.string() });
  // @ts-expect-error the schema defines the arguments
  const contradicting = defineTool<{ city: string }>({ ...described, inputSchema, execute: ({ city }) => city });
  expect([tool.name, contradicting.name]).toEqual(["report", "report"]);
});

it("defineTool: rejects unknown arguments, fields and traits", () => {
  const inputSchema = z.object({ city: z.string() });
  defineTool({
    ...described,
    inputSchema,
    // @ts-expect-error there is no town
    execute: ({ town }) => town,
  });
  defineTool({
    ...described,
    inputSchema,
    // @ts-expect-error city is text
    execute: (args: { city: number }) => args,
  });
  defineTool({
    ...described,
    inputSchema,
    // @ts-expect-error the schema has no days
    execute: (args: { city: string; days: number }) => args,
  });
  // @ts-expect-error a schema is needed
  expect(() => defineTool({ ...described, execute: () => 1 })).toThrow(LoopError);
  // @ts-expect-error "timeout" is no field of a tool
  expect(() => defineTool({ ...described, inputSchema, timeout: 5, execute: () => 1 })).toThrow(LoopError);
  // @ts-expect-error replay is "safe" or "never"
  expect(() => defineTool({ ...described, inputSchema, replay: "always", execute: () => 1 })).toThrow(LoopError);
});

it("Tool: one list can contain tools with different argument types", () => {
  const first = defineTool({ ...described, inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city });
  const second = defineTool<{ days: number }>({ ...described, inputSchema: anyObject, execute: async ({ days }) => days });
  expectTypeOf([first, second]).toExtend<readonly Tool[]>();
  expectTypeOf([first, second]).toExtend<NonNullable<LoopOptions["tools"]>>();
  expectTypeOf(first).not.toExtend<Tool<{ days: number }>>();
  expect(first.execute).not.toBe(second.execute);
});

it("LoopError: the type of details depends on the code", () => {
  const error: unknown = new LoopError("unknown-option", { option: "maxTurns", nearest: "maxIterations" });
  if (!isLoopError(error)) throw error;
  if (error.code === "unknown-option") expectTypeOf(error.details).toEqualTypeOf<LoopErrorDetails["unknown-option"]>();
  if (isLoopError(error, "duplicate-tool")) expectTypeOf(error.details.toolName).toBeString();
  // @ts-expect-error these are the details of another code
  expect(() => new LoopError("duplicate-tool", { option: "x" }).message.length).toThrow(TypeError);
  expect(error.details).toEqual({ option: "maxTurns", nearest: "maxIterations" });
});
