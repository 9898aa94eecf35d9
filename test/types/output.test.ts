import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type LoopOptions, type LoopResult, runToolLoop, streamToolLoop, structuredOutput } from "turnwright";
import type { Plain } from "turnwright/kit";
import { createMockProvider, text } from "turnwright/testing";

const asked = { messages: [{ role: "user" as const, content: "Go." }] };
const provider = () => createMockProvider([text('{"city":"Oslo","days":[1]}')]);

it("structuredOutput: gives the output the schema's type", async () => {
  const schema = z.object({ city: z.string(), days: z.array(z.number()), note: z.string().optional() });
  const result = await runToolLoop({ ...asked, provider: provider(), middleware: [structuredOutput(schema)] });
  expectTypeOf(result.output).toEqualTypeOf<{ city: string; days: number[]; note?: string | undefined } | undefined>();
  const streamed = await streamToolLoop({ ...asked, provider: provider(), middleware: [structuredOutput(schema)] }).result;
  expectTypeOf(streamed.output).toEqualTypeOf(result.output);
  // @ts-expect-error the output may be undefined
  expect(() => result.output.city).not.toThrow();
  expect(streamed.output).toEqual(result.output);
});

it("structuredOutput: the output's type includes defaults and transforms", async () => {
  const schema = z.object({ city: z.string().transform((city) => new Date(`${city.length}`)), unit: z.string().default("C") });
  const { output } = await runToolLoop({ ...asked, provider: provider(), middleware: [structuredOutput(schema)] });
  expectTypeOf(output).toEqualTypeOf<{ city: string; unit: string } | undefined>();
  expectTypeOf<Plain<readonly [Date, { at?: Date; n: 1 | null }]>>().toEqualTypeOf<
    readonly [string, { at?: string; n: 1 | null }]
  >();
  expect(output?.unit).toBe("C");
});

it("runToolLoop: types the output as unknown without a schema", async () => {
  const result = await runToolLoop({ ...asked, provider: provider() });
  expectTypeOf(result).toEqualTypeOf<LoopResult>();
  expectTypeOf(result.output).toBeUnknown();
  const options: LoopOptions = { ...asked, provider: provider(), middleware: [structuredOutput(z.unknown())] };
  expectTypeOf((await runToolLoop(options)).output).toBeUnknown();
  expect(result.output).toBeUndefined();
});

it("LoopOptions and LoopResult: typed versions are assignable to untyped versions", () => {
  expectTypeOf<LoopOptions<{ n: number }>>().toExtend<LoopOptions>();
  expectTypeOf<LoopResult<{ n: number }>>().toExtend<LoopResult>();
  // @ts-expect-error plain JSON Schema validates nothing
  expect(() => structuredOutput({ type: "object" })).toThrow("a Standard Schema");
});
