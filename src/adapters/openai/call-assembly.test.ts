// How fragments become calls, for each way in which servers are known to name them.

import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../../spi.ts";
import { createCallAssembly } from "./call-assembly.ts";

type Entry = { readonly index?: number | null; readonly id?: string | null; readonly name?: string; readonly args?: unknown; readonly extra_content?: unknown };

const entryOf = ({ name, args, ...entry }: Entry): { readonly [field: string]: unknown } => ({
  ...entry,
  type: "function",
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
});

/** Feeds fragments and settles. */
function assemble(entries: readonly Entry[], cut = false): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const calls = createCallAssembly(out);
  for (const entry of entries) if (!calls.add(entryOf(entry))) return out;
  calls.settle(cut);
  return out;
}

const readyOf = (chunks: readonly ModelChunk[]): readonly unknown[] =>
  chunks.flatMap((chunk) => {
    if (chunk.type !== "call-ready") return [];
    const { id, name, args, problem } = chunk;
    return [problem === undefined ? [id, name, args] : [id, name, problem]];
  });

describe("the assembly of calls", () => {
  it.for<[what: string, entries: readonly Entry[], calls: readonly unknown[]]>([
    [
      "one call in fragments",
      [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, args: '{"n"' }, { index: 0, args: ":1}" }],
      [["a", "f", { n: 1 }]],
    ],
    [
      "two calls after each other",
      [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 1, id: "b", name: "g", args: '{"n":2}' }],
      [["a", "f", { n: 1 }], ["b", "g", { n: 2 }]],
    ],
    [
      "two calls whose fragments interleave",
      [{ index: 0, id: "a", name: "f", args: "" }, { index: 1, id: "b", name: "f", args: "" }, { index: 0, args: '{"n":' }, { index: 1, args: '{"n":' }, { index: 0, args: "1}" }, { index: 1, args: "2}" }],
      [["a", "f", { n: 1 }], ["b", "f", { n: 2 }]],
    ],
    ["a missing index (Mistral)", [{ id: "a", name: "f", args: '{"n":1}' }, { id: "b", name: "f", args: '{"n":2}' }], [["a", "f", { n: 1 }], ["b", "f", { n: 2 }]]],
    ["a missing index and later fragments without anything", [{ id: "a", name: "f", args: "{" }, { args: '"n":' }, { args: "1}" }], [["a", "f", { n: 1 }]]],
    ["a missing id", [{ index: 0, name: "f", args: '{"n":' }, { index: 0, args: "1}" }, { index: 1, name: "g", args: "{}" }], [[undefined, "f", { n: 1 }], [undefined, "g", {}]]],
    ["an empty id in later fragments (Alibaba)", [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, id: "", args: '{"n":1' }, { index: 0, id: "", args: "}" }, { index: 0, id: "", args: "" }], [["a", "f", { n: 1 }]]],
    ["null in place of everything", [{ index: 0, id: "a", name: "f", args: null }, { index: null, id: null, args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["one index for two ids (Ollama)", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, id: "b", name: "f", args: '{"n":2}' }], [["a", "f", { n: 1 }], ["b", "f", { n: 2 }]]],
    [
      "one index for two ids, in fragments",
      [{ index: 0, id: "a", name: "f", args: '{"n":' }, { index: 0, args: "1}" }, { index: 0, id: "b", name: "f", args: '{"n":' }, { index: 0, args: "2}" }],
      [["a", "f", { n: 1 }], ["b", "f", { n: 2 }]],
    ],
    [
      "a second call whose head has index 0 and whose tail has index 1 (DeepSeek behind a gateway)",
      [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, id: "b", name: "g", args: '{"n":' }, { index: 1, args: "2" }, { index: 1, args: "}" }],
      [["a", "f", { n: 1 }], ["b", "g", { n: 2 }]],
    ],
    ["a known id under another index, with its name", [{ index: 0, id: "a", name: "f", args: '{"n":' }, { index: 7, id: "a", name: "f", args: "1}" }], [["a", "f", { n: 1 }]]],
    ["a known id under another index", [{ index: 0, id: "a", name: "f", args: '{"n":' }, { index: 7, id: "a", args: "1}" }], [["a", "f", { n: 1 }]]],
    ["the id in every fragment (vLLM)", [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, id: "a", args: '{"n":' }, { index: 0, id: "a", args: "1}" }], [["a", "f", { n: 1 }]]],
    ["the full name in every fragment", [{ index: 0, id: "a", name: "f", args: '{"n":' }, { index: 0, id: "a", name: "f", args: '{"m":1}' }, { index: 0, name: "f", args: "}" }], [["a", "f", { n: { m: 1 } }]]],
    ["the full name before the arguments and with them", [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, id: "a", name: "f", args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["a name in pieces", [{ index: 0, id: "a", name: "get_" }, { index: 0, name: "weather" }, { index: 0, args: "{}" }], [["a", "get_weather", {}]]],
    ["an id that comes after the name", [{ index: 0, name: "f" }, { index: 0, id: "a", args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["a new id under a taken index, its name after it", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, id: "b" }, { index: 0, name: "g", args: '{"n":2}' }], [["a", "f", { n: 1 }], ["b", "g", { n: 2 }]]],
    ["a call without an id and one with an id under the same index", [{ index: 0, name: "f", args: '{"n":1}' }, { index: 0, id: "b", name: "f", args: '{"n":2}' }], [[undefined, "f", { n: 1 }], ["b", "f", { n: 2 }]]],
    ["a name that comes after the arguments", [{ index: 0, id: "a", args: '{"n":1' }, { index: 0, name: "f", args: "}" }], [["a", "f", { n: 1 }]]],
    ["two fragments of one call in one chunk (vLLM with speculative decoding)", [{ index: 0, id: "a", name: "f" }, { index: 0, args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["no index and no id", [{ name: "f", args: '{"n":1}' }, { name: "f", args: '{"n":2}' }, { name: "g", args: "{}" }], [[undefined, "f", { n: 1 }], [undefined, "f", { n: 2 }], [undefined, "g", {}]]],
    ["no index and no id and no arguments", [{ name: "f" }, { name: "g" }], [[undefined, "f", {}], [undefined, "g", {}]]],
    ["one index and no id", [{ index: 0, name: "f", args: '{"n":1}' }, { index: 0, name: "f", args: '{"n":2}' }, { index: 0, name: "g", args: "{}" }], [[undefined, "f", { n: 1 }], [undefined, "f", { n: 2 }], [undefined, "g", {}]]],
    ["two calls under one id", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 1, id: "a", name: "g", args: '{"n":2}' }], [["a", "f", { n: 1 }], ["a", "g", { n: 2 }]]],
    [
      "two calls of one tool under one id, in fragments",
      [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, args: '{"n":1}' }, { index: 1, id: "a", name: "f", args: "" }, { index: 1, args: '{"n":2}' }],
      [["a", "f", { n: 1 }], ["a", "f", { n: 2 }]],
    ],
    [
      "two calls under one id whose fragments interleave",
      [{ index: 0, id: "a", name: "f", args: '{"n":' }, { index: 1, id: "a", name: "g", args: '{"n":' }, { index: 0, id: "a", args: "1}" }, { index: 1, id: "a", args: "2}" }],
      [["a", "f", { n: 1 }], ["a", "g", { n: 2 }]],
    ],
    ["two calls under one id and one index", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, id: "a", name: "f", args: '{"n":2}' }], [["a", "f", { n: 1 }], ["a", "f", { n: 2 }]]],
    ["a call that is sent twice", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, id: "a", name: "f", args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["a prefix {} (gateways to Bedrock)", [{ index: 0, id: "a", name: "f", args: "{}" }, { index: 0, args: '{"n":' }, { index: 0, args: "1}" }], [["a", "f", { n: 1 }]]],
    ["a prefix {} in pieces", [{ index: 0, id: "a", name: "f", args: "{" }, { index: 0, args: "}" }, { index: 0, args: '{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["a prefix {} with the name in every fragment", [{ index: 0, name: "f", args: "{}" }, { index: 0, name: "f", args: '{"n":1}' }], [[undefined, "f", { n: 1 }]]],
    ["a prefix {} within one fragment", [{ index: 0, id: "a", name: "f", args: '{}{"n":1}' }], [["a", "f", { n: 1 }]]],
    ["empty arguments", [{ index: 0, id: "a", name: "f", args: "" }], [["a", "f", {}]]],
    ["arguments that are {}", [{ index: 0, id: "a", name: "f", args: "{}" }], [["a", "f", {}]]],
    ["arguments that are an object, not text", [{ index: 0, id: "a", name: "f", args: { n: 1 } }], [["a", "f", { n: 1 }]]],
    ["arguments that are null", [{ index: 0, id: "a", name: "f", args: "null" }], [["a", "f", null]]],
    ["malformed arguments", [{ index: 0, id: "a", name: "f", args: '{"n":' }], [["a", "f", "malformed"]]],
    ["two objects without any sign of a second call", [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 0, args: '{"n":2}' }], [["a", "f", "malformed"]]],
    ["a call without a name", [{ index: 0, id: "a", args: '{"n":1}' }], [["a", "", { n: 1 }]]],
    ["the key __proto__", [{ index: 0, id: "a", name: "f", args: '{"__proto__":{"x":1}}' }], [["a", "f", JSON.parse('{"__proto__":{"x":1}}')]]],
  ])("reads %s", ([, entries, calls]) => {
    expect(readyOf(assemble(entries))).toEqual(calls);
  });

  it.for<[entry: object]>([[{}], [{ index: 0 }], [{ index: 0, id: "", function: { name: "", arguments: "" } }], [{ function: null }]])("makes no call of %j", ([entry]) => {
    const out: ModelChunk[] = [];
    const calls = createCallAssembly(out);
    expect(calls.add({ ...entry })).toBe(true);
    calls.settle(false);
    expect(out).toEqual([]);
    expect(calls.size).toBe(0);
  });

  it("marks what is not ready as truncated when the model was cut, and keeps its text", () => {
    const chunks = assemble([{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 1, id: "b", name: "g", args: '{"n":' }], true);
    expect(chunks.filter((chunk) => chunk.type === "call-ready")).toEqual([
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1 }, argsText: '{"n":1}', problem: undefined },
      { type: "call-ready", key: "call-1", id: "b", name: "g", args: {}, argsText: '{"n":', problem: "truncated" },
    ]);
  });

  it("does not trust the last call of a cut reply although its arguments are whole", () => {
    expect(readyOf(assemble([{ index: 0, id: "a", name: "f", args: '{"n":1}' }], true))).toEqual([["a", "f", "truncated"]]);
  });

  it("tells of a call as soon as it has a name, then of its arguments, and is ready when the next one begins", () => {
    const entries = [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, args: '{"n":1}' }, { index: 1, id: "b", name: "g", args: '{"n":2}' }];
    expect(assemble(entries)).toEqual([
      { type: "call-start", key: "call-0", id: "a", name: "f" },
      { type: "call-args-delta", key: "call-0", text: '{"n":1}' },
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1 }, argsText: '{"n":1}', problem: undefined },
      { type: "call-start", key: "call-1", id: "b", name: "g" },
      { type: "call-args-delta", key: "call-1", text: '{"n":2}' },
      { type: "call-ready", key: "call-1", id: "b", name: "g", args: { n: 2 }, argsText: '{"n":2}', problem: undefined },
    ]);
  });

  it("holds back the arguments of a call whose name has not come", () => {
    const types = assemble([{ index: 0, id: "a", args: '{"n"' }, { index: 0, name: "f", args: ":1}" }]).map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : chunk.type));
    expect(types).toEqual(["call-start", '{"n":1}', "call-ready"]);
  });

  it("waits with a {} that may be a prefix, and with every call after one that is not complete", () => {
    const chunks = assemble([{ index: 0, id: "a", name: "f", args: "{}" }, { index: 1, id: "b", name: "g", args: '{"n":1}' }, { index: 2, id: "c", name: "h" }]);
    expect(chunks.map((chunk) => chunk.type)).toEqual([
      ...["call-start", "call-start", "call-args-delta", "call-start"],
      ...["call-args-delta", "call-ready", "call-ready", "call-ready"],
    ]);
  });

  it.for<[what: string, entries: readonly Entry[]]>([
    ["one call", [{ index: 0, id: "a", name: "f", args: "" }, { index: 0, args: '{"n"' }, { index: 0, args: ":1} " }]],
    ["an empty object", [{ index: 0, id: "a", name: "f", args: "{" }, { index: 0, args: "}" }]],
    ["a prefix", [{ index: 0, id: "a", name: "f", args: "{}" }, { index: 0, args: '{"n":' }, { index: 0, args: "1}" }]],
    ["a prefix within one fragment", [{ index: 0, id: "a", name: "f", args: '{} {"n":1}' }]],
    ["a late name", [{ index: 0, args: '{"n"' }, { index: 0, name: "f", args: ":1}" }]],
  ])("sends deltas that add up to the arguments of %s", ([, entries]) => {
    const chunks = assemble(entries);
    const text = chunks.map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : "")).join("");
    expect(chunks.find((chunk) => chunk.type === "call-ready")).toMatchObject({ argsText: text });
  });

  it("passes over blank and repeated fragments of a call that is ready", () => {
    const first = { index: 0, id: "a", name: "f", args: '{"n":1}' };
    const entries = [first, { index: 1, id: "b", name: "g", args: '{"n":2}' }, { index: 0, args: "\n" }, first];
    expect(readyOf(assemble(entries))).toEqual([["a", "f", { n: 1 }], ["b", "g", { n: 2 }]]);
  });

  it("ends with an error when arguments come for a call that is ready", () => {
    const entries = [{ index: 0, id: "a", name: "f", args: '{"n":1}' }, { index: 1, id: "b", name: "g", args: "{" }, { index: 0, args: ',"m":2}' }];
    expect(assemble(entries).at(-1)).toMatchObject({ type: "error", error: { code: "server", retryable: true } });
  });

  it("keeps what the server wants back, by the position of the call", () => {
    const calls = createCallAssembly([]);
    calls.add(entryOf({ index: 0, id: "a", name: "f", args: "{}" }));
    calls.add(entryOf({ index: 1, id: "b", name: "g", args: "{", extra_content: { google: { thought_signature: "s" } } }));
    calls.add(entryOf({ index: 1, args: "}" }));
    expect([...calls.extras()]).toEqual([[1, { google: { thought_signature: "s" } }]]);
  });
});
