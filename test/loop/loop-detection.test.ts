import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  detectLoops,
  finalAnswer,
  type LoopOptions,
  type Middleware,
  prepareIteration,
  stopWhen,
} from "turnwright";
import type { LoopDetectionOptions } from "../../src/core/types/middleware-options.ts";
import { finish, type MockScript, text, toolCall } from "turnwright/testing";
import { outcomesOf, play, tool } from "./play.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const echo = tool("echo", (args) => args);
const look = tool("look", (args) => args);
const watching = (options: LoopDetectionOptions, others: readonly Middleware[] = []): Partial<LoopOptions> => ({
  tools: [echo, look],
  middleware: [...others, detectLoops(options)],
});
const warning = (count: number): string =>
  `user: You repeated identical tool calls ${count} times. Change your approach or answer.`;

/** Creates a script with one iteration per letter: a lower-case letter calls `echo`, an upper-case letter calls `look`. */
function calling(letters: string): MockScript {
  const turns = Array.from(letters, (letter) => toolCall(letter < "a" ? "look" : "echo", { letter }));
  return [...turns, text("Done.")];
}

const heard = ({ recording }: ReturnType<typeof play>): readonly string[] =>
  recording.of("loop-detected").map(({ iteration, toolName, count, cycle }) => `${iteration}: ${toolName} ${count}x${cycle}`);

describe("detectLoops", () => {
  it.for<[title: string, calls: string, policy: LoopDetectionOptions, told: readonly string[]]>([
    ["reports three identical calls by default", "aaa", {}, ["2: echo 3x1"]],
    ["reports nothing for two identical calls by default", "aa", {}, []],
    ["reports a growing loop again at six identical calls", "aaaaaa", {}, ["2: echo 3x1", "5: echo 6x1"]],
    ["reports nothing if a different call separates the identical calls", "aabaa", {}, []],
    ["reports three repeats of a cycle of two iterations", "AbAbAb", {}, ["5: echo 3x2"]],
    ["reports three repeats of a cycle of four iterations", "aBcdaBcdaBcd", {}, ["11: echo 3x4"]],
    ["reports no cycle of five iterations by default", "abcdeabcdeabcde", {}, []],
    ["reports a cycle of five iterations with maxCycle: 5", "abcdeabcde", { maxCycle: 5, threshold: 2 }, ["9: echo 2x5"]],
    ["reports no cycle of two iterations with maxCycle: 1", "ababab", { maxCycle: 1 }, []],
    ["reports two identical calls with threshold: 2", "AA", { threshold: 2 }, ["1: look 2x1"]],
  ])("%s", async ([, calls, policy, told]) => {
    const playing = play(calling(calls), watching(policy));
    const result = await playing.result;
    expect([heard(playing), result.reason.kind, result.toolCallsExecuted]).toEqual([told, "answered", calls.length]);
    expect(playing.recording.of("loop-detected").every(({ action }) => action === "warn")).toBe(true);
  });

  it.for<[title: string, copies: readonly number[], policy: LoopDetectionOptions, told: readonly string[]]>([
    ["reports identical calls in one message", [3], {}, ["0: echo 3x1"]],
    ["reports more identical calls in one message than the threshold", [5], {}, ["0: echo 5x1"]],
    ["reports identical calls in two messages", [2, 1], {}, ["1: echo 3x1"]],
    ["reports nothing for two identical calls in one message", [2], {}, []],
    ["reports identical calls in one message with compareResults", [3], { compareResults: true }, ["0: echo 3x1"]],
  ])("%s", async ([, copies, policy, told]) => {
    const turns = copies.map((count) => Array.from({ length: count }, () => toolCall("echo")));
    const playing = play([...turns, text("Done.")], watching(policy));
    await playing.result;
    expect(heard(playing)).toEqual(told);
  });

  it("with compareResults, warns about equal calls in one message only if their results are equal", async () => {
    let count = 0;
    const next = tool("next", () => (count += 1));
    const middleware = [detectLoops({ compareResults: true, action: "inject-warning" })];
    const warned = async (name: string): Promise<boolean> => {
      const turn = [toolCall(name), toolCall(name), toolCall(name)];
      const { messages } = await play([turn, text("Done.")], { tools: [echo, next], middleware }).result;
      return linesOf(messages).includes(warning(3));
    };
    expect([await warned("echo"), await warned("next")]).toEqual([true, false]);
  });

  it("is off by default", async () => {
    const playing = play(calling("aaaaaa"), { tools: [echo] });
    await playing.result;
    expect(heard(playing)).toEqual([]);
  });

  it('emits "loop-detected" between the stream and the calls', async () => {
    const playing = play(calling("aa"), watching({ threshold: 2 }));
    await playing.result;
    expect(playing.recording.types().slice(7, 13)).toEqual([
      "iteration-start",
      "tool-args-delta",
      "tool-args-end",
      "loop-detected",
      "tool-start",
      "tool-end",
    ]);
  });

  it("treats calls and arguments in a different order as equal", async () => {
    const calls = [toolCall("look", { a: 1, b: [2] }), toolCall("echo")];
    const playing = play(
      [calls, [toolCall("echo"), toolCall("look", { b: [2], a: 1 })], text("Done.")],
      watching({ threshold: 2 }),
    );
    await playing.result;
    expect(heard(playing)).toEqual(["1: echo 2x1"]);
  });

  it("treats a message that arrives in several streams as one message", async () => {
    const paused: MockScript = [
      [toolCall("echo"), finish("paused")],
      [toolCall("look"), finish("tool-calls")],
    ];
    const playing = play([...paused, [toolCall("echo"), toolCall("look")], ...paused, text("Done.")], watching({}));
    await playing.result;
    expect(heard(playing)).toEqual(["2: echo 3x1"]);
  });

  it("counts calls that never run", async () => {
    const broken = toolCall("echo", {}, { rawArgs: "{" });
    const other = toolCall("echo", {}, { rawArgs: "[" });
    const playing = play([broken, broken, other, broken, text("Sorry.")], watching({ threshold: 2 }));
    await playing.result;
    expect(heard(playing)).toEqual(["1: echo 2x1"]);
  });
});

