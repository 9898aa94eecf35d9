import { expect, it } from "vitest";
import {
  iterationCountIs,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  prepareIteration,
  runToolLoop,
  stopWhen,
  type Tool,
  eagerTools,
} from "turnwright";
import { type Agents, createHandoffs, createTeam } from "turnwright/middleware";
import { createMockProvider, type MockMessage, type MockScript, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool } from "./play.ts";
import { refusal } from "./refusal.ts";

const choosing = (...choices: readonly LoopOptions["toolChoice"][]): readonly Middleware[] => [
  prepareIteration(({ iteration }) => ({ toolChoice: choices[iteration] })),
];
const makeTools = (ran: string[], eager = false): readonly Tool[] => [
  tool("wipe", () => void ran.push("wipe")),
  tool("look", () => void ran.push("look"), { eager }),
];
const both: MockMessage = [toolCall("wipe"), toolCall("look"), toolCall("lock")];

it.for<[what: string, more: Partial<LoopOptions>, ran: readonly string[], outcomes: string]>([
  ['"none"', { toolChoice: "none" }, [], "blocked blocked unknown-tool"],
  ["the name of a tool", { toolChoice: { name: "look" } }, ["look"], "blocked completed unknown-tool"],
  ["the name of a different tool", { toolChoice: { name: "wipe" } }, ["wipe"], "completed blocked unknown-tool"],
  ['"auto"', { toolChoice: "auto" }, ["look", "wipe"], "completed completed unknown-tool"],
  ['"required"', { toolChoice: "required" }, ["look", "wipe"], "completed completed unknown-tool"],
  ['"none" from a hook', { middleware: choosing("none") }, [], "blocked blocked unknown-tool"],
  [
    "the name of a tool from a hook",
    { toolChoice: "none", middleware: choosing({ name: "look" }) },
    ["look"],
    "blocked completed unknown-tool",
  ],
  [
    '"none" from a hook for the next iteration only',
    { middleware: choosing(undefined, "none") },
    ["look", "wipe"],
    "completed completed unknown-tool",
  ],
])("only the expected calls run, including eager calls, with toolChoice: %s", async ([, more, expected, outcomes]) => {
  const ran: string[] = [];
  const playing = play([both, text("Done.")], {
    tools: makeTools(ran, true),
    ...more,
    middleware: [eagerTools(), ...(more.middleware ?? [])],
  });
  const result = await playing.result;
  expect(ran).toEqual(expected);
  expect(
    answersOf(result)
      .map(({ outcome }) => outcome)
      .join(" "),
  ).toBe(outcomes);
});

it.for<[what: string, tools: LoopOptions["tools"]]>([
  ["an array of tools", makeTools([])],
  ["no tools", undefined],
])("toolChoice: the name of an unknown tool is refused if the run has %s", async ([, tools]) => {
  const { code, message } = await refusal({ tools, toolChoice: { name: "wype" } });
  expect([code, message]).toEqual([
    "invalid-option",
    'Option "toolChoice.name" is "wype", but must be the name of a tool in "tools".',
  ]);
});

it.for<[what: string, agents: Agents, option: string]>([
  ["an unknown tool", { desk: { description: "", toolChoice: { name: "wype" } } }, "agents.desk.toolChoice.name"],
  [
    "another agent's tool",
    {
      desk: { description: "", toolChoice: { name: "wipe" }, handoffs: ["cleaner"] },
      cleaner: { description: "", tools: ["wipe"], toolChoice: { name: "wipe" } },
    },
    "agents.desk.toolChoice.name",
  ],
  [
    "a handoff to an agent that is not listed",
    { desk: { description: "", toolChoice: { name: "transfer_to_desk" } } },
    "agents.desk.toolChoice.name",
  ],
])("toolChoice: an agent's choice of %s is refused before any request", async ([, agents, option]) => {
  const provider = createMockProvider([text("No.")]);
  const handoffs = createHandoffs({ start: "desk", agents: agents as never });
  const { code, details } = await refusal({ provider, tools: [...makeTools([]), ...handoffs.tools], middleware: [handoffs] });
  expect([code, details, provider.calls]).toMatchObject(["invalid-option", { option }, 0]);
});

it.for<[what: string, choice: string]>([
  ["a tool of its own", "wipe"],
  ["one of the run's tools that no agent lists", "look"],
  ["its own handoff", "transfer_to_cleaner"],
])("toolChoice: an agent may choose %s", async ([, name]) => {
  const provider = createMockProvider([text("Yes.")]);
  const desk = { description: "", tools: ["wipe"], handoffs: ["cleaner"], toolChoice: { name } };
  const handoffs = createHandoffs({ start: "desk", agents: { desk, cleaner: { description: "" } } as never });
  const result = await runToolLoop({
    provider,
    messages: [{ role: "user", content: "Go." }],
    tools: [...makeTools([]), ...handoffs.tools],
    middleware: [handoffs],
  });
  expect([result.text, provider.requests[0]?.toolChoice]).toEqual(["Yes.", { name }]);
});

