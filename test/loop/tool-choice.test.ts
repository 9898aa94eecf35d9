import { expect, it } from "vitest";
import { type LoopHooks, type LoopOptions, memoryJournal, type Tool } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";

const choosing = (...choices: readonly LoopOptions["toolChoice"][]): LoopHooks => ({
  prepareIteration: ({ iteration }) => ({ toolChoice: choices[iteration] }),
});
const makeTools = (ran: string[]): readonly Tool[] => [
  tool("wipe", () => void ran.push("wipe")),
  tool("look", () => void ran.push("look"), { eager: true }),
];
const both: MockMessage = [toolCall("wipe"), toolCall("look"), toolCall("lock")];

it.for<[what: string, more: Partial<LoopOptions>, ran: readonly string[], outcomes: string]>([
  ['"none"', { toolChoice: "none" }, [], "blocked blocked unknown-tool"],
  ["the name of a tool", { toolChoice: { name: "look" } }, ["look"], "blocked completed unknown-tool"],
  ["the name of another tool", { toolChoice: { name: "wipe" } }, ["wipe"], "completed blocked unknown-tool"],
  ["the name of an unknown tool", { toolChoice: { name: "x" } }, [], "blocked blocked unknown-tool"],
  ['"auto"', { toolChoice: "auto" }, ["look", "wipe"], "completed completed unknown-tool"],
  ['"required"', { toolChoice: "required" }, ["look", "wipe"], "completed completed unknown-tool"],
  ['"none" from a hook', { hooks: choosing("none") }, [], "blocked blocked unknown-tool"],
  [
    "the name of a tool from a hook",
    { toolChoice: "none", hooks: choosing({ name: "look" }) },
    ["look"],
    "blocked completed unknown-tool",
  ],
  [
    '"none" from a hook for the next iteration only',
    { hooks: choosing(undefined, "none") },
    ["look", "wipe"],
    "completed completed unknown-tool",
  ],
])("only the expected calls run, including eager calls, with toolChoice: %s", async ([, more, expected, outcomes]) => {
  const ran: string[] = [];
  const playing = play([both, text("Done.")], { tools: makeTools(ran), ...more });
  const result = await playing.result;
  expect(ran).toEqual(expected);
  expect(
    answersOf(result)
      .map(({ outcome }) => outcome)
      .join(" "),
  ).toBe(outcomes);
});

it("toolChoice: the result of a blocked call names the allowed tools", async () => {
  const playing = play([both, text("Done.")], { tools: makeTools([]), toolChoice: { name: "look" } });
  expect(answersOf(await playing.result)[0]?.result).toEqual({
    status: "blocked_by_tool_choice",
    functionName: "wipe",
    allowedToolNames: ["look"],
  });
});

it("toolChoice: a replayed iteration uses the recorded choice of a hook without calling the hook", async () => {
  const ran: string[] = [];
  const first = await play([both, text("Done.")], { tools: makeTools(ran), hooks: choosing("none") }).result;
  const { steps } = memoryJournal(JSON.parse(JSON.stringify(first.journal))).toJSON();
  const kept = Object.fromEntries(
    Object.entries(steps).filter(([key]) => key === "run" || key === "i0/inbox" || key === "i0/model"),
  );
  const again = play([text("Done.")], { tools: makeTools(ran), journal: memoryJournal({ steps: kept }) });
  const outcomes = answersOf(await again.result).map(({ outcome }) => outcome);
  expect([outcomes, ran, again.provider.calls]).toEqual([["blocked", "blocked", "unknown-tool"], [], 1]);
});

it('toolChoice: a call beyond maxToolCalls has the outcome "limit" instead of "blocked"', async () => {
  const playing = play([toolCall("look"), [toolCall("look"), toolCall("look")], toolCall("look"), text("Done.")], {
    tools: makeTools([]),
    limits: { maxToolCalls: 2 },
  });
  const outcomes = answersOf(await playing.result).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["completed", "completed", "limit", "limit"]);
});
