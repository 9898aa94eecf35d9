import { describe, expect, it } from "vitest";
import { readDecision } from "./read-decision.ts";

const add = { purpose: "sum", tool_name: "add", tool_kwargs: { a: 1 }, todo_suggestion: "tell", next: "look" };
const look = { purpose: "", tool_name: "look", tool_kwargs: {}, todo_suggestion: "", next: "" };

function read(value: unknown): unknown {
  const found = readDecision(value);
  return found.kind === "invalid" ? found.problem : [found.decision.next_action, ...found.decision.execution_commands];
}

describe("readDecision", () => {
  it.for<[rule: string, value: unknown, decision: readonly unknown[]]>([
    ["accepts a valid decision unchanged", { next_action: "execute", execution_commands: [add, look] }, ["execute", add, look]],
    ["keeps both of two identical commands", { next_action: "execute", execution_commands: [add, add] }, ["execute", add, add]],
    ["reads the commands from tool_commands", { next_action: "execute", tool_commands: [add] }, ["execute", add]],
    ["reads a single command from tool_command", { next_action: "execute", tool_command: add }, ["execute", add]],
    [
      "prefers execution_commands to tool_commands",
      { execution_commands: [add], tool_commands: [look], tool_command: look },
      ["execute", add],
    ],
    [
      "uses tool_commands if execution_commands is empty",
      { execution_commands: [], tool_commands: [look], tool_command: add },
      ["execute", look],
    ],
    [
      "uses tool_command only if both lists are empty",
      { execution_commands: [], tool_commands: [], tool_command: add },
      ["execute", add],
    ],
    [
      "reads null as an empty list of commands",
      { execution_commands: null, tool_commands: null, tool_command: add },
      ["execute", add],
    ],
    ["trims tool names", { execution_commands: [{ tool_name: " look\n" }] }, ["execute", look]],
    [
      "trims purpose, todo_suggestion and next",
      { execution_commands: [{ ...add, purpose: " sum ", todo_suggestion: "tell\n", next: "\tlook" }] },
      ["execute", add],
    ],
    [
      "fills in the missing fields of a command",
      { execution_commands: [{ tool_name: "look", purpose: null, tool_kwargs: null, todo_suggestion: null }] },
      ["execute", look],
    ],
    ["parses arguments that are a JSON string", { tool_command: { ...add, tool_kwargs: '{"a":1}' } }, ["execute", add]],
    [
      "reads a blank string in tool_kwargs as no arguments",
      { tool_command: { tool_name: "look", tool_kwargs: " " } },
      ["execute", look],
    ],
    ["trims next_action and ignores its letter case", { next_action: " Execute\n", tool_command: add }, ["execute", add]],
    ['infers "execute" from commands if next_action is missing', { execution_commands: [add] }, ["execute", add]],
    ['infers "response" if next_action and commands are missing', { execution_commands: [] }, ["response"]],
    [
      'treats an unknown next_action with commands as "execute"',
      { next_action: "go", execution_commands: [add] },
      ["execute", add],
    ],
    ['treats an unknown next_action without commands as "response"', { next_action: "done" }, ["response"]],
    [
      'infers "execute" from commands if next_action is not a string',
      { next_action: 1, execution_commands: [add] },
      ["execute", add],
    ],
    ['ignores commands if next_action is "response"', { next_action: "response", execution_commands: [add] }, ["response"]],
    ['ignores commands if next_action is "RESPONSE"', { next_action: " RESPONSE ", tool_command: add }, ["response"]],
    ['reads "execute" without commands as "response"', { next_action: "execute", execution_commands: [] }, ["response"]],
    ["ignores empty commands", { next_action: "execute", execution_commands: [{}, { tool_name: null }] }, ["response"]],
    [
      'ignores invalid commands if next_action is "response"',
      { next_action: "response", execution_commands: [{ name: "add" }] },
      ["response"],
    ],
    ["ignores commands with a blank tool_name", { execution_commands: [{ tool_name: " " }, add] }, ["execute", add]],
    [
      "ignores commands if use_tool is false",
      { next_action: "execute", use_tool: false, execution_commands: [add] },
      ["response"],
    ],
    [
      'ignores commands if use_tool is "No"',
      { next_action: "execute", use_tool: "No ", execution_commands: [add] },
      ["response"],
    ],
    ['ignores commands if use_tool is "FALSE"', { use_tool: "FALSE", execution_commands: [add] }, ["response"]],
    ["ignores commands if use_tool is 0", { use_tool: 0, execution_commands: [add] }, ["response"]],
    ["keeps commands if use_tool is true", { use_tool: true, execution_commands: [add] }, ["execute", add]],
    ["keeps commands if use_tool is null", { use_tool: null, execution_commands: [add] }, ["execute", add]],
    ["ignores unknown fields", { thought: "hm", execution_commands: [{ ...add, mood: "good" }] }, ["execute", add]],
    ['reads an empty object as "response"', {}, ["response"]],
  ])("%s", ([, value, decision]) => {
    expect(read(value)).toEqual(decision);
  });

  it("keeps __proto__ and constructor in arguments as data", () => {
    const tool_kwargs: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    const found = readDecision({ tool_command: { tool_name: "add", tool_kwargs } });
    const [only] = found.kind === "decision" ? found.decision.execution_commands : [];
    expect(JSON.stringify(only?.tool_kwargs)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(Reflect.get(only?.tool_kwargs ?? {}, "admin")).toBeUndefined();
  });

  it.for<[what: string, value: unknown, problem: RegExp]>([
    ["a string", "execute", /^The plan is "execute", but must be an object\.$/],
    ["an array", [add], /^The plan is an array of 1 item, but must be an object\.$/],
    ["undefined", undefined, /^The plan is undefined, but must be an object\.$/],
    ["commands that are not an array", { execution_commands: "add" }, /execution_commands/],
    ["a command that is not an object", { execution_commands: [add, "look"] }, /execution_commands\.1: /],
    ["a tool name that is not a string", { execution_commands: [{ tool_name: 7 }] }, /execution_commands\.0\.tool_name: /],
    [
      "arguments that are an array",
      { tool_command: { ...add, tool_kwargs: [1] } },
      /tool_command\.tool_kwargs: must be an object with arguments\./,
    ],
    [
      "a command without a tool name",
      { execution_commands: [add, { name: "add" }] },
      /execution_commands\.1: must have a "tool_name"\./,
    ],
    [
      "an object without any plan fields",
      { nextAction: "execute" },
      /^The plan must have at least one of these fields: next_action, /,
    ],
    [
      "arguments with a BigInt",
      { tool_command: { ...add, tool_kwargs: { a: 1n } } },
      /must be plain data, but contains a BigInt\./,
    ],
    [
      "many invalid commands and lists the first ones",
      { execution_commands: Array.from({ length: 9 }, () => 7) },
      /^(?:(?!commands\.5).)* And 4 more\.$/,
    ],
    ["arguments that are not JSON", { tool_command: { ...add, tool_kwargs: "{a" } }, /object with arguments/],
  ])("rejects %s", ([, value, problem]) => {
    expect(read(value)).toMatch(problem);
  });
});
