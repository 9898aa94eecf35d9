import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/index.ts";
import { CallAssembly } from "./call-assembly.ts";

/** A fragment, written as `index id name arguments` with a hyphen for each missing field, or as an object in the API format. */
type Fragment = string | { readonly [field: string]: unknown };

function toEntry(fragment: Fragment): { readonly [field: string]: unknown } {
  if (typeof fragment !== "string") return fragment;
  const [, index = "-", id = "-", name = "-", args = ""] = /^(\S+) (\S+) (\S+) ?(.*)$/s.exec(fragment) ?? [];
  const called = { ...(name === "-" ? {} : { name }), arguments: args };
  return {
    ...(index === "-" ? {} : { index: Number(index) }),
    ...(id === "-" ? {} : { id }),
    type: "function",
    function: called,
  };
}

function assemble(fragments: readonly Fragment[], cut = false): readonly ModelChunk[] {
  const out: ModelChunk[] = [];
  const calls = new CallAssembly(out);
  for (const fragment of fragments) if (!calls.add(toEntry(fragment))) return out;
  calls.settle(cut);
  return out;
}

const readyOf = (chunks: readonly ModelChunk[]): readonly string[] =>
  chunks.flatMap((chunk) => {
    if (chunk.type !== "call-ready") return [];
    return [`${chunk.id ?? "-"} ${chunk.name === "" ? "-" : chunk.name} ${chunk.problem ?? JSON.stringify(chunk.args)}`];
  });

