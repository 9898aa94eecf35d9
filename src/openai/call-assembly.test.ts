import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../core/provider-kit.ts";
import { createCallAssembly } from "./call-assembly.ts";

/** A fragment: `index id name arguments` with a hyphen for each missing field, or an object in the API format. */
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
  const calls = createCallAssembly(out);
  for (const fragment of fragments) if (!calls.add(toEntry(fragment))) return out;
  calls.settle(cut);
  return out;
}

const readyOf = (chunks: readonly ModelChunk[]): readonly string[] =>
  chunks.flatMap((chunk) => {
    if (chunk.type !== "call-ready") return [];
    return [`${chunk.id ?? "-"} ${chunk.name === "" ? "-" : chunk.name} ${chunk.problem ?? JSON.stringify(chunk.args)}`];
  });

describe("createCallAssembly", () => {
  it.for<[what: string, fragments: readonly Fragment[], calls: readonly string[]]>([
    ["one call in fragments", ["0 a f", '0 - - {"n"', "0 - - :1}"], ['a f {"n":1}']],
    ["two calls after each other", ['0 a f {"n":1}', '1 b g {"n":2}'], ['a f {"n":1}', 'b g {"n":2}']],
    [
      "two interleaved calls",
      ["0 a f", "1 b f", '0 - - {"n":', '1 - - {"n":', "0 - - 1}", "1 - - 2}"],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    ["a call without arguments", ["0 a f"], ["a f {}"]],
    ["the arguments {}", ["0 a f {}"], ["a f {}"]],
    ["the arguments null", ["0 a f null"], ["a f {}"]],
    ["malformed arguments", ['0 a f {"n":'], ["a f malformed"]],
    ["the key __proto__", ['0 a f {"__proto__":{"x":1}}'], ['a f {"__proto__":{"x":1}}']],
    ["no index (Mistral)", ['- a f {"n":1}', '- b f {"n":2}'], ['a f {"n":1}', 'b f {"n":2}']],
    ["no index, and nothing but arguments later", ["- a f {", '- - - "n":', "- - - 1}"], ['a f {"n":1}']],
    ["no id", ['0 - f {"n":', "0 - - 1}", "1 - g {}"], ['- f {"n":1}', "- g {}"]],
    ["no id, one index", ['0 - f {"n":1}', '0 - f {"n":2}', "0 - g {}"], ['- f {"n":1}', '- f {"n":2}', "- g {}"]],
    ["no index and no id", ['- - f {"n":1}', '- - f {"n":2}', "- - g {}"], ['- f {"n":1}', '- f {"n":2}', "- g {}"]],
    ["no index, no id and no arguments", ["- - f", "- - g"], ["- f {}", "- g {}"]],
    ["no name", ['0 a - {"n":1}'], ['a - {"n":1}']],
    [
      "empty ids in later fragments (Alibaba)",
      ["0 a f", { index: 0, id: "", function: { arguments: '{"n":1}' } }, { index: 0, id: "", function: { arguments: "" } }],
      ['a f {"n":1}'],
    ],
    [
      "null for missing fields",
      [
        { index: 0, id: "a", function: { name: "f", arguments: null } },
        { index: null, id: null, function: { name: null, arguments: '{"n":1}' } },
      ],
      ['a f {"n":1}'],
    ],
    ["an id after the name", ["0 - f", '0 a - {"n":1}'], ['a f {"n":1}']],
    ["a name after the arguments", ['0 a - {"n":1', "0 - f }"], ['a f {"n":1}']],
    [
      "a new id under a used index, with a later name",
      ['0 a f {"n":1}', "0 b -", '0 - g {"n":2}'],
      ['a f {"n":1}', 'b g {"n":2}'],
    ],
    ["a call without an id, then a call with an id", ['0 - f {"n":1}', '0 b f {"n":2}'], ['- f {"n":1}', 'b f {"n":2}']],
    ["the id in every fragment (vLLM)", ["0 a f", '0 a - {"n":', "0 a - 1}"], ['a f {"n":1}']],
    ["the name in every fragment", ['0 a f {"n":', '0 a f {"m":1}', "0 - f }"], ['a f {"n":{"m":1}}']],
    ["the name before the arguments and with them", ["0 a f", '0 a f {"n":1}'], ['a f {"n":1}']],
    ["a name in pieces", ["0 a get_", "0 - weather", "0 - - {}"], ["a get_weather {}"]],
    ["a call that is sent twice", ['0 a f {"n":1}', '0 a f {"n":1}'], ['a f {"n":1}']],
    ["one index for two ids (Ollama)", ['0 a f {"n":1}', '0 b f {"n":2}'], ['a f {"n":1}', 'b f {"n":2}']],
    [
      "one index for two ids, in fragments",
      ['0 a f {"n":', "0 - - 1}", '0 b f {"n":', "0 - - 2}"],
      ['a f {"n":1}', 'b f {"n":2}'],
    ],
    [
      "the rest of a call at another index",
      ['0 a f {"n":1}', '0 b g {"n":', "1 - - 2", "1 - - }"],
      ['a f {"n":1}', 'b g {"n":2}'],
    ],
    ["a known id at another index", ['0 a f {"n":', "7 a - 1}"], ['a f {"n":1}']],
    ["a known id at another index, with its name", ['0 a f {"n":', "7 a f 1}"], ['a f {"n":1}']],
    ["two fragments in one chunk (vLLM)", ["0 a f", '0 - - {"n":1}'], ['a f {"n":1}']],
    ["one id for two calls", ['0 a f {"n":1}', '1 a g {"n":2}'], ['a f {"n":1}', 'a g {"n":2}']],
    ["one id and one name, in fragments", ["0 a f", '0 - - {"n":1}', "1 a f", '1 - - {"n":2}'], ['a f {"n":1}', 'a f {"n":2}']],
    ["one id, interleaved", ['0 a f {"n":', '1 a g {"n":', "0 a - 1}", "1 a - 2}"], ['a f {"n":1}', 'a g {"n":2}']],
    ["one id and one index", ['0 a f {"n":1}', '0 a f {"n":2}'], ['a f {"n":1}', 'a f {"n":2}']],
    ["a prefix {} (gateways to Bedrock)", ["0 a f {}", '0 - - {"n":', "0 - - 1}"], ['a f {"n":1}']],
    ["a prefix {} in pieces", ["0 a f {", "0 - - }", '0 - - {"n":1}'], ['a f {"n":1}']],
    ["a prefix {} with the name again", ["0 - f {}", '0 - f {"n":1}'], ['- f {"n":1}']],
    ["a prefix {} in one fragment", ['0 a f {}{"n":1}'], ['a f {"n":1}']],
    ["arguments as an object", [{ index: 0, id: "a", function: { name: "f", arguments: { n: 1 } } }], ['a f {"n":1}']],
    ["two objects of one call as malformed", ['0 a f {"n":1}', '0 - - {"n":2}'], ["a f malformed"]],
  ])("reads %s", ([, fragments, calls]) => {
    expect(readyOf(assemble(fragments))).toEqual(calls);
  });

  it.for<[entry: object]>([
    [{}],
    [{ index: 0 }],
    [{ index: 0, id: "", function: { name: "", arguments: "" } }],
    [{ function: null }],
  ])("creates no call for %j", ([entry]) => {
    const out: ModelChunk[] = [];
    const calls = createCallAssembly(out);
    expect(calls.add({ ...entry })).toBe(true);
    calls.settle(false);
    expect(out).toEqual([]);
    expect(calls.size).toBe(0);
  });

  it("marks an unfinished call of a cut-off answer as truncated, with its text", () => {
    const chunks = assemble(['0 a f {"n":1}', '1 b g {"n":'], true);
    expect(chunks.filter((chunk) => chunk.type === "call-ready")).toEqual([
      { type: "call-ready", key: "call-0", id: "a", name: "f", args: { n: 1 }, argsText: '{"n":1}', problem: undefined },
      { type: "call-ready", key: "call-1", id: "b", name: "g", args: {}, argsText: '{"n":', problem: "truncated" },
    ]);
  });

  it("marks the last call of a cut-off answer as truncated, even if complete", () => {
    expect(readyOf(assemble(['0 a f {"n":1}'], true))).toEqual(["a f truncated"]);
  });

  it("starts a call when its name arrives, and completes it when the next call starts", () => {
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

  it("delays an initial {} that may be a prefix, and delays later calls with it", () => {
    const types = assemble(["0 a f {}", '1 b g {"n":1}', "2 c h"]).map((chunk) => chunk.type);
    expect(types.slice(0, 4)).toEqual(["call-start", "call-start", "call-args-delta", "call-start"]);
    expect(types.slice(4)).toEqual(["call-args-delta", "call-ready", "call-ready", "call-ready"]);
  });

  it.for<[what: string, fragments: readonly Fragment[]]>([
    ["one call", ["0 a f", '0 - - {"n"', "0 - - :1} "]],
    ["an empty object", ["0 a f {", "0 - - }"]],
    ["a prefix", ["0 a f {}", '0 - - {"n":', "0 - - 1}"]],
    ["a prefix in one fragment", ['0 a f {} {"n":1}']],
    ["a late name", ['0 - - {"n"', "0 - f :1}"]],
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

  it("yields an error if a completed call gets more arguments", () => {
    const chunks = assemble(['0 a f {"n":1}', "1 b g {", '0 - - ,"m":2}']);
    expect(chunks.at(-1)).toMatchObject({ type: "error", error: { code: "server", retryable: true } });
  });

  it("stores extra_content under the position of the call", () => {
    const calls = createCallAssembly([]);
    calls.add(toEntry("0 a f {}"));
    calls.add({ ...toEntry("1 b g {"), extra_content: { google: { thought_signature: "s" } } });
    calls.add(toEntry("1 - - }"));
    expect([...calls.extras()]).toEqual([[1, { google: { thought_signature: "s" } }]]);
  });
});
