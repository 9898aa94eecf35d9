import { describe, expect, it } from "vitest";
import { readDecision } from "./read-decision.ts";

const add = { purpose: "sum", tool_name: "add", tool_kwargs: { a: 1 }, todo_suggestion: "tell", next: "look" };
const look = { purpose: "", tool_name: "look", tool_kwargs: {}, todo_suggestion: "", next: "" };

/** Returns the action and the commands, or the problem. */
function read(value: unknown): unknown {
  const found = readDecision(value);
  return found.kind === "invalid" ? found.problem : [found.decision.next_action, ...found.decision.execution_commands];
}

describe("a decision", () => {
  it.for<[rule: string, value: unknown, decision: readonly unknown[]]>([
    ["is taken as it is", { next_action: "execute", execution_commands: [add, look] }, ["execute", add, look]],
    ["keeps equal commands", { next_action: "execute", execution_commands: [add, add] }, ["execute", add, add]],
    ["may call its commands tool_commands", { next_action: "execute", tool_commands: [add] }, ["execute", add]],
    ["may have one tool_command", { next_action: "execute", tool_command: add }, ["execute", add]],
    [
      "counts execution_commands before tool_commands",
      { execution_commands: [add], tool_commands: [look], tool_command: look },
      ["execute", add],
    ],
    [
      "counts the first list that is not empty",
      { execution_commands: [], tool_commands: [look], tool_command: add },
      ["execute", look],
    ],
    ["counts a single command last", { execution_commands: [], tool_commands: [], tool_command: add }, ["execute", add]],
    ["takes no list for an empty one", { execution_commands: null, tool_commands: null, tool_command: add }, ["execute", add]],
    ["trims names", { execution_commands: [{ tool_name: " look\n" }] }, ["execute", look]],
    [
      "trims remarks",
      { execution_commands: [{ ...add, purpose: " sum ", todo_suggestion: "tell\n", next: "\tlook" }] },
      ["execute", add],
    ],
    [
      "fills in what is missing",
      { execution_commands: [{ tool_name: "look", purpose: null, tool_kwargs: null, todo_suggestion: null }] },
      ["execute", look],
    ],
    ["reads arguments that are text", { tool_command: { ...add, tool_kwargs: '{"a":1}' } }, ["execute", add]],
    ["reads a blank text as no arguments", { tool_command: { tool_name: "look", tool_kwargs: " " } }, ["execute", look]],
    ["trims the action, whatever its case", { next_action: " Execute\n", tool_command: add }, ["execute", add]],
    ["infers a missing action from commands", { execution_commands: [add] }, ["execute", add]],
    ["infers a missing action from no commands", { execution_commands: [] }, ["response"]],
    ["infers an unknown action from commands", { next_action: "go", execution_commands: [add] }, ["execute", add]],
    ["infers an unknown action from no commands", { next_action: "done" }, ["response"]],
    ["infers an action that is no text", { next_action: 1, execution_commands: [add] }, ["execute", add]],
    ["that says response runs nothing", { next_action: "response", execution_commands: [add] }, ["response"]],
    ["that says RESPONSE runs nothing", { next_action: " RESPONSE ", tool_command: add }, ["response"]],
    ["to execute nothing is one to answer", { next_action: "execute", execution_commands: [] }, ["response"]],
    ["of empty commands has none", { next_action: "execute", execution_commands: [{}, { tool_name: null }] }, ["response"]],
    ["that says response need not be right", { next_action: "response", execution_commands: [{ name: "add" }] }, ["response"]],
    ["leaves commands without a name out", { execution_commands: [{ tool_name: " " }, add] }, ["execute", add]],
    ["with use_tool false runs nothing", { next_action: "execute", use_tool: false, execution_commands: [add] }, ["response"]],
    ['with use_tool "No" runs nothing', { next_action: "execute", use_tool: "No ", execution_commands: [add] }, ["response"]],
    ['with use_tool "false" runs nothing', { use_tool: "FALSE", execution_commands: [add] }, ["response"]],
    ["with use_tool 0 runs nothing", { use_tool: 0, execution_commands: [add] }, ["response"]],
    ["with use_tool true runs", { use_tool: true, execution_commands: [add] }, ["execute", add]],
    ["with use_tool null runs", { use_tool: null, execution_commands: [add] }, ["execute", add]],
    ["may have other fields", { thought: "hm", execution_commands: [{ ...add, mood: "good" }] }, ["execute", add]],
    ["that is empty asks for the answer", {}, ["response"]],
  ])("%s", ([, value, decision]) => {
    expect(read(value)).toEqual(decision);
  });

  it("keeps keys of every object as data", () => {
    const tool_kwargs: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}');
    const found = readDecision({ tool_command: { tool_name: "add", tool_kwargs } });
    const [only] = found.kind === "decision" ? found.decision.execution_commands : [];
    expect(JSON.stringify(only?.tool_kwargs)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    expect(Reflect.get(only?.tool_kwargs ?? {}, "admin")).toBeUndefined();
  });

  it.for<[what: string, value: unknown, problem: RegExp]>([
    ["no object", "execute", /^A plan is an object, not "execute"\.$/],
    ["a list", [add], /^A plan is an object, not an array of 1 item\.$/],
    ["nothing", undefined, /^A plan is an object, not undefined\.$/],
    ["a list of commands that is none", { execution_commands: "add" }, /execution_commands/],
    ["a command that is none", { execution_commands: [add, "look"] }, /execution_commands\.1: /],
    ["a name that is no text", { execution_commands: [{ tool_name: 7 }] }, /execution_commands\.0\.tool_name: /],
    [
      "arguments that are a list",
      { tool_command: { ...add, tool_kwargs: [1] } },
      /tool_command\.tool_kwargs: must be an object of arguments\./,
    ],
    [
      "a command that names no tool",
      { execution_commands: [add, { name: "add" }] },
      /execution_commands\.1: must have a "tool_name"\./,
    ],
    ["an object of something else", { nextAction: "execute" }, /^A plan has one of next_action, /],
    [
      "arguments that are no data",
      { tool_command: { ...add, tool_kwargs: { a: 1n } } },
      /must be plain data, but holds a BigInt\./,
    ],
    ["all wrong", { execution_commands: Array.from({ length: 9 }, () => 7) }, /^(?:(?!commands\.5).)* And 4 more\.$/],
    ["arguments that are no JSON", { tool_command: { ...add, tool_kwargs: "{a" } }, /object of arguments/],
  ])("is refused where it is %s", ([, value, problem]) => {
    expect(read(value)).toMatch(problem);
  });
});