describe("openaiChat with tool calls in the stream", () => {
  it.for<[what: string, fragments: readonly Fragment[], calls: readonly string[]]>([
    ["one call from several fragments", ["0 a f", '0 - - {"n"', "0 - - :1}"], ['a f {"n":1}']],
    ["two consecutive calls", ['0 a f {"n":1}', '1 b g {"n":2}'], ['a f {"n":1}', 'b g {"n":2}']],
    [
      "two interleaved calls",
      ["0 a f", "1 b f", '0 - - {"n":', '1 - - {"n":', "0 - - 1}", "1 - - 2}"],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    ["a call without arguments", ["0 a f"], ["a f {}"]],
    ["a call with the arguments {}", ["0 a f {}"], ["a f {}"]],
    ["a call with the arguments null as {}", ["0 a f null"], ["a f {}"]],
    ["a call with incomplete arguments as malformed", ['0 a f {"n":'], ["a f malformed"]],
    ["a call with an argument named __proto__", ['0 a f {"__proto__":{"x":1}}'], ['a f {"__proto__":{"x":1}}']],
    ["calls without an index (Mistral)", ['- a f {"n":1}', '- b f {"n":2}'], ['a f {"n":1}', 'b f {"n":2}']],
    [
      "a call without an index whose later fragments contain only arguments",
      ["- a f {", '- - - "n":', "- - - 1}"],
      ['a f {"n":1}'],
    ],
    ["calls without an id", ['0 - f {"n":', "0 - - 1}", "1 - g {}"], ['- f {"n":1}', "- g {}"]],
    [
      "calls without an id at the same index",
      ['0 - f {"n":1}', '0 - f {"n":2}', "0 - g {}"],
      ['- f {"n":1}', '- f {"n":2}', "- g {}"],
    ],
    ["calls without an index or an id", ['- - f {"n":1}', '- - f {"n":2}', "- - g {}"], ['- f {"n":1}', '- f {"n":2}', "- g {}"]],
    ["calls without an index, an id or arguments", ["- - f", "- - g"], ["- f {}", "- g {}"]],
    ["a call without a name", ['0 a - {"n":1}'], ['a - {"n":1}']],
    [
      "a call with an empty id in later fragments (Alibaba)",
      ["0 a f", { index: 0, id: "", function: { arguments: '{"n":1}' } }, { index: 0, id: "", function: { arguments: "" } }],
      ['a f {"n":1}'],
    ],
    [
      "a call with null for missing fields",
      [
        { index: 0, id: "a", function: { name: "f", arguments: null } },
        { index: null, id: null, function: { name: null, arguments: '{"n":1}' } },
      ],
      ['a f {"n":1}'],
    ],
    ["a call whose id arrives after the name", ["0 - f", '0 a - {"n":1}'], ['a f {"n":1}']],
    ["a call whose name arrives after the first arguments", ['0 a - {"n":1', "0 - f }"], ['a f {"n":1}']],
    [
      "a call with a new id at a used index, and a late name",
      ['0 a f {"n":1}', "0 b -", '0 - g {"n":2}'],
      ['a f {"n":1}', 'b g {"n":2}'],
    ],
    [
      "a call without an id, then a call with an id at the same index",
      ['0 - f {"n":1}', '0 b f {"n":2}'],
      ['- f {"n":1}', 'b f {"n":2}'],
    ],
    ["a call with its id in every fragment (vLLM)", ["0 a f", '0 a - {"n":', "0 a - 1}"], ['a f {"n":1}']],
    ["a call with its name in every fragment", ['0 a f {"n":', '0 a f {"m":1}', "0 - f }"], ['a f {"n":{"m":1}}']],
    ["a call whose name is repeated with the arguments", ["0 a f", '0 a f {"n":1}'], ['a f {"n":1}']],
    ["a call whose name arrives in pieces", ["0 a get_", "0 - weather", "0 - - {}"], ["a get_weather {}"]],
    ["one call if the call is sent twice", ['0 a f {"n":1}', '0 a f {"n":1}'], ['a f {"n":1}']],
    [
      "two calls with different ids at the same index (Ollama)",
      ['0 a f {"n":1}', '0 b f {"n":2}'],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    [
      "two calls in fragments with different ids at the same index",
      ['0 a f {"n":', "0 - - 1}", '0 b f {"n":', "0 - - 2}"],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    [
      "a call whose later fragments have a different index",
      ['0 a f {"n":1}', '0 b g {"n":', "1 - - 2", "1 - - }"],
      ['a f {"n":1}', 'b g {"n":2}'],
    ],
    ["a call whose later fragment has the known id but a different index", ['0 a f {"n":', "7 a - 1}"], ['a f {"n":1}']],
    ["a call whose later fragment has the known id and name but a different index", ['0 a f {"n":', "7 a f 1}"], ['a f {"n":1}']],
    ["a call from two fragments in one chunk (vLLM)", ["0 a f", '0 - - {"n":1}'], ['a f {"n":1}']],
    ["two calls with the same id", ['0 a f {"n":1}', '1 a g {"n":2}'], ['a f {"n":1}', 'a g {"n":2}']],
    [
      "two calls in fragments with the same id and name",
      ["0 a f", '0 - - {"n":1}', "1 a f", '1 - - {"n":2}'],
      ['a f {"n":1}', 'a f {"n":2}'],
    ],
    [
      "two interleaved calls with the same id",
      ['0 a f {"n":', '1 a g {"n":', "0 a - 1}", "1 a - 2}"],
      ['a f {"n":1}', 'a g {"n":2}'],
    ],
    ["two calls with the same id and index", ['0 a f {"n":1}', '0 a f {"n":2}'], ['a f {"n":1}', 'a f {"n":2}']],
    ["a call with {} before its arguments (gateways to Bedrock)", ["0 a f {}", '0 - - {"n":', "0 - - 1}"], ['a f {"n":1}']],
    ["a call with {} in pieces before its arguments", ["0 a f {", "0 - - }", '0 - - {"n":1}'], ['a f {"n":1}']],
    ["a call with {} before its arguments, and its name in both fragments", ["0 - f {}", '0 - f {"n":1}'], ['- f {"n":1}']],
    ["a call with {} and its arguments in one fragment", ['0 a f {}{"n":1}'], ['a f {"n":1}']],
    [
      "a call whose arguments are an object, not text",
      [{ index: 0, id: "a", function: { name: "f", arguments: { n: 1 } } }],
      ['a f {"n":1}'],
    ],
    ["a call with two argument objects as malformed", ['0 a f {"n":1}', '0 - - {"n":2}'], ["a f malformed"]],
  ])("assembles %s", ([, fragments, calls]) => {
    expect(readyOf(assemble(fragments))).toEqual(calls);
  });

  it.for<[entry: object]>([
    [{}],
    [{ index: 0 }],
    [{ index: 0, id: "", function: { name: "", arguments: "" } }],
    [{ function: null }],
  ])("creates no call for the fragment %j", ([entry]) => {
    const out: ModelChunk[] = [];
    const calls = new CallAssembly(out);
    expect(calls.add({ ...entry })).toBe(true);
    calls.settle(false);
    expect(out).toEqual([]);
    expect(calls.size).toBe(0);
  });

  it("keeps the argument text of a truncated call", () => {
    const chunks = assemble(['0 a f {"n":1}', '1 b g {"n":'], true);
    expect(chunks.filter((chunk) => chunk.type === "call-ready")).toEqual([
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1 }, argsText: '{"n":1}', problem: undefined },
      { type: "call-ready", key: "call-1", id: "b", name: "g", args: {}, argsText: '{"n":', problem: "truncated" },
    ]);
  });

  it("marks the last call of a cut-off answer as truncated, even with complete arguments", () => {
    expect(readyOf(assemble(['0 a f {"n":1}'], true))).toEqual(["a f truncated"]);
  });

  it("yields call-ready for a call when the next call starts", () => {
    expect(assemble(["0 a f", '0 - - {"n":1}', '1 b g {"n":2}'])).toEqual([
      { type: "call-start", key: "call-0", id: "a", name: "f" },
      { type: "call-args-delta", key: "call-0", text: '{"n":1}' },
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1 }, argsText: '{"n":1}', problem: undefined },
      { type: "call-start", key: "call-1", id: "b", name: "g" },
      { type: "call-args-delta", key: "call-1", text: '{"n":2}' },
      { type: "call-ready", key: "call-1", id: "b", name: "g", args: { n: 2 }, argsText: '{"n":2}', problem: undefined },
    ]);
  });

  it("holds back arguments until the name of the call arrives", () => {
    const chunks = assemble(['0 a - {"n"', "0 - f :1}"]);
    expect(chunks.map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : chunk.type))).toEqual([
      "call-start",
      '{"n":1}',
      "call-ready",
    ]);
  });

  it("delays call-ready for all calls after a call with the arguments {}", () => {
    const types = assemble(["0 a f {}", '1 b g {"n":1}', "2 c h"]).map((chunk) => chunk.type);
    expect(types.slice(0, 4)).toEqual(["call-start", "call-start", "call-args-delta", "call-start"]);
    expect(types.slice(4)).toEqual(["call-args-delta", "call-ready", "call-ready", "call-ready"]);
  });

  it.for<[what: string, fragments: readonly Fragment[]]>([
    ["one call", ["0 a f", '0 - - {"n"', "0 - - :1} "]],
    ["a call with the arguments {}", ["0 a f {", "0 - - }"]],
    ["a call that first sends {}", ["0 a f {}", '0 - - {"n":', "0 - - 1}"]],
    ["a call with {} and its arguments in one fragment", ['0 a f {} {"n":1}']],
    ["a call whose name arrives late", ['0 - - {"n"', "0 - f :1}"]],
  ])("yields deltas that add up to the arguments of %s", ([, fragments]) => {
    const chunks = assemble(fragments);
    const text = chunks.map((chunk) => (chunk.type === "call-args-delta" ? chunk.text : "")).join("");
    expect(text).not.toBe("");
    expect(chunks.find((chunk) => chunk.type === "call-ready")).toMatchObject({ argsText: text });
  });

  it("ignores blank and repeated fragments of a completed call", () => {
    const chunks = assemble(['0 a f {"n":1}', '1 b g {"n":2}', "0 - - \n", '0 a f {"n":1}']);
    expect(readyOf(chunks)).toEqual(['a f {"n":1}', 'b g {"n":2}']);
  });

  it("yields an error if a completed call receives more arguments", () => {
    const chunks = assemble(['0 a f {"n":1}', "1 b g {", '0 - - ,"m":2}']);
    expect(chunks.at(-1)).toMatchObject({ type: "error", error: { code: "server", retryable: true } });
  });

  it("returns a call's extra_content with the call's position", () => {
    const calls = new CallAssembly([]);
    calls.add(toEntry("0 a f {}"));
    calls.add({ ...toEntry("1 b g {"), extra_content: { google: { thought_signature: "s" } } });
    calls.add(toEntry("1 - - }"));
    expect([...calls.extras()]).toEqual([[1, { google: { thought_signature: "s" } }]]);
  });
});
