import { describe, expect, it } from "vitest";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { applyStep } from "./apply-step.ts";
import { createLoopState, type InitialState, type LoopState } from "./loop-state.ts";
import type { StepResult } from "./step-result.ts";

const blank = {
  text: "",
  reasoning: "",
  details: "",
  calls: [],
  providerMetadata: [],
  provider: "p",
  model: "m",
  visibleTools: [],
  durationMs: 0,
};
const model = (result: Partial<StreamResult>): StepResult => ({
  kind: "model",
  result: { ...blank, status: "completed", ...result },
});
const inbox = (now = 0, token = "t"): StepResult => ({ kind: "inbox", answer: { now, token } });
const usage = (totalTokens: number): NonNullable<StreamResult["usage"]> => ({
  inputTokens: totalTokens,
  outputTokens: 0,
  totalTokens,
});
const call = (callId: string): ToolCall => ({ callId, name: "t", args: {} });

function after(steps: readonly StepResult[], initial: Partial<InitialState> = {}): LoopState {
  const state = createLoopState({
    messages: [{ role: "user", content: "Go." }],
    heldIds: [],
    contextItems: [],
    priced: true,
    ...initial,
  });
  for (const step of steps) applyStep(state, step);
  return state;
}

describe("applyStep: activeMs", () => {
  it.for<[title: string, steps: readonly StepResult[], activeMs: number]>([
    ["is 0 after the first inbox step", [inbox(500)], 0],
    ["counts the time between two inbox steps", [inbox(500), model({}), inbox(800), model({}), inbox(950)], 450],
    ["excludes the time between two executions", [inbox(500), inbox(800), inbox(9_000, "u"), inbox(9_100, "u")], 400],
    [
      "counts the time until the last reading of the inbox",
      [
        inbox(500),
        { kind: "last-look", answer: { now: 700, token: "t" }, ending: { status: "empty-response", reason: { kind: "empty" } } },
      ],
      200,
    ],
  ])("%s", ([, steps, activeMs]) => {
    expect(after(steps).activeMs).toBe(activeMs);
  });
});

describe("applyStep: texts and messages", () => {
  it.for<[title: string, iterations: readonly Partial<StreamResult>[], finalText: string]>([
    ["keeps the last text as finalText", [{ text: "One" }, { text: "Two" }], "Two"],
    ["ignores a blank text for finalText", [{ text: "One" }, { text: " \n" }], "One"],
    ["keeps text before tool calls as finalText", [{ text: "One", status: "tool-calls", calls: [call("a")] }, {}], "One"],
    ["keeps the text of a failed iteration as finalText", [{ text: "One" }, { text: "Tw", status: "error" }], "Tw"],
    ["keeps the text of a stopped iteration as finalText", [{ text: "One" }, { text: "Tw", status: "stopped-by-user" }], "Tw"],
  ])("%s", ([, iterations, finalText]) => {
    const steps = iterations.flatMap((iteration) => [inbox(), model(iteration)]);
    expect(after(steps).finalText).toBe(finalText);
  });

  it("joins the continuations of a message, with their calls and provider metadata", () => {
    const continuations = [
      model({ text: "One ", reasoning: "a", providerMetadata: [1], calls: [call("a")], finish: "paused" }),
      model({ text: "two", reasoning: "b", providerMetadata: [2], calls: [call("b")] }),
    ];
    const state = after([inbox(), ...continuations]);
    const providerMetadata = [1, 2].map((item) => ({ provider: "p", model: "m", item }));
    expect(state.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "ab" },
          { type: "text", text: "One two" },
          { type: "tool-call", callId: "a", name: "t", args: {} },
          { type: "tool-call", callId: "b", name: "t", args: {} },
        ],
        providerMetadata,
      },
    ]);
    expect([state.finalText, state.modelParts, [...state.heldIds], state.countedIterations, state.pauses]).toEqual([
      "One two",
      providerMetadata,
      ["a", "b"],
      1,
      1,
    ]);
  });

  it("adds no message for an empty stream without provider metadata", () => {
    expect(after([inbox(), model({})]).messages).toHaveLength(1);
    expect(after([inbox(), model({ providerMetadata: [1] })]).messages.at(-1)).toMatchObject({ role: "assistant", content: [] });
  });

  it("keeps the last details that are not blank, and the last thought log", () => {
    const iterations = [{ details: "Night.", thoughtLog: { mood: 1 } }, { details: " " }, { details: "Rain." }, {}];
    const state = after(iterations.flatMap((iteration) => [inbox(), model(iteration)]));
    expect([state.detailsText, state.thoughtLog]).toEqual(["Rain.", { mood: 1 }]);
  });
});

describe("applyStep: usage and cost", () => {
  it.for<[title: string, iterations: readonly Partial<StreamResult>[], tokens: number, costUSD: number | undefined]>([
    [
      "adds up usage and cost",
      [
        { usage: usage(3), costUSD: 1 },
        { usage: usage(4), costUSD: 2 },
      ],
      7,
      3,
    ],
    [
      "makes the total cost unknown if one cost is unknown",
      [{ usage: usage(3), costUSD: 1 }, { usage: usage(4) }, { usage: usage(5), costUSD: 1 }],
      12,
      undefined,
    ],
    ["makes the cost unknown if an iteration reports no usage", [{ costUSD: 1 }, {}], 0, undefined],
    ["accepts a cost of 0", [{ usage: usage(3), costUSD: 0 }], 3, 0],
  ])("%s", ([, iterations, tokens, costUSD]) => {
    const state = after(iterations.flatMap((iteration) => [inbox(), model(iteration)]));
    expect([state.usage.totalTokens, state.costUSD]).toEqual([tokens, costUSD]);
  });

  it("leaves the cost unknown if the run has no prices", () => {
    expect(after([inbox(), model({ costUSD: 1 })], { priced: false }).costUSD).toBeUndefined();
  });
});

describe("createLoopState", () => {
  it("copies the initial messages, call ids and context items", () => {
    const messages = [{ role: "user" as const, content: "Go." }];
    const heldIds = new Set(["x"]);
    const contextItems = ["night"];
    const restart: StepResult = {
      kind: "batch",
      settled: [
        {
          outcome: { call: call("a"), durationMs: 0, kind: "completed", data: 1 },
          restart: { suffix: "x", item: ["new"], disableTools: ["t"] },
        },
      ],
    };
    const state = after([inbox(), model({ text: "Hi", calls: [call("a")], status: "tool-calls" }), restart], {
      messages,
      heldIds,
      contextItems,
    });
    expect([messages.length, [...heldIds], contextItems]).toEqual([1, ["x"], ["night"]]);
    expect([state.messages.length, [...state.heldIds], state.contextItems, [...state.hiddenTools]]).toEqual([
      3,
      ["x", "a"],
      ["night", ["new"]],
      ["t"],
    ]);
    expect(state.contextMessage).toEqual({ role: "user", content: 'Context:\nnight\n["new"]' });
  });
});
