import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlanScanner } from "./plan-scanner.ts";

function scan(text: string): PlanScanner {
  const scanner = new PlanScanner();
  scanner.push(text);
  return scanner;
}

const plan = '{"next_action":"execute","execution_commands":[{"tool_name":"add","tool_kwargs":{"a":"}],{"}}]}';
const parsed: unknown = JSON.parse(plan);

describe("PlanScanner", () => {
  it.for<[where: string, text: string]>([
    ["that is the whole text", plan],
    ["in a code fence", `\`\`\`json\n${plan}\n\`\`\``],
    ["after text", `Let me see: ${plan}`],
    ["before text with braces", `${plan} {so} }`],
    ["after braces in the text", `A {set} of {"a": 1} and {]: ${plan}`],
    ["with trailing commas", plan.replace(/\}\}\]\}$/, ",}, },\n ] , }")],
    ["with escapes in its strings", plan.replace("add", "\\u0061dd")],
  ])("finds a plan %s", ([, text]) => {
    expect(scan(text).plan).toEqual(parsed);
  });

  it("finds a plan that arrives in pieces of any size", () => {
    const text = `So:\n\`\`\`\n${plan.replace("]}", ",]}")}\n\`\`\``;
    const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: text.length, maxLength: text.length });
    fc.assert(
      fc.property(pieces, (sizes) => {
        const scanner = new PlanScanner();
        for (let at = 0, size = 0; at < text.length; at += size) {
          size = sizes[at] ?? 1;
          scanner.push(text.slice(at, at + size));
        }
        expect(scanner.plan).toEqual(parsed);
      }),
    );
  });

  it("reads any JSON in the same way as JSON.parse()", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = `{"use_tool":${json}}`;
        expect(scan(text).plan).toEqual(JSON.parse(text));
      }),
    );
  });
});

it.for<[what: string, text: string, problem: RegExp]>([
  ["an empty string", "", /^The answer contains no JSON object with a plan\.$/],
  ["text without JSON", "I would add.", /^The answer contains no JSON object with a plan\.$/],
  [
    "an object without any plan fields",
    '{"tool":"add"}',
    /^The JSON object must have at least one of these fields: next_action, execution_commands, .*\.$/,
  ],
  [
    "an object that holds a plan in a field",
    `{"plan":${plan}}`,
    /^The JSON object must have at least one of these fields: next_action/,
  ],
  ["an array", '["next_action"]', /^The answer contains no JSON object with a plan\.$/],
  ["a plan that is cut off", plan.slice(0, -1), /^The plan was cut off\.$/],
  ["a plan that is cut off inside a string", plan.slice(0, 60), /^The plan was cut off\.$/],
  ["a plan with single quotes", plan.replaceAll('"', "'"), /^The JSON of the plan is invalid: Expected property name .*\.$/],
  [
    "a plan with a raw line break in a string",
    plan.replace("add", "a\nd"),
    /^The JSON of the plan is invalid: Bad control character .*\.$/,
  ],
])("PlanScanner: finds no plan in %s", ([, text, problem]) => {
  expect(scan(text).plan).toBeUndefined();
  expect(scan(text).problem).toMatch(problem);
});

it.for<[what: string, text: string, isResponse: boolean]>([
  ["is true as soon as next_action has the value response", '{"next_action": "response",', true],
  ["is true when the object ends directly after next_action", '{"next_action": " Response " }', true],
  ["is true if other fields precede next_action", '{"thought": {"next_action": "execute"}, "next_action": "response",', true],
  ['is true if the first of two next_action fields is "response"', '{"next_action": "response", "next_action": "execute",', true],
  [
    'is false if only the second of two next_action fields is "response"',
    '{"next_action": "execute", "next_action": "response",',
    false,
  ],
  [
    "is false if only the second of two plans is a response",
    '{"next_action":"execute","execution_commands":[]} {"next_action":"response"}',
    false,
  ],
  [
    "is true if text with braces precedes the plan",
    '{"next_action": "execute" or "response", [...]} {"next_action":"response",',
    true,
  ],
  ["is false before the comma or brace after next_action", '{"next_action": "response"', false],
  ["is false for a nested next_action field", '{"execution_commands": [{"next_action": "response",', false],
  ['is false for "next_action" as the value of another field', '{"thought": "next_action", "x": "response",', false],
  ["is false for next_action outside an object", 'I {think} "next_action": "response",', false],
  ['is false for the malformed value: "execute" or "response"', '{"next_action": "execute" or "response",', false],
  ["is false for two strings as the value of next_action", '{"next_action": "execute" "response",', false],
  ["is false for an array as the value of next_action", '{"next_action": ["response"],', false],
  ["is false for a value that continues after a lot of whitespace", `{"next_action": "response${" ".repeat(60)}not",`, false],
])("PlanScanner.isResponse: %s", ([, text, isResponse]) => {
  expect(scan(text).isResponse).toBe(isResponse);
  const scanner = new PlanScanner();
  for (const character of text) scanner.push(character);
  expect(scanner.isResponse).toBe(isResponse);
});

it.for<[where: string, text: string, isLeading: boolean]>([
  ["is true for a plan at the start of the text", '{"next_action"', true],
  ["is true for a plan after whitespace and a code fence", ' \n```json\n{"next_action"', true],
  ["is true for a plan in a code fence after words", 'So:\n```json\n{"next_action"', true],
  ["is false for a plan after words", 'I could say {"next_action"', false],
  ["is false for a plan after another object", '{"a": 1} {"next_action"', false],
  ["is false for a plan after a lot of whitespace and a word", `${" ".repeat(20)}${" ".repeat(20)}x {"next_action"`, false],
])("PlanScanner.isLeading: %s", ([, text, isLeading]) => {
  expect(scan(text).isLeading).toBe(isLeading);
});

it.for<[what: string, behind: string, isDoubtful: boolean]>([
  ["reports another plan", plan, true],
  ["reports another object", ' {"a":1}', true],
  ["reports the start of another plan", ' No, wait: {"next_action":"respo', true],
  ["reports an object in single quotes", " { 'next_action': 'response' }", true],
  ["reports another plan inside braces", ' {\n {"next_action":', true],
  ["ignores words and single braces", " {so} } {", false],
  ["ignores text without braces", ' That is "all".', false],
])("PlanScanner.problem: %s after a plan", ([, behind, isDoubtful]) => {
  expect(scan(plan + behind).problem).toBe(isDoubtful ? "The answer contains more than one JSON object." : undefined);
  const scanner = new PlanScanner();
  for (const character of plan + behind) scanner.push(character);
  expect(scanner.problem).toBe(isDoubtful ? "The answer contains more than one JSON object." : undefined);
});

it.for([",,", ", ,"])("PlanScanner: finds no plan if two adjacent commas appear as %j", (commas) => {
  expect(scan(`{"execution_commands":[{}${commas}{}]}`).plan).toBeUndefined();
});

it("PlanScanner: reads a plan with 200,000 strings", () => {
  const strings = 200_000;
  const scanner = scan(`{"execution_commands":[${'"a",'.repeat(strings)}"b"],${'"k":"v",'.repeat(strings)}"use_tool":true}`);
  expect(scanner.plan).toMatchObject({ k: "v", use_tool: true });
});
