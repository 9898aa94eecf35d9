import fc from "fast-check";
import { finish, createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { createPartialOutput, type DeepPartial, partialOutputs } from "turnwright/middleware";
import { streamToolLoop, structuredOutput, withFallback } from "turnwright";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { tool } from "../loop/play.ts";

const delta = (said: string): { readonly type: string } => Object.assign({ type: "text-delta" }, { text: said });
const start = Object.assign({ type: "iteration-start" }, { continuation: 0 });
const end = Object.assign({ type: "iteration-end" }, { finish: "stop" });

function valuesOf(pieces: readonly string[]): readonly unknown[] {
  const partial = createPartialOutput();
  return [start, ...pieces.map(delta), end].flatMap((event) => {
    const value = partial.take(event);
    return value === undefined ? [] : [value];
  });
}

const letters = (said: string): readonly string[] => said.split("");

describe("createPartialOutput", () => {
  it.for<readonly [title: string, answer: string, values: readonly unknown[]]>([
    ["an object", '{"a": 12, "b": "x"}', [{}, { a: 12 }, { a: 12, b: "" }, { a: 12, b: "x" }]],
    ["a list", "[1, true, null]", [[], [1], [1, true], [1, true, null]]],
    ["nested values", '{"a":[{"b":1}]}', [{}, { a: [] }, { a: [{}] }, { a: [{ b: 1 }] }]],
    ["a string", '"hi"', ["", "h", "hi"]],
    ["a number", "12", [12]],
    ["null", "null", [null]],
    ["escapes", '["\\"\\u0041"]', [[], [""], ['"'], ['"A']]],
    ["surrogate pairs", '["😀\\ud83d\\ude00"]', [[], [""], ["😀"], ["😀😀"]]],
    ["a code fence", '```json\n{"a":1}\n```', [{}, { a: 1 }]],
    ["a code fence without a language", "```\n[1]\n```", [[], [1]]],
    ["a repeated key", '{"a":1,"a":1 }', [{}, { a: 1 }]],
    ["text after the value", "[1] Done.", [[], [1]]],
    ["prose", "I will look. {}", []],
    ["a code fence in a different language", "```ts\n{}\n```", []],
    ["broken JSON", '{"a":1,}', [{}, { a: 1 }]],
    ["swapped brackets", '{"a":1]', [{}]],
    ["a line break in a string", '["a\nb"]', [[], [""], ["a"], ["a\n"], ["a\nb"]]],
  ])("reads an answer letter by letter: %s", ([, answer, values]) => {
    expect(valuesOf(letters(answer))).toEqual(values);
  });

  it("reads keys such as __proto__ as data", () => {
    const [value] = valuesOf(['{"__proto__":{"admin":true},"constructor":1}']);
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { readonly admin?: unknown }).admin).toBeUndefined();
  });

  it("does not return values for an answer that is nested too deeply", () => {
    expect(valuesOf(["[".repeat(100_000)])).toEqual([]);
    expect(valuesOf(["[".repeat(200)])).toHaveLength(1);
    expect(valuesOf(['{"a":'.repeat(50_000), "1"])).toEqual([]);
  });

  it("ignores nested runs and other events", () => {
    const partial = createPartialOutput();
    partial.take(start);
    expect(partial.take({ ...delta("[1]"), ...{ path: ["call-1"] } })).toBeUndefined();
    expect(partial.take({ type: "tool-progress" })).toBeUndefined();
    expect(partial.take({ ...delta("[2]"), ...{ path: [] } })).toEqual([2]);
  });

  it("omits a number that may be incomplete", () => {
    const partial = createPartialOutput();
    const events = [start, delta("[1"), { ...end, finish: "paused" }, { ...start, continuation: 1 }, delta("2]"), end];
    expect(events.map((event) => partial.take(event))).toEqual([undefined, [], undefined, undefined, [12], undefined]);
  });

  it("keeps the text of earlier streams if a stream is discarded", () => {
    const partial = createPartialOutput();
    const second = { ...start, continuation: 1 };
    const discarded = { type: "attempt-discarded" };
    const events = [start, delta("[1,"), second, delta("2,3"), discarded, delta("4]"), end];
    expect(events.map((event) => partial.take(event))).toEqual([undefined, [1], undefined, [1, 2], undefined, [1, 4], undefined]);
  });

  it("returns growing values that end with the complete value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.integer({ min: 1, max: 7 }), fc.boolean(), (value, size, isWide) => {
        const written = JSON.stringify(value, null, isWide ? 2 : 0);
        const pieces = Array.from({ length: Math.ceil(written.length / size) }, (_, at) =>
          written.slice(at * size, (at + 1) * size),
        );
        const values = valuesOf(pieces);
        expect(values.at(-1)).toEqual(JSON.parse(written));
        const all = values.map((one) => JSON.stringify(one));
        expect(new Set(all).size).toBe(all.length);
        values.slice(1).forEach((one, at) => expect(isPart(values[at], one)).toBe(true));
      }),
      { numRuns: 60 },
    );
  });

  it("returns fewer than 300 values for a long answer", () => {
    const long = JSON.stringify({ items: Array.from({ length: 1_500 }, (_, id) => ({ id, title: `The title of item ${id}` })) });
    const pieces = Array.from({ length: long.length / 20 }, (_, at) => long.slice(at * 20, (at + 1) * 20));
    const values = valuesOf([...pieces, long.slice(pieces.length * 20)]);
    expect(values.at(-1)).toEqual(JSON.parse(long));
    expect(values.length).toBeLessThan(300);
  });
});