it("toolChoice: createTeam refuses a member's choice of an unknown tool", () => {
  const make = (name: string) => () =>
    createTeam({ members: { cleaner: { description: "", system: "", tools: makeTools([]), toolChoice: { name } } } });
  expect(make("wype")).toThrow('Option "members.cleaner.toolChoice.name" is "wype", but must be the name of a tool in "tools".');
  expect(make("wipe")).not.toThrow();
});

const tides: (choice: LoopOptions["toolChoice"]) => Partial<LoopOptions> = (toolChoice) => ({
  tools: makeTools([]),
  toolChoice,
  // A model that calls a tool as long as the request forces it to.
  provider: createMockProvider(({ toolChoice: sent }, index) =>
    sent === "auto" || sent === undefined ? text("12 m.") : toolCall("look", { query: `tide ${index}` }),
  ),
});

it.for<[choice: LoopOptions["toolChoice"]]>([["required"], [{ name: "look" }]])(
  "toolChoice: %j forces the first call, and then the model may answer",
  async ([choice]) => {
    const playing = play([], tides(choice));
    const { status, text: said, iterations } = await playing.result;
    expect([status, said, iterations]).toEqual(["completed", "12 m.", 2]);
  },
);

it("toolChoice: a forced choice applies to each iteration if a stop condition ends the run, or if the hook sets it", async () => {
  const stopping = await play([], { ...tides("required"), middleware: [stopWhen(iterationCountIs(4))] }).result;
  expect([stopping.reason.kind, stopping.iterations]).toEqual(["stop-condition", 4]);
  const hooks = [prepareIteration(() => ({ toolChoice: "required" as const }))];
  const hooked = await play([], { ...tides(undefined), middleware: hooks, limits: { maxIterations: 4 } }).result;
  expect([hooked.reason.kind, hooked.iterations]).toEqual(["max-iterations", 4]);
});

it("toolChoice: a named tool remains the only one that runs after the first call", async () => {
  const ran: string[] = [];
  const script = [toolCall("look"), toolCall("wipe"), text("Done.")];
  const result = await play(script, { tools: makeTools(ran), toolChoice: { name: "look" } }).result;
  expect([ran, answersOf(result).map(({ outcome }) => outcome)]).toEqual([["look"], ["completed", "blocked"]]);
});

it("toolChoice: an agent's forced choice applies to its own first call, after the handoff", async () => {
  const agents = createHandoffs({
    start: "desk",
    agents: {
      desk: { description: "Greets", handoffs: ["tides"] },
      tides: { description: "Knows tides", toolChoice: "required" },
    },
  });
  const sent: unknown[] = [];
  const script: MockScript = ({ toolChoice }, index) => {
    sent.push(toolChoice);
    return [toolCall("transfer_to_tides"), toolCall("look"), text("12 m.")][index];
  };
  const tools = [...makeTools([]), ...agents.tools];
  await play(script, { tools, middleware: [agents] }).result;
  expect(sent).toEqual([undefined, "required", "auto"]);
});

it("toolChoice: a blocked call's result names the allowed tools", async () => {
  const playing = play([both, text("Done.")], { tools: makeTools([]), toolChoice: { name: "look" } });
  expect(answersOf(await playing.result)[0]?.result).toEqual({
    status: "blocked_by_tool_choice",
    functionName: "wipe",
    allowedToolNames: ["look"],
  });
});

it("toolChoice: a replayed iteration uses a hook's recorded choice without calling the hook", async () => {
  const ran: string[] = [];
  let asked = 0;
  const hooks: readonly Middleware[] = [
    prepareIteration(({ iteration }) => ((asked += 1), { toolChoice: iteration === 0 ? "none" : "auto" })),
  ];
  const first = await play([both, text("Done.")], { tools: makeTools(ran), middleware: hooks }).result;
  const { steps } = memoryJournal(JSON.parse(JSON.stringify(first.journal))).toJSON();
  const kept = Object.fromEntries(
    Object.entries(steps).filter(([key]) => key === "run" || key === "begin" || key.startsWith("i0/request/")),
  );
  asked = 0;
  const again = play([text("Done.")], { tools: makeTools(ran), middleware: hooks, journal: memoryJournal({ steps: kept }) });
  const outcomes = answersOf(await again.result).map(({ outcome }) => outcome);
  expect([outcomes, ran, again.provider.calls, asked]).toEqual([["blocked", "blocked", "unknown-tool"], [], 1, 1]);
});

it('toolChoice: a call beyond maxToolCalls has the outcome "limit" instead of "blocked"', async () => {
  const playing = play([toolCall("look"), [toolCall("look"), toolCall("look")], toolCall("look"), text("Done.")], {
    tools: makeTools([]),
    limits: { maxToolCalls: 2 },
  });
  const outcomes = answersOf(await playing.result).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["completed", "completed", "limit", "limit"]);
});
