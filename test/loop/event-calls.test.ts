import { describe, expect, it } from "vitest";
import { contextRestart, contextRestarts, gateTools, type LoopEvent, type ModelChunk, providerError } from "turnwright";
import { chunk, createTestClock, fail, finish, type MockPart, type MockMessage, text, toolCall, wait } from "turnwright/testing";
import { checkCallEvents } from "./check-call-events.ts";
import { play, tool } from "./play.ts";

const ok = tool("ok", () => 1);
const call = (name: string, id?: string): MockPart => toolCall(name, {}, { id, fragments: 0 });
const said = (...chunks: readonly ModelChunk[]): readonly MockPart[] => chunks.map(chunk);
const start = (key: string, name: string, id?: string): ModelChunk => ({ type: "call-start", key, id, name });
const delta = (key: string, piece: string): ModelChunk => ({ type: "call-args-delta", key, text: piece });
const ready = (key: string, name: string, id?: string): ModelChunk => ({ type: "call-ready", key, id, name, args: {} });

const told = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => ("callId" in event ? [`${event.type} ${event.callId} ${event.index}`] : []));

const whole = (id: string, index: number): readonly string[] =>
  ["tool-args-end", "tool-start", "tool-end"].map((type) => `${type} ${id} ${index}`);

describe("callId and index in events", () => {
  it.for<[what: string, turn: MockMessage, lines: readonly string[], ids: readonly (string | undefined)[]]>([
    [
      "if the provider sends the id immediately",
      said(start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "x")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["x"],
    ],
    [
      "if the provider sends the id after the first arguments",
      said(start("a", "ok"), delta("a", "{"), delta("a", "}"), ready("a", "ok", "x")),
      ["tool-args-delta call_i0_0 0", "tool-args-delta call_i0_0 0", ...whole("call_i0_0", 0)],
      ["x"],
    ],
    [
      "if the provider sends the id late, but before the arguments",
      said(start("a", "ok"), start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "x")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["x"],
    ],
    [
      "if the provider changes the id",
      said(start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "y")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["y"],
    ],
    [
      "if the arguments of two calls with the same id interleave",
      said(start("a", "ok", "x"), start("b", "ok", "x"), delta("b", "{}"), delta("a", "{}"), ready("b", "ok"), ready("a", "ok")),
      [
        "tool-args-delta call_i0_1 1",
        "tool-args-delta x 0",
        "tool-args-end call_i0_1 1",
        ...["tool-args-end x 0", "tool-start x 0", "tool-start call_i0_1 1", "tool-end x 0", "tool-end call_i0_1 1"],
      ],
      ["x", "x"],
    ],
    [
      "if the provider names the tool after the first arguments",
      said(delta("a", "{"), start("b", "ok"), ready("b", "ok"), start("a", "ok"), delta("a", "}"), ready("a", "ok")),
      [
        ...[
          "tool-args-end call_i0_0 0",
          "tool-args-delta call_i0_1 1",
          "tool-args-delta call_i0_1 1",
          "tool-args-end call_i0_1 1",
        ],
        ...["tool-start call_i0_0 0", "tool-start call_i0_1 1", "tool-end call_i0_0 0", "tool-end call_i0_1 1"],
      ],
      [undefined, undefined],
    ],
    [
      "after a call that was cut off before its name",
      [...said(delta("a", "{"), ready("b", "ok")), finish("tool-calls")],
      whole("call_i0_0", 0),
      [undefined],
    ],
    [
      "if a discarded attempt had the same id",
      said(
        { type: "attempt-start", attempt: 1, provider: "p", model: "m" },
        ...[start("a", "ok", "x"), delta("a", "{")],
        { type: "attempt-discarded", attempt: 1, error: providerError("overloaded", "Busy.") },
        { type: "attempt-start", attempt: 2, provider: "p", model: "m" },
        ready("a", "ok", "x"),
      ),
      ["tool-args-delta x 0", ...whole("call_i0_0", 0)],
      ["x"],
    ],
  ])("stay the same %s", async ([, turn, lines, ids]) => {
    const playing = play([turn, text("Done.")], { tools: [ok] });
    const { messages, streamResults } = await playing.result;
    expect(told(playing.recording.events)).toEqual(lines);
    expect(streamResults[0]?.calls.map(({ providerCallId }) => providerCallId)).toEqual(ids);
    expect(messages.some(({ role }) => role === "tool")).toBe(true);
    checkCallEvents(playing.recording.events);
    // A run without listeners must make the same call ids.
    const quiet = play([turn, text("Done.")], { tools: [ok], events: undefined });
    expect((await quiet.result).messages).toEqual(messages);
  });

  it("stay the same if an attempt before a pause was discarded", async () => {
    const taken = said({ type: "attempt-start", attempt: 1, provider: "p", model: "m" }, ...[start("a", "ok"), delta("a", "{")], {
      type: "attempt-discarded",
      attempt: 1,
      error: providerError("overloaded", "Busy."),
    });
    const playing = play([[...taken, finish("paused")], toolCall("ok", {}, { fragments: 0 }), text("Done.")], { tools: [ok] });
    await playing.result;
    expect(told(playing.recording.events)).toEqual(["tool-args-delta call_i0_0 0", ...whole("call_i0_0_1", 0)]);
  });

  it('are set in "restart" and "hidden-notice" events', async () => {
    const enrich = tool("enrich", () => contextRestart({ type: "context_restart_profile" }));
    const triggerMatchByToolName = new Map([["enrich", { trigger: "who*", match: "who", source: "stem" as const }]]);
    const gate = { active: true, allowedNames: ["enrich", "ok"], triggerMatchByToolName };
    const playing = play([[call("ok"), call("enrich")], text("Done.")], {
      tools: [ok, enrich],
      middleware: [contextRestarts(), gateTools(gate)],
    });
    await playing.result;
    expect(playing.recording.of("restart")).toMatchObject([{ callId: "call_i0_1", index: 1 }]);
    expect(playing.recording.of("hidden-notice")).toMatchObject([{ callId: "call_i0_1", index: 1 }]);
  });

  it("are set in the late-result event for a call from an earlier iteration", async () => {
    const clock = createTestClock();
    const late = tool("late", () => new Promise((resolve) => void clock.setTimeout(() => resolve(1), 50)), { timeoutMs: 10 });
    const playing = play([[call("ok"), call("late")], call("ok"), [wait(100), text("Done.")]], { clock, tools: [ok, late] });
    await clock.advance(1_000);
    await playing.result;
    expect(playing.recording.of("late-result")).toMatchObject([{ callId: "call_i0_1", index: 1, iteration: 2 }]);
  });
});