describe('detectLoops with the action "inject-warning"', () => {
  it("sends a warning to the model after the results", async () => {
    const playing = play(calling("aaa"), watching({ threshold: 2, action: "inject-warning" }));
    const result = await playing.result;
    expect(linesOf(result.messages)).toEqual([
      "user: Go.",
      "assistant: [call_i0_0]",
      "tool: call_i0_0 completed",
      "assistant: [call_i1_0]",
      "tool: call_i1_0 completed",
      warning(2),
      "assistant: [call_i2_0]",
      "tool: call_i2_0 completed",
      "assistant: Done.",
    ]);
    expect(playing.recording.of("loop-detected").map(({ action }) => action)).toEqual(["inject-warning"]);
  });
});

describe('detectLoops with the action "stop"', () => {
  it("ends the run before the calls run", async () => {
    const playing = play(calling("AbAb"), watching({ threshold: 2, action: "stop" }));
    const result = await playing.result;
    expect([result.status, result.reason]).toEqual(["error", { kind: "loop-detected", toolName: "echo", count: 2 }]);
    expect(outcomesOf(result)).toEqual([
      "call_i0_0: completed",
      "call_i1_0: completed",
      "call_i2_0: completed",
      "call_i3_0: not-run",
    ]);
    expect([result.toolCallsExecuted, result.pendingCalls, heard(playing)]).toEqual([3, [], ["3: echo 2x2"]]);
  });

  it("does not replace the end reason of stopWhen or of a call without a name", async () => {
    const policy = { threshold: 2, action: "stop" } as const;
    const stopped = play(calling("aa"), {
      tools: [echo],
      middleware: [detectLoops(policy), stopWhen(({ iteration }) => iteration === 2)],
    });
    expect([(await stopped.result).reason.kind, heard(stopped)]).toEqual(["stop-condition", []]);
    const nameless = [toolCall("echo"), toolCall(" ")];
    const broken = play([toolCall("echo"), nameless], watching(policy));
    expect((await broken.result).reason.kind).toBe("malformed-call");
  });

  it("leaves a steered message undelivered", async () => {
    const playing = play(calling("aa"), ({ control }) => ({
      ...watching({ threshold: 2, action: "stop" }, [
        prepareIteration(({ iteration }) => void (iteration === 1 && control.steer("Stop that."))),
      ]),
    }));
    const result = await playing.result;
    expect([result.reason.kind, textsOf(result.undelivered)]).toEqual(["loop-detected", ["Stop that."]]);
  });
});

