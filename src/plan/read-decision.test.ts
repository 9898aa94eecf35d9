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
    ["keeps equal commands", { next_action: "execute", execution_commands: [add, add] }, ["execute", add, add]],
    ["accepts tool_commands as the commands", { next_action: "execute", tool_commands: [add] }, ["execute", add]],
    ["accepts a single tool_command", { next_action: "execute", tool_command: add }, ["execute", add]],
    [
      "prefers execution_commands to tool_commands",
      { execution_commands: [add], tool_commands: [look], tool_command: look },
      ["execute", add],
    ],
    [
      "uses the first list that is not empty",
      { execution_commands: [], tool_commands: [look], tool_command: add },
      ["execute", look],
    ],
    ["uses a single command last", { execution_commands: [], tool_commands: [], tool_command: add }, ["execute", add]],
    ["reads null lists as empty lists", { execution_commands: null, tool_commands: null, tool_command: add }, ["execute", add]],
    ["trims tool names", { execution_commands: [{ tool_name: " look\n" }] }, ["execute", look]],
    [
      "trims purpose, todo_suggestion and next",
      { execution_commands: [{ ...add, purpose: " sum ", todo_suggestion: "tell\n", next: "\tlook" }] },
      ["execute", add],
    ],
    [
      "fills in missing fields",
      { execution_commands: [{ tool_name: "look", purpose: null, tool_kwargs: null, todo_suggestion: null }] },
      ["execute", look],
    ],
    ["parses arguments that are a JSON string", { tool_command: { ...add, tool_kwargs: '{"a":1}' } }, ["execute", add]],
    ["reads a blank string as no arguments", { tool_command: { tool_name: "look", tool_kwargs: " " } }, ["execute", look]],
    ["trims the action and ignores its case", { next_action: " Execute\n", tool_command: add }, ["execute", add]],
    ["infers a missing action from commands", { execution_commands: [add] }, ["execute", add]],
    ["infers a missing action from no commands", { execution_commands: [] }, ["response"]],
    ["treats an unknown action with commands as execute", { next_action: "go", execution_commands: [add] }, ["execute", add]],
    ["treats an unknown action without commands as response", { next_action: "done" }, ["response"]],
    ["infers an action that is not a string", { next_action: 1, execution_commands: [add] }, ["execute", add]],
    ["runs nothing if the action is response", { next_action: "response", execution_commands: [add] }, ["response"]],
    ["runs nothing if the action is RESPONSE", { next_action: " RESPONSE ", tool_command: add }, ["response"]],
    ["reads an execute action without commands as response", { next_action: "execute", execution_commands: [] }, ["response"]],
    ["ignores empty commands", { next_action: "execute", execution_commands: [{}, { tool_name: null }] }, ["response"]],
    [
      "ignores invalid commands if the action is response",
      { next_action: "response", execution_commands: [{ name: "add" }] },
      ["response"],
    ],
    ["ignores commands without a name", { execution_commands: [{ tool_name: " " }, add] }, ["execute", add]],
    ["runs nothing with use_tool false", { next_action: "execute", use_tool: false, execution_commands: [add] }, ["response"]],
    ['runs nothing with use_tool "No"', { next_action: "execute", use_tool: "No ", execution_commands: [add] }, ["response"]],
    ['runs nothing with use_tool "FALSE"', { use_tool: "FALSE", execution_commands: [add] }, ["response"]],
    ["runs nothing with use_tool 0", { use_tool: 0, execution_commands: [add] }, ["response"]],
    ["runs commands with use_tool true", { use_tool: true, execution_commands: [add] }, ["execute", add]],
    ["runs commands with use_tool null", { use_tool: null, execution_commands: [add] }, ["execute", add]],
    ["ignores other fields", { thought: "hm", execution_commands: [{ ...add, mood: "good" }] }, ["execute", add]],
    ["reads an empty object as response", {}, ["response"]],
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
    ["a string", "execute", /^The plan must be an object, but is "execute"\.$/],
    ["an array", [add], /^The plan must be an object, but is an array of 1 item\.$/],
    ["undefined", undefined, /^The plan must be an object, but is undefined\.$/],
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
      "an object without fields of a plan",
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
