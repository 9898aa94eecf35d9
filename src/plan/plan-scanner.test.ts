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

it.for<[what: string, text: string, isOpen: boolean]>([
  ["nothing", "", false],
  ["text", "I would add.", false],
  ["an object of something else", '{"tool":"add"}', false],
  ["a list", '["next_action"]', false],
  ["a plan that is cut off", plan.slice(0, -1), true],
  ["a plan that is cut off in a string", plan.slice(0, 60), true],
  ["single quotes", plan.replaceAll('"', "'"), false],
])("%s is no plan", ([, text, isOpen]) => {
  expect([scan(text).plan, scan(text).isOpen]).toEqual([undefined, isOpen]);
});

it.for<[what: string, text: string, action: string | undefined]>([
  ["as soon as its field is over", '{"next_action": "response",', "response"],
  ["as soon as its object is over", '{"next_action": "response" }', "response"],
  ["behind other fields", '{"thought": {"next_action": "execute"}, "next_action": "response",', "response"],
  ["from the first plan", '{"next_action":"execute","execution_commands":[]} {"next_action":"response"}', "execute"],
  ["behind braces in the text", '{"next_action": "execute" or "response", [...]} {"next_action":"response",', "response"],
  ["not before it is whole", '{"next_action": "response"', undefined],
  ["not from within", '{"execution_commands": [{"next_action": "response",', undefined],
  ["not from a text that names it", '{"thought": "next_action", "x": "response",', undefined],
  ["not from braces in the text", 'I {think} "next_action": "response",', undefined],
  ["not from a choice of two", '{"next_action": "execute" or "response",', undefined],
  ["not from two texts", '{"next_action": "execute" "response",', undefined],
  ["not from a list", '{"next_action": ["response"],', undefined],
])("an action is known %s", ([, text, action]) => {
  expect(scan(text).action).toBe(action);
});

it("a second plan is noticed, and none but a plan", () => {
  expect([plan + plan, `${plan} {"a":1} {x}`, `{"a":1} ${plan}`].map((text) => scan(text).hasMore)).toEqual([true, false, false]);
  expect(scan(`${plan}{"next_action":"response"}`).plan).toEqual(parsed);
});

it.for([",,", ", ,"])("two commas are no mistake that is mended: %j", (commas) => {
  expect(scan(`{"execution_commands":[{}${commas}{}]}`).plan).toBeUndefined();
});

it("a plan of many strings is read once, in time", () => {
  const strings = 200_000;
  const scanner = scan(`{"execution_commands":[${'"a",'.repeat(strings)}"b"],${'"k":"v",'.repeat(strings)}"use_tool":true}`);
  expect(scanner.plan).toMatchObject({ k: "v", use_tool: true });
});