describe("detectLoops with compareResults", () => {
  const results = (...values: readonly string[]): Partial<LoopOptions> => {
    const left = [...values];
    return { tools: [tool("echo", () => left.shift())] };
  };

  it.for<[title: string, values: readonly string[], compareResults: boolean, told: readonly string[]]>([
    ["reports identical calls with different results if compareResults is false", ["1", "2", "3", "4"], false, ["2: echo 3x1"]],
    ["ignores identical calls with different results if compareResults is true", ["1", "2", "3", "4"], true, []],
    ["reports identical calls with identical results if compareResults is true", ["1", "1", "1", "1"], true, ["2: echo 3x1"]],
    [
      "counts identical calls again from the last different result if compareResults is true",
      ["1", "2", "2", "2"],
      true,
      ["3: echo 3x1"],
    ],
    // In this row, the third call would return a different result. But the loop is reported before that call runs.
    [
      "reports a loop before the third call runs, although its result differs, if compareResults is true",
      ["1", "1", "2", "2"],
      true,
      ["2: echo 3x1"],
    ],
  ])("%s", async ([, values, compareResults, told]) => {
    const playing = play(calling("aaaa"), {
      ...results(...values),
      middleware: [detectLoops({ compareResults })],
    });
    await playing.result;
    expect(heard(playing)).toEqual(told);
  });

  it("does not send a warning to the model if the last result differs", async () => {
    const lines = async (...values: readonly string[]): Promise<readonly string[]> => {
      const loopDetection = detectLoops({ compareResults: true, action: "inject-warning" });
      return linesOf((await play(calling("aaa"), { ...results(...values), middleware: [loopDetection] }).result).messages);
    };
    expect(await lines("1", "1", "1")).toContain(warning(3));
    expect((await lines("1", "1", "2")).filter((line) => line.startsWith("user:"))).toEqual(["user: Go."]);
  });

  it("treats equal failures as equal results", async () => {
    const broken = tool("echo", () => Promise.reject(new Error("no")));
    const playing = play(calling("aaa"), { tools: [broken], middleware: [detectLoops({ compareResults: true })] });
    await playing.result;
    expect(heard(playing)).toEqual(["2: echo 3x1"]);
  });
});

it("detectLoops counts from 0 again after a steered message", async () => {
  const control = createLoopControl();
  let calls = 0;
  const again = tool("echo", () => {
    calls += 1;
    if (calls === 2) control.steer("Try it once more.");
  });
  const playing = play(calling("aaaaa"), { control, tools: [again], middleware: [detectLoops()] });
  await playing.result;
  expect(heard(playing)).toEqual(["4: echo 3x1"]);
});

it("detectLoops does not report calls in the final answer", async () => {
  const playing = play(calling("aaa"), {
    tools: [echo],
    limits: { maxIterations: 2 },
    middleware: [detectLoops({ threshold: 2 }), finalAnswer()],
  });
  expect([(await playing.result).reason.kind, heard(playing)]).toEqual(["max-iterations", ["1: echo 2x1"]]);
});

it.for<[title: string, option: string, policy: object, expected: string]>([
  ["a threshold of 1", "threshold", { threshold: 1 }, "is 1, but must be a whole number of at least 2, or Infinity"],
  ["an unknown action", "action", { action: "end" }, 'is "end", but must be "warn", "stop" or "inject-warning"'],
  ["a maxCycle of 0", "maxCycle", { maxCycle: 0 }, "is 0, but must be a whole number from 1 to 100"],
  [
    "an infinite maxCycle",
    "maxCycle",
    { maxCycle: Number.POSITIVE_INFINITY },
    "is Infinity, but must be a whole number from 1 to 100",
  ],
  ["a compareResults that is a number", "compareResults", { compareResults: 1 }, "is 1, but must be true or false"],
])("detectLoops throws for %s", ([, option, policy, expected]) => {
  expect(() => detectLoops(policy)).toThrow(`Option "detectLoops.${option}" ${expected}.`);
});
