import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  FatalToolError,
  finalAnswer,
  isLoopError,
  type LoopEvent,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  onIteration,
  prepareIteration,
  toolResult,
  type UserMessage,
} from "turnwright";
import { fail, finish, type MockMessage, recordEvents, stall, text, toolCall, wait } from "turnwright/testing";
import { play, tool } from "./play.ts";
import type { Stage } from "./scenarios/stage.ts";
import { linesOf, textsOf } from "./transcript-lines.ts";

const quick = tool("quick", () => "done");

function steerIn(at: number): (stage: Stage) => readonly [Middleware] {
  let isDone = false;
  return ({ control }) => [
    prepareIteration(({ iteration }) => {
      if (iteration !== at || isDone) return;
      isDone = true;
      control.steer("Hey.");
    }),
  ];
}

describe("control.steer()", () => {
  it("sends messages in order, after all results and before the next request", async () => {
    const script = [[toolCall("slow"), toolCall("alone"), toolCall("quick")], text("Done.")];
    const playing = play(script, ({ clock, control }) => {
      const slow = tool("slow", () => new Promise((resolve) => clock.setTimeout(() => resolve(1), 10)));
      const alone = tool("alone", () => control.steer("third"), { sequential: true });
      return { tools: [slow, alone, tool("quick", () => control.steer("fourth"))] };
    });
    playing.control.steer("first");
    await playing.clock.advance(5);
    playing.control.steer("second");
    await playing.clock.runAll();
    const result = await playing.result;
    expect(playing.provider.requests.map((request) => linesOf(request.messages))).toEqual([
      ["user: Go.", "user: first"],
      [
        "user: Go.",
        "user: first",
        "assistant: [call_i0_0][call_i0_1][call_i0_2]",
        "tool: call_i0_0 completed, call_i0_1 completed, call_i0_2 completed",
        "user: second",
        "user: third",
        "user: fourth",
      ],
    ]);
    expect([result.reason.kind, result.text, result.undelivered]).toEqual(["answered", "Done.", []]);
  });

  it("does not change a message that consists of parts", async () => {
    const message: UserMessage = {
      role: "user",
      content: [
        { type: "text", text: "Like this:" },
        { type: "image", mediaType: "image/png", data: "aGk=" },
      ],
    };
    const playing = play([text("Hi."), text("Nice.")], ({ control }) => ({
      middleware: [prepareIteration(({ iteration }) => void (iteration === 0 && control.steer(message)))],
    }));
    expect((await playing.result).messages[2]).toEqual(message);
  });

  it('emits "steered" before the iteration that sends the message, even in a replay', async () => {
    const playing = play([toolCall("quick"), text("Hi."), text("Again.")], (stage) => ({
      tools: [quick],
      middleware: steerIn(1)(stage),
    }));
    const heard = recordEvents(playing.recording.emitter, ["iteration-start", "steered", "iteration-end"]);
    playing.control.steer("First.");
    playing.recording.emitter.on("tool-start", () => void playing.control.interrupt("Never sent."));
    const result = await playing.result;
    expect(textsOf(result.undelivered)).toEqual(["Never sent."]);
    expect(linesOf(result.messages).filter((line) => line.startsWith("user"))).toEqual([
      "user: Go.",
      "user: First.",
      "user: Hey.",
    ]);
    const told = (event: LoopEvent): string =>
      `${event.type} ${event.iteration}${event.type === "steered" ? ` ${textsOf([event.message]).join()}` : ""}`;
    expect(heard.events.map(told)).toEqual([
      "steered 0 First.",
      "iteration-start 0",
      "iteration-end 0",
      "iteration-start 1",
      "iteration-end 1",
      "steered 2 Hey.",
      "iteration-start 2",
      "iteration-end 2",
    ]);
    expect(heard.events.filter((event) => event.replayed)).toEqual([]);

    const journal = memoryJournal(JSON.parse(JSON.stringify(result.journal)));
    const hooks = [prepareIteration(() => ({}))];
    const again = play([], { tools: [quick], runId: result.runId, journal, middleware: hooks });
    const heardAgain = recordEvents(again.recording.emitter, ["iteration-start", "steered", "iteration-end"]);
    expect((await again.result).messages).toEqual(result.messages);
    expect(heardAgain.events.map(told)).toEqual(heard.events.map(told));
    expect(heardAgain.events.filter((event) => !event.replayed)).toEqual([]);
  });

  it("keeps the message if its iteration is retried", async () => {
    const first = play([[text("Let me "), fail({ status: 503 })]], { runId: "again" });
    first.control.steer("Hey.");
    const journal = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal)));
    const again = play([text("Done.")], { runId: "again", journal, resume: "retry-last" });
    expect(linesOf((await again.result).messages)).toEqual(["user: Go.", "user: Hey.", "assistant: Done."]);
  });

  it("sends the message after all of a paused message's continuations", async () => {
    const script = [
      [text("One, "), finish("paused")],
      [text("two, "), finish("continue", { token: "t" })],
      text("three."),
      text("Four."),
    ];
    const playing = play(script, (stage) => ({ middleware: steerIn(0)(stage) }));
    const result = await playing.result;
    expect(playing.provider.requests.map(({ messages }) => linesOf(messages).slice(1))).toEqual([
      [],
      ["assistant: One, "],
      ["assistant: One, "],
      ["assistant: One, two, three.", "user: Hey."],
    ]);
    expect(linesOf(result.messages).at(-1)).toBe("assistant: Four.");
  });

  it("returns the message in result.undelivered if the model answers in the last allowed iteration", async () => {
    const playing = play([toolCall("quick"), text("Done.")], (stage) => ({
      tools: [quick],
      limits: { maxIterations: 2 },
      middleware: steerIn(1)(stage),
    }));
    const result = await playing.result;
    expect([result.status, result.reason, result.text, textsOf(result.undelivered), playing.provider.calls]).toEqual([
      "completed",
      { kind: "answered" },
      "Done.",
      ["Hey."],
      2,
    ]);
  });

  it("adds one iteration per message, up to maxIterations", async () => {
    const playing = play(
      () => text("Yes?"),
      ({ control }) => ({
        limits: { maxIterations: 4 },
        middleware: [prepareIteration(({ iteration }) => void control.steer(`${iteration}`))],
      }),
    );
    const result = await playing.result;
    expect([result.status, result.iterations, textsOf(result.undelivered)]).toEqual(["completed", 4, ["3"]]);
    expect(linesOf(result.messages).filter((line) => line.startsWith("user"))).toEqual([
      "user: Go.",
      "user: 0",
      "user: 1",
      "user: 2",
    ]);
  });
});

