import { describe, expect, it } from "vitest";
import type { StopCondition, StopContext } from "../types/policies.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { isLoopError } from "../errors/loop-error.ts";
import { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./stop-when.ts";

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
  ["the iteration before", iterationCountIs(3), { iteration: 2 }, false],
  ["the iteration itself", iterationCountIs(3), { iteration: 3 }, true],
  ["an iteration behind it", iterationCountIs(3), { iteration: 4 }, true],
  ["no iteration", iterationCountIs(Number.POSITIVE_INFINITY), { iteration: 1e6 }, false],
  ["a call of the name", hasToolCall("done"), { calls: [call("a"), call("done")] }, true],
  ["a call of one of the names", hasToolCall(["x", "done"]), { calls: [call("done")] }, true],
  ["other calls", hasToolCall("done"), { calls: [call("a"), call("done2"), call("toString")] }, false],
  ["no calls", hasToolCall("done"), {}, false],
  ["a call that was cut off", hasToolCall("done"), { calls: [call("done", "truncated")] }, false],
  ["a call that came broken", hasToolCall("done"), { calls: [call("done", "malformed")] }, false],
  ["fewer calls", toolCallCountIs(2), { toolCallsExecuted: 1, calls: [call("a"), call("b")] }, false],
  ["as many calls", toolCallCountIs(2), { toolCallsExecuted: 2 }, true],
  ["more calls", toolCallCountIs(2), { toolCallsExecuted: 5 }, true],
  ["tokens to spare", tokenBudget(100), { tokens: 99 }, false],
  ["tokens spent", tokenBudget(100), { tokens: 100 }, true],
  ["a text inside", textMatches("DONE"), { text: "I am DONE." }, true],
  ["a text that is no pattern", textMatches("a.c"), { text: "abc" }, false],
  ["a pattern", textMatches(/\bdone\b/i), { text: "I am DONE." }, true],
  ["a pattern that is elsewhere", textMatches(/^done/), { text: "I am done." }, false],
])("%s", ([, condition, facts, stops]) => {
  expect(condition(at(facts))).toBe(stops);
});

describe("a regular expression", () => {
  it.for(["g", "y", "gy", ""])("with the flags %j gives the same each time, and stays as it is", (flags) => {
    const pattern = new RegExp("do", flags);
    pattern.lastIndex = 2;
    const condition = textMatches(pattern);
    const answers = ["do", "do do", "do", "we do"].map((text) => condition(at({ text })));
    expect(answers).toEqual([true, true, true, !flags.includes("y")]);
    expect(pattern.lastIndex).toBe(2);
  });
});

it("keeps the names that it was given", () => {
  const names = ["done"];
  const condition = hasToolCall(names);
  names.push("a");
  expect(condition(at({ calls: [call("a")] }))).toBe(false);
});

it.for<[title: string, make: () => StopCondition, message: string]>([
  [
    "0 iterations",
    () => iterationCountIs(0),
    'Option "iterationCountIs(n)" must be a whole number of at least 1, or Infinity, but is 0.',
  ],
  [
    "half a call",
    () => toolCallCountIs(0.5),
    'Option "toolCallCountIs(n)" must be a whole number of at least 1, or Infinity, but is 0.5.',
  ],
  [
    "NaN tokens",
    () => tokenBudget(NaN),
    'Option "tokenBudget(n)" must be a whole number of at least 1, or Infinity, but is NaN.',
  ],
  [
    "no name",
    () => hasToolCall([]),
    'Option "hasToolCall" must be the name of a tool, or an array of at least one, but is an array of 0 items.',
  ],
  [
    "an empty name",
    () => hasToolCall(""),
    'Option "hasToolCall" must be the name of a tool, or an array of at least one, but is "".',
  ],
  [
    "a name that is none",
    () => hasToolCall([7 as never]),
    'Option "hasToolCall" must be the name of a tool, or an array of at least one, but is an array of 1 item.',
  ],
  [
    "an empty text",
    () => textMatches(""),
    'Option "textMatches" must be a text that is not empty, or a regular expression, but is "".',
  ],
  [
    "no pattern",
    () => textMatches(undefined as never),
    'Option "textMatches" must be a text that is not empty, or a regular expression, but is undefined.',
  ],
])("refuses %s", ([, make, message]) => {
  let error: unknown;
  try {
    make();
  } catch (thrown) {
    error = thrown;
  }
  expect(isLoopError(error, "invalid-option") && error.message).toBe(message);
});
