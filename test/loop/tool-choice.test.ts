// `toolChoice` holds for what runs, also with a model or a server that does not obey it.

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
  ["none", { toolChoice: "none" }, [], "blocked blocked unknown-tool"],
  ["one name", { toolChoice: { name: "look" } }, ["look"], "blocked completed unknown-tool"],
  ["another name", { toolChoice: { name: "wipe" } }, ["wipe"], "completed blocked unknown-tool"],
  ["a name that is not there", { toolChoice: { name: "x" } }, [], "blocked blocked unknown-tool"],
  ["auto", { toolChoice: "auto" }, ["look", "wipe"], "completed completed unknown-tool"],
  ["required", { toolChoice: "required" }, ["look", "wipe"], "completed completed unknown-tool"],
  ["none for this iteration", { hooks: choosing("none") }, [], "blocked blocked unknown-tool"],
  [
    "one name for this iteration",
    { toolChoice: "none", hooks: choosing({ name: "look" }) },
    ["look"],
    "blocked completed unknown-tool",
  ],
  ["none only before", { hooks: choosing(undefined, "none") }, ["look", "wipe"], "completed completed unknown-tool"],
])("toolChoice %s decides which calls run, eager ones too", async ([, more, expected, outcomes]) => {
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

it("a call that toolChoice does not allow reads as blocked, with the tools that are allowed", async () => {
  const playing = play([both, text("Done.")], { tools: makeTools([]), toolChoice: { name: "look" } });
  expect(answersOf(await playing.result)[0]?.result).toEqual({
    status: "blocked_by_tool_choice",
    functionName: "wipe",
    allowedToolNames: ["look"],
  });
});

it("a replayed iteration keeps the toolChoice that a hook gave, without asking the hook again", async () => {
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

it("a call past maxToolCalls reads as past the limit, although the model was asked without tools", async () => {
  const playing = play([toolCall("look"), [toolCall("look"), toolCall("look")], toolCall("look"), text("Done.")], {
    tools: makeTools([]),
    limits: { maxToolCalls: 2 },
  });
  const outcomes = answersOf(await playing.result).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["completed", "completed", "limit", "limit"]);
});
