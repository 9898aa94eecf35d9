import { describe, expect, it } from "vitest";
import {
  finalAnswer,
  hasToolCall,
  iterationCountIs,
  type StopCondition,
  stopWhen,
  textMatches,
  tokenBudget,
  toolCallCountIs,
} from "turnwright";
import type { StopContext } from "../../src/core/types/middleware-options.ts";
import { fail, finish, type MockScript, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { outcomesOf, play } from "./play.ts";
import { endOf, stopping, tools } from "./stop-when-stage.ts";
import { linesOf } from "./transcript-lines.ts";

describe("stopWhen", () => {
  it("ends the run before the calls run, and returns the calls in pendingCalls", async () => {
    const playing = play(
      [
        toolCall("echo"),
        [text("Here: "), toolCall("final_answer", { answer: 42 }, { id: "f" }), toolCall("echo", {}, { id: "e" })],
      ],
      stopping(hasToolCall("final_answer")),
    );
    const result = await playing.result;
    expect(endOf(result)).toEqual(["completed", { kind: "stop-condition" }, ["f", "e"]]);
    expect(result.pendingCalls[0]?.args).toEqual({ answer: 42 });
    expect([result.text, outcomesOf(result)]).toEqual(["Here:", ["call_i0_0: completed", "f: not-run", "e: not-run"]]);
    expect([result.toolCallsExecuted, result.functionHistory.length, playing.provider.calls]).toEqual([1, 1, 2]);
    expect(playing.recording.of("tool-start").map(({ name }) => name)).toEqual(["echo"]);
    expect(result.streamResults.map(({ stop }) => stop)).toEqual([undefined, {}]);
  });

  it.for<[title: string, finishes: MockMessage, status: string]>([
    ["an answer", text("Fine."), "completed"],
    ["an answer at its length limit", [text("Fin"), finish("length")], "completed"],
    ["a refusal", [text("No."), finish("refusal")], "completed"],
  ])("also ends the run after %s", async ([, turn]) => {
    const result = await play(
      [turn],
      stopping(() => ({ kind: "stop", reason: "enough" })),
    ).result;
    expect(endOf(result)).toEqual(["completed", { kind: "stop-condition", reason: "enough" }, []]);
  });

  it("omits a call without a name from pendingCalls", async () => {
    const result = await play(
      [[toolCall("echo"), toolCall(" ")]],
      stopping(() => true),
    ).result;
    expect([endOf(result), outcomesOf(result)]).toEqual([
      ["completed", { kind: "stop-condition" }, ["call_i0_0"]],
      ["call_i0_0: not-run"],
    ]);
  });

  it("lets a steered message continue the run, and is then called again", async () => {
    const playing = play([toolCall("final_answer"), text("42, or so.")], ({ control }) => ({
      tools,
      middleware: [
        stopWhen(({ response }) => {
          if (response.calls.length > 0) control.steer("Round it.");
          return response.calls.length > 0;
        }),
      ],
    }));
    const result = await playing.result;
    expect([endOf(result), linesOf(result.messages)]).toEqual([
      ["completed", { kind: "answered" }, []],
      ["user: Go.", "assistant: [call_i0_0]", "tool: call_i0_0 not-run", "user: Round it.", "assistant: 42, or so."],
    ]);
  });
});

describe("stopWhen with a list of conditions", () => {
  it("calls the conditions in order until one of them stops the run", async () => {
    const asked: string[] = [];
    const says =
      (name: string, answer: ReturnType<StopCondition>): StopCondition =>
      () => (asked.push(name), answer);
    const conditions = [
      says("no", false),
      says("go on", { kind: "continue" }),
      says("late", Promise.resolve({ kind: "stop", reason: "late" })),
      says("yes", true),
    ];
    const result = await play([text("Fine.")], stopping(conditions)).result;
    expect([result.reason, asked]).toEqual([{ kind: "stop-condition", reason: "late" }, ["no", "go on", "late"]]);
  });

  it("ignores later additions to an empty list", async () => {
    const conditions: StopCondition[] = [];
    const playing = play([text("Fine.")], stopping(conditions));
    conditions.push(() => true);
    expect((await playing.result).reason.kind).toBe("answered");
  });

  it.for<[title: string, condition: StopCondition, count: number]>([
    ["iterationCountIs(2)", iterationCountIs(2), 2],
    ["toolCallCountIs(2)", toolCallCountIs(2), 3],
    ["tokenBudget(20)", tokenBudget(20), 2],
    ["textMatches(/look 4/i)", textMatches(/look 4/i), 4],
  ])("ends the run if the second condition, %s, returns true", async ([, condition, count]) => {
    const script: MockScript = (_, index) => [
      text(`Look ${index + 1}.`),
      toolCall("echo"),
      usage({ inputTokens: 9, outputTokens: 1 }),
    ];
    const result = await play(script, stopping([() => false, condition])).result;
    expect([result.reason.kind, result.iterations, result.pendingCalls.length]).toEqual(["stop-condition", count, 1]);
  });
});

it("stopWhen receives the run's state, including the current response", async () => {
  const seen: unknown[] = [];
  const see = ({ response, totalUsage, lastToolResults, ...rest }: StopContext): boolean => {
    seen.push([rest, response.text, totalUsage.totalTokens, lastToolResults.map(({ kind }) => kind)]);
    return false;
  };
  const tokens = usage({ inputTokens: 9, outputTokens: 1 });
  await play(
    [
      [text("One. "), toolCall("echo"), toolCall("nope"), tokens],
      [text("Two."), tokens],
    ],
    {
      ...stopping(see),
      pricing: () => 0.25,
    },
  ).result;
  expect(seen).toEqual([
    [{ iteration: 1, costUSD: 0.25, toolCallsExecuted: 0 }, "One. ", 10, []],
    [{ iteration: 2, costUSD: 0.5, toolCallsExecuted: 1 }, "Two.", 20, ["completed", "unknown-tool"]],
  ]);
});

describe("stopWhen for a message with a continuation", () => {
  const continuations: MockScript = [
    [text("One "), toolCall("echo", {}, { id: "a" }), finish("paused")],
    [text("two"), toolCall("final_answer", {}, { id: "b" })],
  ];

  it("calls the condition once for the whole message", async () => {
    const seen: unknown[] = [];
    const see: StopCondition = ({ iteration, response }) =>
      seen.push([iteration, response.text, response.calls.map(({ callId }) => callId)]) > 9;
    await play([...continuations, text("Done.")], stopping(see)).result;
    expect(seen).toEqual([
      [1, "One two", ["a", "b"]],
      [2, "Done.", []],
    ]);
  });

  it("puts all of the message's calls into pendingCalls", async () => {
    const result = await play(continuations, stopping(hasToolCall("echo"))).result;
    expect([endOf(result), outcomesOf(result)]).toEqual([
      ["completed", { kind: "stop-condition" }, ["a", "b"]],
      ["a: not-run", "b: not-run"],
    ]);
  });
});

it.for<[title: string, turn: MockMessage]>([
  ["a failed stream", [text("Par"), fail({ status: 503 })]],
  ["an empty message", finish("stop")],
])("stopWhen is not called after %s", async ([, turn]) => {
  let asked = 0;
  await play(
    [turn],
    stopping(() => ((asked += 1), true)),
  ).result;
  expect(asked).toBe(0);
});

it("stopWhen is not called for the final answer at a limit", async () => {
  const asked: number[] = [];
  const result = await play([toolCall("echo"), text("In short: no.")], {
    tools,
    limits: { maxIterations: 1 },
    middleware: [stopWhen(({ iteration }) => asked.push(iteration) > 1), finalAnswer()],
  }).result;
  expect([asked, result.reason.kind, result.finalAnswer]).toEqual([[1], "max-iterations", true]);
});

it.for<[title: string, given: unknown, expected: string]>([
  ["a string", "final_answer", 'Option "stopWhen" is "final_answer", but must be a function, or an array of functions.'],
  [
    "an array with a number",
    [() => true, 1],
    'Option "stopWhen" is an array of 2 items, but must be a function, or an array of functions.',
  ],
])("stopWhen throws for %s", ([, given, message]) => {
  expect(() => stopWhen(given as never)).toThrow(expect.objectContaining({ code: "invalid-option", message }));
});
