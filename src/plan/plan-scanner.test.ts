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

describe("a plan is found", () => {
  it.for<[where: string, text: string]>([
    ["alone", plan],
    ["in a fence", `\`\`\`json\n${plan}\n\`\`\``],
    ["behind text", `Let me see: ${plan}`],
    ["before text, braces and all", `${plan} {so} }`],
    ["behind braces in the text", `A {set} of {"a": 1} and {]: ${plan}`],
    ["with commas behind the last of something", plan.replace(/\}\}\]\}$/, ",}, },\n ] , }")],
    ["with escapes in its strings", plan.replace("add", "\\u0061dd")],
  ])("%s", ([, text]) => {
    expect(scan(text).plan).toEqual(parsed);
  });

  it("in whatever pieces it comes", () => {
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

  it("and any JSON reads as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = `{"use_tool":${json}}`;
        expect(scan(text).plan).toEqual(JSON.parse(text));
      }),
    );
  });
});

it.for<[what: string, text: string, problem: RegExp]>([
  ["nothing", "", /^There is no JSON object of a plan\.$/],
  ["text", "I would add.", /^There is no JSON object of a plan\.$/],
  ["an object of something else", '{"tool":"add"}', /^There is an object, but none with next_action, execution_commands, .*\.$/],
  ["an object around a plan", `{"plan":${plan}}`, /^There is an object, but none with next_action/],
  ["a list", '["next_action"]', /^There is no JSON object of a plan\.$/],
  ["a plan that is cut off", plan.slice(0, -1), /^The plan was cut off\.$/],
  ["a plan that is cut off in a string", plan.slice(0, 60), /^The plan was cut off\.$/],
  ["single quotes", plan.replaceAll('"', "'"), /^The JSON of the plan cannot be read: Expected property name .*\.$/],
  ["a line end in a text", plan.replace("add", "a\nd"), /^The JSON of the plan cannot be read: Bad control character .*\.$/],
])("%s is no plan", ([, text, problem]) => {
  expect(scan(text).plan).toBeUndefined();
  expect(scan(text).problem).toMatch(problem);
});

it.for<[what: string, text: string, isResponse: boolean]>([
  ["as soon as its field is over", '{"next_action": "response",', true],
  ["as soon as its object is over", '{"next_action": " Response " }', true],
  ["behind other fields", '{"thought": {"next_action": "execute"}, "next_action": "response",', true],
  ["from the first of two fields", '{"next_action": "response", "next_action": "execute",', true],
  ["not from the second of two fields", '{"next_action": "execute", "next_action": "response",', false],
  ["from the first plan", '{"next_action":"execute","execution_commands":[]} {"next_action":"response"}', false],
  ["behind braces in the text", '{"next_action": "execute" or "response", [...]} {"next_action":"response",', true],
  ["not before it is whole", '{"next_action": "response"', false],
  ["not from within", '{"execution_commands": [{"next_action": "response",', false],
  ["not from a text that names it", '{"thought": "next_action", "x": "response",', false],
  ["not from braces in the text", 'I {think} "next_action": "response",', false],
  ["not from a choice of two", '{"next_action": "execute" or "response",', false],
  ["not from two texts", '{"next_action": "execute" "response",', false],
  ["not from a list", '{"next_action": ["response"],', false],
  ["not from a text that goes on behind many blanks", `{"next_action": "response${" ".repeat(60)}not",`, false],
])("that nothing is to run is known %s", ([, text, isResponse]) => {
  expect(scan(text).isResponse).toBe(isResponse);
  const scanner = new PlanScanner();
  for (const character of text) scanner.push(character);
  expect(scanner.isResponse).toBe(isResponse);
});

it.for<[where: string, text: string, isLeading: boolean]>([
  ["first", '{"next_action"', true],
  ["behind blanks and a fence", ' \n```json\n{"next_action"', true],
  ["in a fence behind words", 'So:\n```json\n{"next_action"', true],
  ["behind words", 'I could say {"next_action"', false],
  ["behind another object", '{"a": 1} {"next_action"', false],
  ["behind very many blanks", `${" ".repeat(20)}${" ".repeat(20)}x {"next_action"`, false],
])("a plan that stands %s stands first: %s", ([, text, isLeading]) => {
  expect(scan(text).isLeading).toBe(isLeading);
});

it.for<[what: string, behind: string, isDoubtful: boolean]>([
  ["another plan", plan, true],
  ["another object", ' {"a":1}', true],
  ["the beginning of a plan", ' No, wait: {"next_action":"respo', true],
  ["one in single quotes", " { 'next_action': 'response' }", true],
  ["one in braces", ' {\n {"next_action":', true],
  ["braces in words", " {so} } {", false],
  ["words", ' That is "all".', false],
])("with %s behind it a plan is in doubt: %s", ([, behind, isDoubtful]) => {
  expect(scan(plan + behind).problem).toBe(isDoubtful ? "There is more than one plan." : undefined);
  const scanner = new PlanScanner();
  for (const character of plan + behind) scanner.push(character);
  expect(scanner.problem).toBe(isDoubtful ? "There is more than one plan." : undefined);
});

it.for([",,", ", ,"])("two commas are no mistake that is mended: %j", (commas) => {
  expect(scan(`{"execution_commands":[{}${commas}{}]}`).plan).toBeUndefined();
});

it("a plan of many strings is read once, in time", () => {
  const strings = 200_000;
  const scanner = scan(`{"execution_commands":[${'"a",'.repeat(strings)}"b"],${'"k":"v",'.repeat(strings)}"use_tool":true}`);
  expect(scanner.plan).toMatchObject({ k: "v", use_tool: true });
});
