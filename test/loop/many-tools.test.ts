import { describe, expect, it } from "vitest";
import { gateTools, memoryJournal, type Middleware } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";

const tools = Array.from({ length: 120 }, (_, index) => tool(`tool_${index}`, () => index));
const names = tools.map(({ name }) => name);
const calls = (count: number) => Array.from({ length: count }, (_, index) => toolCall(`other ${index}`));

describe.for<[what: string, field: string, middleware: readonly Middleware[]]>([
  ["a call to an unknown tool", "available_tools", []],
  ["a call that the gate blocks", "allowedToolNames", [gateTools({ active: true, allowedNames: names })]],
])("%s", ([, field, middleware]) => {
  it("lists the first 50 tool names in its result, and at most 200 names per iteration", async () => {
    const script = [calls(6), calls(1), text("Done.")];
    const options = { tools, middleware, limits: { maxConsecutiveToolErrors: 100 } };
    const result = await play(script, options).result;
    const listed = answersOf(result).map(({ result: read }): unknown => Reflect.get(Object(read), field));
    const first = [...names.slice(0, 50), "… and 70 more"];
    const later = ["… 120 tools, which are listed in the results of other calls"];
    expect(listed).toEqual([first, first, first, first, later, later, first]);

    const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
    expect((await play([], { ...options, journal }).result).messages).toEqual(result.messages);
  });
});
