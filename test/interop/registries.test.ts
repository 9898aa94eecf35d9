import { describe, expect, it } from "vitest";
import {
  createToolRegistry,
  defineAgentTool,
  defineTool,
  type Tool,
  type ToolRegistry,
  toolResult,
  mergeRegistries,
  withFilter,
  withPrefix,
} from "turnwright";
import { createMockProvider, registrySuite, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { answersOf, play, tool } from "../loop/play.ts";
import { bare, codeOf, namesOf, one, two } from "./registry-parts.ts";

const strict = defineTool({
  name: "strict",
  description: "",
  inputSchema: z.object({ n: z.number().default(3) }),
  execute: ({ n }) => n,
});

describe.for<[string, (tools: readonly Tool[]) => ToolRegistry]>([
  ["merged from a registry and an array", (tools) => mergeRegistries(createToolRegistry(tools.slice(0, 1)), tools.slice(1))],
  ["filtered by a list of names", (tools) => withFilter([...tools, one], new Set(["echo", "break", "hold"]))],
  ["filtered by a function", (tools) => withFilter([...tools, one], ({ name }) => name !== "one")],
  ["merged from custom registries", (tools) => mergeRegistries(bare(...tools), bare(one))],
  ["whose prefixed names are mapped back", (tools) => unprefixed(withPrefix(tools, "p_"))],
])("a registry %s", ([, make]) => {
  for (const { title, run } of registrySuite({ create: (tools) => ({ registry: make(tools) }) })) it(title, run);
});

/** Removes the prefix of all tool names, because the suite calls its tools by their original names. */
function unprefixed(registry: ToolRegistry): ToolRegistry {
  let source: unknown;
  let definitions: ReturnType<ToolRegistry["definitions"]> = [];
  return {
    definitions() {
      const now = registry.definitions();
      if (now !== source) definitions = now.map((definition) => ({ ...definition, name: definition.name.slice(2) }));
      source = now;
      return definitions;
    },
    executeTool: (name, args, context) => registry.executeTool(`p_${name}`, args, context),
    validate: (name, args) => registry.validate?.(`p_${name}`, args) ?? { value: args },
  };
}

describe("mergeRegistries", () => {
  it("sends each call to its tool's registry", async () => {
    const { result } = play(
      [[toolCall("one"), toolCall("two"), toolCall("strict", {}), toolCall("strict", { n: "x" })], text("Done.")],
      { tools: mergeRegistries([one], bare(two), createToolRegistry([strict])) },
    );
    expect(answersOf(await result).map(({ outcome, result: read }) => [outcome, read])).toMatchObject([
      ["completed", "first"],
      ["completed", "second"],
      ["completed", 3],
      ["invalid-input", { status: "invalid_input" }],
    ]);
  });

  it("marks arguments as unchecked if the tool's registry has no validate method", () => {
    const merged = mergeRegistries([strict], bare(two), [one]);
    expect(["strict", "two", "one"].map((name) => merged.validate?.(name, {}))).toEqual([
      { value: { n: 3 } },
      { value: {}, unchecked: true },
      { value: {}, unchecked: true },
    ]);
    expect(merged.validate?.("gone", {})).toEqual({ issues: [{ message: 'the tool "gone" is not available' }] });
  });

  it("returns the same array of tools until a tool changes", () => {
    const [first, second] = [createToolRegistry([one]), createToolRegistry()];
    const merged = mergeRegistries(first, second);
    const before = merged.definitions();
    expect([merged.definitions() === before, Object.isFrozen(before), namesOf(merged)]).toEqual([true, true, ["one"]]);
    second.register(two);
    expect(namesOf(merged)).toEqual(["one", "two"]);
    first.unregister("one");
    expect([namesOf(merged), before.length]).toEqual([["two"], 1]);
    expect(merged.executeTool("one", {}, undefined as never)).toEqual(
      toolResult({ success: false, error: 'The tool "one" is not available.' }),
    );
  });

  it("calls a tool in the registry to which the tool has moved", () => {
    const [first, second] = [createToolRegistry([one]), createToolRegistry()];
    const merged = mergeRegistries(first, second);
    first.unregister("one");
    second.register(tool("one", () => "moved"));
    expect(merged.executeTool("one", {}, undefined as never)).toBe("moved");
  });

  it('throws "duplicate-tool" immediately if two tools have the same name', () => {
    expect(codeOf(() => mergeRegistries([one], [two], bare(one)))).toMatch(/^duplicate-tool: There are two tools named "one"/);
  });

  it('throws "duplicate-tool" until the tool with the repeated name is removed', () => {
    const [first, second] = [createToolRegistry([one]), createToolRegistry()];
    const merged = mergeRegistries(first, second);
    second.register(one);
    expect(codeOf(() => merged.definitions())).toMatch(/^duplicate-tool/);
    expect(codeOf(() => merged.executeTool("one", {}, undefined as never))).toMatch(/^duplicate-tool/);
    first.unregister("one");
    expect(namesOf(merged)).toEqual(["one"]);
  });

  it('ends a run with the reason "hook-failed" if a second tool with the same name appears', async () => {
    const second = createToolRegistry();
    const register = tool("register", () => {
      second.register(one);
      return "registered";
    });
    const { provider, result } = play([toolCall("register"), text("Done.")], { tools: mergeRegistries([one, register], second) });
    expect(await result).toMatchObject({
      status: "error",
      reason: { kind: "hook-failed", hook: "tools.definitions", error: { code: "duplicate-tool" } },
    });
    expect(provider.requests.length).toBe(1);
  });

  it("runs agent tools as nested runs", async () => {
    const agent = defineAgentTool({
      name: "research",
      description: "",
      inputSchema: z.object({}),
      prepare: () => ({ messages: [{ role: "user", content: "?" }], provider: createMockProvider([text("Found.")]) }),
    });
    const merged = mergeRegistries([one], withPrefix([agent], "my_"));
    expect(merged.definitions().map(({ name, durable }) => [name, durable])).toEqual([
      ["one", undefined],
      ["my_research", true],
    ]);
    const { recording, result } = play([toolCall("my_research"), text("Done.")], { tools: merged });
    expect(answersOf(await result)[0]).toMatchObject({ outcome: "completed", result: "Found." });
    expect(recording.of("run-start").length).toBe(2);
  });

  it("accepts an empty list, and registries that are already merged", () => {
    expect(namesOf(mergeRegistries())).toEqual([]);
    expect(namesOf(mergeRegistries(mergeRegistries([one]), [two]))).toEqual(["one", "two"]);
  });

  it.for<[string, unknown]>([
    ["undefined", undefined],
    ["a single tool", one],
    ["an incomplete registry", { definitions: () => [] }],
  ])("rejects %s as a source", ([, source]) => {
    expect(codeOf(() => mergeRegistries([two], source as never))).toMatch(
      /^invalid-option: Option "mergeRegistries\[1\]" is .*, but must be an array of tools or a registry/,
    );
  });
});