function isPart(earlier: unknown, later: unknown): boolean {
  if (typeof earlier === "string" && typeof later === "string") return later.startsWith(earlier);
  if (typeof earlier !== "object" || earlier === null) return Object.is(earlier, later);
  if (typeof later !== "object" || later === null) return false;
  const fields = new Map(Object.entries(later));
  return Object.entries(earlier).every(([key, value]) => fields.has(key) && isPart(value, fields.get(key)));
}

describe("partialOutputs", () => {
  const schema = z.object({ n: z.number(), tags: z.array(z.string()) });
  const output = structuredOutput(schema);
  const middleware = [output];
  const messages = [{ role: "user", content: "Go." }] as const;
  const answer = ['{"n":8,', '"tags":["a"', "]}"].map((said) => text(said));

  it("yields the partial values of the answer, even after tool calls, invalid answers and discarded attempts", async () => {
    const broken = createMockProvider([[text('{"n":1'), fail(new Error("Down."))]]);
    const working = createMockProvider([[text("I will look."), toolCall("look")], [text('{"n":"8"}'), finish("stop")], answer]);
    const stream = streamToolLoop({
      provider: withFallback([broken, working]),
      tools: [tool("look", () => 1)],
      messages,
      middleware,
    });
    const values: DeepPartial<z.infer<typeof schema>>[] = [];
    for await (const value of partialOutputs(stream)) values.push(value);
    expect(values).toEqual([{}, { n: "8" }, { n: 8 }, { n: 8, tags: ["a"] }]);
    expect((await stream.result).output).toEqual({ n: 8, tags: ["a"] });
  });

  it("stops the run if the loop over the values ends early", async () => {
    const stream = streamToolLoop({ provider: createMockProvider([answer]), messages, middleware });
    for await (const _ of partialOutputs(stream)) break;
    expect((await stream.result).reason.kind).toBe("stopped");
  });

  it("yields values of the schema's type, with all fields optional", () => {
    const stream = streamToolLoop({ provider: createMockProvider([answer]), messages, middleware });
    const values = partialOutputs(stream);
    expectTypeOf(values).toEqualTypeOf<
      AsyncGenerator<{ readonly n?: number; readonly tags?: readonly string[] }, void, undefined>
    >();
    expectTypeOf(createPartialOutput(output).take).returns.toEqualTypeOf<
      { readonly n?: number; readonly tags?: readonly string[] } | undefined
    >();
  });
});
