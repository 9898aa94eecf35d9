import { describe, expect, it } from "vitest";
import { createToolRegistry, type ToolRegistry, mergeRegistries, withFilter, withPrefix } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { outcomesOf, play, tool } from "../loop/play.ts";
import { bare, codeOf, namesOf, one, two } from "./registry-parts.ts";

describe("withPrefix", () => {
  it("shows tools with prefixed names but calls the registry with the original names", async () => {
    const heard: string[] = [];
    const registry: ToolRegistry = {
      ...bare(one),
      executeTool: (name, _, context) => heard.push(name, context.name),
      validate: (name, value) => {
        heard.push(name);
        return { value };
      },
    };
    const { provider, result } = play([[toolCall("web_one"), toolCall("one")], text("Done.")], {
      tools: withPrefix(registry, "web_"),
    });
    expect(outcomesOf(await result).map((line) => line.split(": ")[1])).toEqual(["completed", "unknown-tool"]);
    expect(provider.requests[0]?.tools.map(({ name }) => name)).toEqual(["web_one"]);
    expect(heard).toEqual(["one", "one", "web_one"]);
  });

  it("keeps the traits and schemas of tools", () => {
    const [definition] = withPrefix([tool("one", () => 1, { timeoutMs: 5, sequential: true })], "p-").definitions();
    expect(definition).toEqual({
      name: "p-one",
      description: "one",
      inputSchema: { type: "object" },
      timeoutMs: 5,
      sequential: true,
    });
  });

  it("lets two registries have a tool with the same name", () => {
    expect(namesOf(mergeRegistries(withPrefix([one], "a_"), withPrefix([one], "b_"), [one]))).toEqual(["a_one", "b_one", "one"]);
  });

  it.for<[string, unknown]>([
    ["an empty prefix", ""],
    ["a prefix with a space", "a b"],
    ["a prefix with a dot", "a."],
    ["a number as the prefix", 5],
    ["a prefix of 64 characters", "p".repeat(64)],
  ])("rejects %s", ([, prefix]) => {
    expect(codeOf(() => withPrefix([one], prefix as string))).toMatch(/^invalid-option: Option "prefix"/);
  });

  it("rejects a prefix that makes a name longer than 64 characters", () => {
    expect(namesOf(withPrefix([one], "p".repeat(61)))).toHaveLength(1);
    expect(codeOf(() => withPrefix([one], "p".repeat(62)))).toMatch(/^invalid-tool: Tool "p+on…" has a name of 65 characters/);
  });
});

describe("withFilter", () => {
  it("does not show or call tools outside the filter", async () => {
    const ran: string[] = [];
    const secret = tool("secret", () => ran.push("secret"));
    const tools = withFilter([one, secret], ["one"]);
    const { provider, result } = play([[toolCall("secret"), toolCall("one")], text("Done.")], { tools });
    expect(outcomesOf(await result).map((line) => line.split(": ")[1])).toEqual(["unknown-tool", "completed"]);
    expect(provider.requests[0]?.tools.map(({ name }) => name)).toEqual(["one"]);
    expect(tools.executeTool("secret", {}, undefined as never)).toMatchObject({ success: false });
    expect(tools.validate?.("secret", {})).toHaveProperty("issues");
    expect(ran).toEqual([]);
  });

  it("filters tools that are added or changed later", () => {
    const registry = createToolRegistry([one]);
    const filtered = withFilter(registry, ["one", "late"]);
    registry.register(tool("late", () => 1));
    registry.register(tool("other", () => 1));
    expect(namesOf(filtered)).toEqual(["one", "late"]);
    const quick = withFilter(registry, ({ timeoutMs = 0 }) => timeoutMs < 10);
    expect(namesOf(quick)).toContain("one");
    registry.unregister("one");
    registry.register(tool("one", () => "slow", { timeoutMs: 50 }));
    expect(quick.executeTool("one", {}, undefined as never)).toMatchObject({ success: false });
  });

  it("ignores later changes to the list of names", () => {
    const names = new Set(["one"]);
    const registry = createToolRegistry([one]);
    const filtered = withFilter(registry, names);
    names.add("two");
    registry.register(two);
    expect(namesOf(filtered)).toEqual(["one"]);
    expect(namesOf(withFilter([one, two], []))).toEqual([]);
  });

  it("calls the filter function once per tool until the definitions change", () => {
    let asked = 0;
    const filtered = withFilter([one, two], () => (asked += 1) > 0);
    for (let count = 0; count < 5; count++) filtered.definitions();
    expect(asked).toBe(2);
  });

  it.for<[string, unknown]>([
    ["a single name in place of a list", "one"],
    ["undefined as the filter", undefined],
    ["a list of numbers", [1]],
  ])("rejects %s", ([, filter]) => {
    expect(codeOf(() => withFilter([one], filter as never))).toMatch(
      /^invalid-option: Option "filter" is .*, but must be an array or a set of tool names/,
    );
  });

  it("rejects a filter function that returns a promise", () => {
    const registry = createToolRegistry([]);
    const filtered = withFilter(registry, (async () => false) as never);
    registry.register(one);
    const refused = /^invalid-option: Option "filter" is .*, but must be a function that returns true or false\./;
    expect(codeOf(() => withFilter([one], (async () => false) as never))).toMatch(refused);
    expect(codeOf(() => filtered.definitions())).toMatch(refused);
    expect(codeOf(() => filtered.executeTool("one", {}, undefined as never))).toMatch(refused);
  });

  it("can be applied before or after withPrefix", () => {
    expect(namesOf(withPrefix(withFilter([one, two], ["two"]), "p_"))).toEqual(["p_two"]);
    expect(namesOf(withFilter(withPrefix([one, two], "p_"), ["p_one"]))).toEqual(["p_one"]);
  });
});

it("withPrefix and mergeRegistries: 20 nested registries call the source's definitions() once", () => {
  let asked = 0;
  const registry: ToolRegistry = {
    ...bare(one),
    definitions: () => {
      asked += 1;
      return [...bare(one).definitions()];
    },
  };
  let view: ToolRegistry = registry;
  for (let depth = 0; depth < 20; depth++) view = withPrefix(mergeRegistries(view), "p");
  asked = 0;
  expect(namesOf(view)).toEqual([`${"p".repeat(20)}one`]);
  expect(asked).toBe(1);
});
