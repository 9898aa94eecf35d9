import { describe, expect, it } from "vitest";
import { defineAgentTool, defineTool, hasToolCall, type Middleware, stopWhen, type Tool, toolResult } from "turnwright";
import { createTeam } from "turnwright/middleware";
import { createMockProvider, finish, type MockMessage, text, toolCall } from "turnwright/testing";
import { answersOf, play } from "../play.ts";
import { question } from "./nesting.ts";

const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
const make = (name: string, result: unknown): Tool =>
  defineTool({ name, description: name, inputSchema: { type: "object" }, execute: () => result });
const tools = [
  make("submit", toolResult({ data: { total: 42 }, endTurn: true })),
  make("draw", toolResult({ data: "drawn", content: [image], endTurn: true })),
  make("look", "seen"),
  make("final_answer", undefined),
];
const isFinal = hasToolCall("final_answer");
const ended = { tool_name: "submit", result: { total: 42 } };
const cutOff = "1. The roof is fine. 2. The cellar is";

const rows: readonly (readonly [
  title: string,
  turns: readonly MockMessage[],
  report: unknown,
  middleware?: readonly Middleware[],
])[] = [
  ["has answered", [text("Forty-two.")], "Forty-two."],
  ["is ended by a tool", [[toolCall("look"), toolCall("submit")]], { status: "completed", reason: "end-turn", calls: [ended] }],
  [
    "is ended by a tool in a later message",
    [toolCall("look"), toolCall("submit")],
    { status: "completed", reason: "end-turn", calls: [ended] },
  ],
  [
    "is ended by a tool after text",
    [[text("Let me count."), toolCall("submit")]],
    { status: "completed", reason: "end-turn", calls: [ended], text: "Let me count." },
  ],
  [
    "is ended by two tools",
    [[toolCall("submit"), toolCall("submit")]],
    { status: "completed", reason: "end-turn", calls: [ended, ended] },
  ],
  [
    "stops before a call",
    [[text("Here it is."), toolCall("final_answer", { total: 42 })]],
    {
      status: "completed",
      reason: "stop-condition",
      calls: [{ tool_name: "final_answer", args: { total: 42 } }],
      text: "Here it is.",
    },
    [stopWhen(isFinal)],
  ],
  [
    "stops for a reason",
    [toolCall("look", { at: 1 })],
    { status: "completed", reason: "stop-condition", stop_reason: "enough", calls: [{ tool_name: "look", args: { at: 1 } }] },
    [stopWhen(() => ({ kind: "stop", reason: "enough" }))],
  ],
  ["stops at a message without calls", [text("Forty-two.")], "Forty-two.", [stopWhen(() => true)]],
  ["reaches the output limit", [[text(cutOff), finish("length")]], { status: "incomplete", reason: "length", text: cutOff }],
  [
    "is cut off by a content filter",
    [[text(cutOff), finish("content-filter")]],
    { status: "incomplete", reason: "content-filter", text: cutOff },
  ],
  ["refuses", [[text("I cannot help."), finish("refusal")]], { status: "incomplete", reason: "refusal", text: "I cannot help." }],
];

describe("the result of an agent tool whose run", () => {
  it.for(rows)("%s has the expected content", async ([, turns, report, middleware]) => {
    const agent = defineAgentTool({
      name: "agent",
      description: "Counts",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: question, tools, middleware, provider: createMockProvider(turns) }),
    });
    const playing = play([toolCall("agent"), text("Done.")], { tools: [agent] });
    const [answer] = answersOf(await playing.result);
    expect([answer?.outcome, answer?.result]).toEqual(["completed", report]);
  });

  it("ended with an image from a tool includes the image", async () => {
    const agent = defineAgentTool({
      name: "agent",
      description: "Draws",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: question, tools, provider: createMockProvider([toolCall("draw")]) }),
    });
    const [answer] = answersOf(await play([toolCall("agent"), text("Done.")], { tools: [agent] }).result);
    expect(answer).toMatchObject({ result: { calls: [{ tool_name: "draw", result: "drawn" }] }, content: [image] });
  });
});

describe("the report of a team member whose run", () => {
  it.for(rows)("%s has the expected content", async ([, turns, report, middleware]) => {
    const provider = createMockProvider(turns);
    const team = createTeam({ members: { agent: { description: "Counts", system: "Count.", tools, middleware, provider } } });
    const playing = play([toolCall("agent", { task: "Count." }), text("Done.")], team);
    const [answer] = answersOf(await playing.result);
    const { text: said, ...facts } =
      typeof report === "string" ? { status: "completed", text: report } : (report as { text?: string });
    expect([answer?.outcome, answer?.result]).toEqual([
      "completed",
      { ...facts, ...(said === undefined ? {} : { report: said }) },
    ]);
  });
});

describe("result.calls of a run that a tool has ended", () => {
  it("marks the calls that ended the run", async () => {
    const { calls } = await play([[toolCall("look"), toolCall("submit")]], { tools }).result;
    expect(calls.map(({ name, endTurn }) => [name, endTurn])).toEqual([
      ["look", undefined],
      ["submit", true],
    ]);
  });
});