describe("the tool-args-end event", () => {
  it.for<[what: string, turn: MockMessage, ends: readonly unknown[]]>([
    ["complete arguments", toolCall("ok", { a: 1 }), [{ args: { a: 1 }, problem: undefined }]],
    ["arguments that are not JSON", toolCall("ok", {}, { rawArgs: "{" }), [{ args: {}, problem: "malformed" }]],
    [
      "arguments that the provider marks as truncated",
      said({ ...ready("a", "ok"), problem: "truncated" } as ModelChunk),
      [{ problem: "truncated" }],
    ],
    [
      "arguments cut off by the end of the stream",
      [...said(start("a", "ok"), delta("a", '{"a"'))],
      [{ args: {}, problem: "truncated" }],
    ],
    [
      "arguments followed by a provider error",
      [...said(start("a", "ok"), delta("a", '{"a":1}')), fail({ status: 500 })],
      [{ args: { a: 1 } }],
    ],
    ["complete arguments in a truncated message", [toolCall("ok"), finish("length")], [{ args: {}, problem: undefined }]],
  ])("is emitted once for a call with %s", async ([, turn, ends]) => {
    const playing = play([turn, text("Done.")], { tools: [ok] });
    await playing.result;
    expect(playing.recording.of("tool-args-end")).toMatchObject(ends);
    checkCallEvents(playing.recording.events);
  });
});
