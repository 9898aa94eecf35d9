import { describe, expect, it } from "vitest";
import type { StopCondition, StopContext } from "../types/middleware-options.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { isLoopError } from "../../shared/errors/loop-error.ts";
import { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./stop-conditions.ts";

const call = (name: string, problem?: ToolCall["problem"]): ToolCall => ({ callId: name, name, args: {}, problem });

interface Facts extends Partial<Omit<StopContext, "response" | "totalUsage">> {
  readonly text?: string;
  readonly calls?: readonly ToolCall[];
  readonly tokens?: number;
}

function at({ text = "", calls = [], tokens = 0, ...facts }: Facts): StopContext {
  const streamed = {
    reasoning: "",
    details: "",
    providerMetadata: [],
    provider: "p",
    model: "m",
    visibleTools: [],
    durationMs: 0,
  };
  return {
    iteration: 1,
    response: { ...streamed, status: "tool-calls", text, calls },
    totalUsage: { inputTokens: tokens, outputTokens: 0, totalTokens: tokens },
    costUSD: undefined,
    toolCallsExecuted: 0,
    lastToolResults: [],
    ...facts,
  };
}

it.for<[title: string, condition: StopCondition, facts: Facts, stops: boolean]>([
  ["iterationCountIs: does not stop before the given iteration", iterationCountIs(3), { iteration: 2 }, false],
  ["iterationCountIs: stops in the given iteration", iterationCountIs(3), { iteration: 3 }, true],
  ["iterationCountIs: stops after the given iteration", iterationCountIs(3), { iteration: 4 }, true],
  [
    "iterationCountIs: never stops if the number is Infinity",
    iterationCountIs(Number.POSITIVE_INFINITY),
    { iteration: 1e6 },
    false,
  ],
  ["hasToolCall: stops at a call to the given tool", hasToolCall("done"), { calls: [call("a"), call("done")] }, true],
  ["hasToolCall: stops at a call to one of the given tools", hasToolCall(["x", "done"]), { calls: [call("done")] }, true],
  [
    "hasToolCall: does not stop at calls to other tools",
    hasToolCall("done"),
    { calls: [call("a"), call("done2"), call("toString")] },
    false,
  ],
  ["hasToolCall: does not stop if there are no tool calls", hasToolCall("done"), {}, false],
  [
    "hasToolCall: does not stop at a cut-off call to the given tool",
    hasToolCall("done"),
    { calls: [call("done", "truncated")] },
    false,
  ],
  [
    "hasToolCall: does not stop at a malformed call to the given tool",
    hasToolCall("done"),
    { calls: [call("done", "malformed")] },
    false,
  ],
  [
    "toolCallCountIs: does not stop below the given number of tool calls",
    toolCallCountIs(2),
    { toolCallsExecuted: 1, calls: [call("a"), call("b")] },
    false,
  ],
  ["toolCallCountIs: stops at the given number of tool calls", toolCallCountIs(2), { toolCallsExecuted: 2 }, true],
  ["toolCallCountIs: stops above the given number of tool calls", toolCallCountIs(2), { toolCallsExecuted: 5 }, true],
  ["tokenBudget: does not stop below the given number of tokens", tokenBudget(100), { tokens: 99 }, false],
  ["tokenBudget: stops at the given number of tokens", tokenBudget(100), { tokens: 100 }, true],
  ["textMatches: stops if the text contains the given string", textMatches("DONE"), { text: "I am DONE." }, true],
  ["textMatches: does not treat a string as a regular expression", textMatches("a.c"), { text: "abc" }, false],
  ["textMatches: stops if the text matches the regular expression", textMatches(/\bdone\b/i), { text: "I am DONE." }, true],
  [
    "textMatches: does not stop if the text does not match the regular expression",
    textMatches(/^done/),
    { text: "I am done." },
    false,
  ],
])("%s", ([, condition, facts, stops]) => {
  expect(condition(at(facts))).toBe(stops);
});

describe("textMatches with a regular expression", () => {
  it.for(["g", "y", "gy", ""])("searches from index 0 each time and keeps lastIndex if the flags are %j", (flags) => {
    const pattern = new RegExp("do", flags);
    pattern.lastIndex = 2;
    const condition = textMatches(pattern);
    const answers = ["do", "do do", "do", "we do"].map((text) => condition(at({ text })));
    expect(answers).toEqual([true, true, true, !flags.includes("y")]);
    expect(pattern.lastIndex).toBe(2);
  });
});

it("hasToolCall: copies the given list of names", () => {
  const names = ["done"];
  const condition = hasToolCall(names);
  names.push("a");
  expect(condition(at({ calls: [call("a")] }))).toBe(false);
});

it.for<[title: string, make: () => StopCondition, message: string]>([
  [
    "iterationCountIs: rejects 0",
    () => iterationCountIs(0),
    'Option "iterationCountIs" is 0, but must be a whole number of at least 1, or Infinity.',
  ],
  [
    "toolCallCountIs: rejects a fraction",
    () => toolCallCountIs(0.5),
    'Option "toolCallCountIs" is 0.5, but must be a whole number of at least 1, or Infinity.',
  ],
  [
    "tokenBudget: rejects NaN",
    () => tokenBudget(NaN),
    'Option "tokenBudget" is NaN, but must be a whole number of at least 1, or Infinity.',
  ],
  [
    "hasToolCall: rejects an empty list of names",
    () => hasToolCall([]),
    'Option "hasToolCall" is an array of 0 items, but must be a tool name or a non-empty array of tool names.',
  ],
  [
    "hasToolCall: rejects an empty name",
    () => hasToolCall(""),
    'Option "hasToolCall" is "", but must be a tool name or a non-empty array of tool names.',
  ],
  [
    "hasToolCall: rejects a name that is not a string",
    () => hasToolCall([7 as never]),
    'Option "hasToolCall" is an array of 1 item, but must be a tool name or a non-empty array of tool names.',
  ],
  [
    "textMatches: rejects an empty string",
    () => textMatches(""),
    'Option "textMatches" is "", but must be a non-empty string or a regular expression.',
  ],
  [
    "textMatches: rejects undefined",
    () => textMatches(undefined as never),
    'Option "textMatches" is undefined, but must be a non-empty string or a regular expression.',
  ],
])("%s", ([, make, message]) => {
  let error: unknown;
  try {
    make();
  } catch (thrown) {
    error = thrown;
  }
  expect(isLoopError(error, "invalid-option") && error.message).toBe(message);
});