const calls = [toolCall("quick")];
const fatal = tool("fatal", () => Promise.reject(new FatalToolError("gone")));
const over = tool("over", () => toolResult({ data: 1, endTurn: true }));

it("control.steer() sends the message with the request for the final answer", async () => {
  const { result, provider } = play([toolCall("look"), text("In short.")], ({ control }) => ({
    tools: [tool("look", () => void control.steer("Hey."))],
    limits: { maxIterations: 1 },
    middleware: [finalAnswer()],
  }));
  const { reason, text: said, undelivered, finalAnswer: hasFinalAnswer } = await result;
  expect([reason.kind, said, undelivered, hasFinalAnswer]).toEqual(["max-iterations", "In short.", [], true]);
  expect(provider.requests.at(-1)).toMatchObject({ toolChoice: "none" });
  expect(linesOf(provider.requests.at(-1)?.messages ?? []).at(-1)).toBe("user: Hey.");
});

describe("control.steer() in the last iteration", () => {
  it.for<[ending: string, turn: MockMessage]>([
    ["an answer", text("Hi.")],
    ["a truncated answer", [text("Hi"), finish("length")]],
    ["a refusal", [text("No."), finish("refusal")]],
    ["a filtered answer", finish("content-filter")],
    ["a tool with endTurn", toolCall("over")],
    ["an empty message", finish("stop")],
  ])("continues the run after %s", async ([, turn]) => {
    const playing = play([turn, text("Once more.")], (stage) => ({ tools: [over], middleware: steerIn(0)(stage) }));
    const result = await playing.result;
    expect([result.status, result.text, result.undelivered, playing.provider.calls]).toEqual(["completed", "Once more.", [], 2]);
    expect(linesOf(result.messages).slice(-2)).toEqual(["user: Hey.", "assistant: Once more."]);
  });

  it.for<[reason: string, turn: MockMessage, options?: Partial<LoopOptions>]>([
    ["provider-error", fail({ status: 500 })],
    ["malformed-call", toolCall(" ")],
    ["fatal-tool-error", toolCall("fatal")],
    ["tool-error-cap", toolCall("none"), { limits: { maxConsecutiveToolErrors: 1 } }],
    ["max-pauses", finish("paused"), { limits: { maxPauses: 0 } }],
    ["max-iterations", calls, { limits: { maxIterations: 1 } }],
    ["max-tokens", calls, { limits: { maxTokens: 1 } }],
    ["stream-idle", [text("And"), stall()]],
    ["wall-clock", [text("And"), stall()], { limits: { wallClockMs: 10 } }],
    ["wall-clock", [wait(20), text("Done.")], { limits: { wallClockMs: 10 }, timeouts: { toolCleanupMs: 50 } }],
  ])('returns the message in result.undelivered if the run ends with "%s" (case %#)', async ([reason, turn, options]) => {
    const playing = play([turn], (stage) => ({ tools: [quick, fatal], ...options, middleware: steerIn(0)(stage) }));
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, textsOf(result.undelivered), playing.provider.calls]).toEqual([reason, ["Hey."], 1]);
  });

  it("returns the message in result.undelivered if onIteration aborts the run", async () => {
    const playing = play([toolCall("quick")], (stage) => ({
      tools: [quick],
      middleware: [onIteration(() => ({ abort: true })), ...steerIn(0)(stage)],
    }));
    const result = await playing.result;
    expect([result.reason.kind, textsOf(result.undelivered)]).toEqual(["iteration-abort", ["Hey."]]);
  });
});

const hostile = {
  role: "user",
  content: "x",
  get extra() {
    throw new Error("boo");
  },
};

it.for<[what: string, message: unknown]>([
  ["undefined", undefined],
  ["a number", 7],
  ["a blank string", " \n"],
  ["a message with empty content", { role: "user", content: "" }],
  ["an assistant message", { role: "assistant", content: [] }],
  ["a message without content", { role: "user" }],
  ["a message with an unknown part", { role: "user", content: [{ type: "smell" }] }],
  ["a message with a BigInt", { role: "user", content: "x", big: 7n }],
  ["a message with a getter that throws", hostile],
])("control.steer() and control.interrupt() reject %s", async ([, message]) => {
  const control = createLoopControl();
  for (const verb of ["steer", "interrupt"] as const) {
    const call = (): unknown => control[verb](message as string);
    expect(call).toThrow(
      new RegExp(`Option "control.${verb}" is .*, but must be a non-blank string or a message with the role "user"`),
    );
    try {
      call();
    } catch (error) {
      expect(isLoopError(error, "invalid-option")).toBe(true);
    }
  }
  const playing = play([text("Hi.")], { control });
  expect(linesOf((await playing.result).messages)).toEqual(["user: Go.", "assistant: Hi."]);
});
