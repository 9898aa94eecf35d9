import { defineTool, runToolLoop } from "turnwright";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type Adapter, adapters } from "./adapters.ts";

const inputSchema = z.object({
  ids: z.array(z.string()).optional(),
  place: z.object({ city: z.string() }).nullable().optional(),
  limit: z.int().optional(),
  ratio: z.number().optional(),
  deep: z.boolean().optional(),
  sort: z.enum(["up", "down"]).optional(),
  size: z.union([z.int(), z.null()]).optional(),
  either: z.union([z.string(), z.array(z.string())]).optional(),
  text: z.string().optional(),
  edits: z.array(z.object({ at: z.array(z.int()), note: z.string().optional() })).optional(),
  needed: z.string().default("x"),
});

interface Run {
  /** The arguments that the tool got, or undefined if it did not run. */
  readonly got: unknown;
  /** The arguments in the transcript, which `approve` shows. */
  readonly args: unknown;
  readonly outcome: string | undefined;
}

async function call({ open }: Adapter, argsText: string): Promise<Run> {
  const { provider, close } = await open([
    { calls: [["call_1", "find", argsText]], end: "tools" },
    { text: "Done.", end: "stop" },
  ]);
  onTestFinished(close);
  let got: unknown;
  const find = defineTool({ name: "find", description: "Finds", inputSchema, execute: (args) => void (got = args) });
  const { functionHistory } = await runToolLoop({ provider, tools: [find], messages: [{ role: "user", content: "Go." }] });
  return { got, args: functionHistory[0]?.functionCall.args, outcome: functionHistory[0]?.outcome };
}

describe.for(adapters.slice(0, 1))("$name with arguments that do not fit the schema", (adapter) => {
  it.for<[what: string, written: object, read: object]>([
    ["an array encoded as a string", { ids: '["a","b"]' }, { ids: ["a", "b"] }],
    ["an object encoded as a string", { place: ' {"city":"Oslo"}\n' }, { place: { city: "Oslo" } }],
    ["an integer encoded as a string", { limit: "5" }, { limit: 5 }],
    ["a number encoded as a string", { ratio: "0.5" }, { ratio: 0.5 }],
    ["a boolean encoded as a string", { deep: "true" }, { deep: true }],
    ["null encoded as a string", { size: "null" }, { size: null }],
    [
      "values inside objects and arrays",
      { place: { city: "Oslo" }, edits: [{ at: "[1,2]", note: null }, { at: [3] }] },
      { place: { city: "Oslo" }, edits: [{ at: [1, 2] }, { at: [3] }] },
    ],
    ["values inside JSON encoded as a string", { edits: '[{"at":"[1]","note":null}]' }, { edits: [{ at: [1] }] }],
    ["arguments inside one argument", { arguments: { text: "a", limit: "5" } }, { text: "a", limit: 5 }],
    ["null for optional arguments", { ids: null, limit: null, sort: null, text: null }, {}],
  ])("reads %s", async ([, written, read]) => {
    const { got, args } = await call(adapter, JSON.stringify(written));
    expect(got).toEqual({ ...read, needed: "x" });
    expect(args).toEqual(read);
  });

  it.for<[what: string, written: object]>([
    ["a string where the schema accepts strings", { text: '["a"]', either: '["a"]' }],
    ["null where the schema accepts null", { place: null, size: null }],
  ])("keeps %s", async ([, written]) => {
    const { got, args } = await call(adapter, JSON.stringify(written));
    expect(got).toEqual({ ...written, needed: "x" });
    expect(args).toEqual(written);
  });

  it.for<[what: string, written: object]>([
    ["other arguments beside it", { arguments: { text: "a" }, text: "b" }],
    ["an unknown argument inside it", { arguments: { text: "a", other: "b" } }],
  ])('keeps an argument named "arguments" that has %s', async ([, written]) => {
    expect((await call(adapter, JSON.stringify(written))).args).toEqual(written);
  });

  it.for<[what: string, written: object]>([
    ["a string that is not JSON", { ids: "a, b" }],
    ["JSON of a different type", { ids: '{"a":1}' }],
    ["a fractional number for an integer", { limit: "0.5" }],
    ["an integer with more digits than a number can hold", { limit: "2512292042121000001" }],
    ["null inside an array", { ids: [null] }],
    ["null for a required property", { place: { city: null } }],
  ])("refuses %s", async ([, written]) => {
    const { got, args, outcome } = await call(adapter, JSON.stringify(written));
    expect(got).toBeUndefined();
    expect(args).toEqual(written);
    expect(outcome).toBe("invalid-input");
  });
});

it.for(adapters)("$name: makes arguments fit the schema", async (adapter) => {
  const { got, args } = await call(adapter, '{"ids":"[\\"a\\"]","limit":null}');
  expect([got, args]).toEqual([{ ids: ["a"], needed: "x" }, { ids: ["a"] }]);
});

// Gemini's SDK parses the arguments.
it.for(adapters.filter(({ name }) => !/google/i.test(name)))(
  "$name: keeps all digits of a large integer and raw line breaks in arguments",
  async (adapter) => {
    const { got, args } = await call(adapter, '{"text":2512292042121000001,"ids":["a\n\tb"]}');
    const read = { text: "2512292042121000001", ids: ["a\n\tb"] };
    expect([got, args]).toEqual([{ ...read, needed: "x" }, read]);
  },
);
