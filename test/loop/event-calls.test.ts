// Events say which call they belong to.

import { describe, expect, it } from "vitest";
import { contextRestart, type LoopEvent, type ModelChunk, providerError } from "turnwright";
import { chunk, createTestClock, fail, finish, type MockPart, type MockMessage, text, toolCall, wait } from "turnwright/testing";
import { checkCallEvents } from "./check-call-events.ts";
import { play, tool } from "./play.ts";

const ok = tool("ok", () => 1);
const call = (name: string, id?: string): MockPart => toolCall(name, {}, { id, fragments: 0 });
const said = (...chunks: readonly ModelChunk[]): readonly MockPart[] => chunks.map(chunk);
const start = (key: string, name: string, id?: string): ModelChunk => ({ type: "call-start", key, id, name });
const delta = (key: string, piece: string): ModelChunk => ({ type: "call-args-delta", key, text: piece });
const ready = (key: string, name: string, id?: string): ModelChunk => ({ type: "call-ready", key, id, name, args: {} });

/** The events of all calls: type, id and index. */
const told = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => ("callId" in event ? [`${event.type} ${event.callId} ${event.index}`] : []));

/** A call that begins and ends. */
const whole = (id: string, index: number): readonly string[] =>
  ["tool-args-end", "tool-start", "tool-end"].map((type) => `${type} ${id} ${index}`);

describe("the events of a call name it by the same id and index", () => {
  it.for<[what: string, turn: MockMessage, lines: readonly string[], ids: readonly (string | undefined)[]]>([
    [
      "if the wire gives the id at once",
      said(start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "x")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["x"],
    ],
    [
      "if the wire gives the id after the arguments have begun",
      said(start("a", "ok"), delta("a", "{"), delta("a", "}"), ready("a", "ok", "x")),
      ["tool-args-delta call_i0_0 0", "tool-args-delta call_i0_0 0", ...whole("call_i0_0", 0)],
      ["x"],
    ],
    [
      "if the wire gives the id before the arguments have begun",
      said(start("a", "ok"), start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "x")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["x"],
    ],
    [
      "if the wire changes the id",
      said(start("a", "ok", "x"), delta("a", "{}"), ready("a", "ok", "y")),
      ["tool-args-delta x 0", ...whole("x", 0)],
      ["y"],
    ],
    [
      "if two calls have one id, whose arguments come in turns",
      said(start("a", "ok", "x"), start("b", "ok", "x"), delta("b", "{}"), delta("a", "{}"), ready("b", "ok"), ready("a", "ok")),
      [
        "tool-args-delta call_i0_1 1",
        "tool-args-delta x 0",
        "tool-args-end call_i0_1 1",
        ...["tool-args-end x 0", "tool-start x 0", "tool-end x 0", "tool-start call_i0_1 1", "tool-end call_i0_1 1"],
      ],
      ["x", "x"],
    ],
    [
      "if the wire names the tool late: no piece is told before that",
      said(delta("a", "{"), start("b", "ok"), ready("b", "ok"), start("a", "ok"), delta("a", "}"), ready("a", "ok")),
      [
        ...[
          "tool-args-end call_i0_0 0",
          "tool-args-delta call_i0_1 1",
          "tool-args-delta call_i0_1 1",
          "tool-args-end call_i0_1 1",
        ],
        ...["tool-start call_i0_0 0", "tool-end call_i0_0 0", "tool-start call_i0_1 1", "tool-end call_i0_1 1"],
      ],
      [undefined, undefined],
    ],
    [
      "if one that is cut off before it has a name comes first",
      [...said(delta("a", "{"), ready("b", "ok")), finish("tool-calls")],
      whole("call_i0_0", 0),
      [undefined],
    ],
    [
      "if an attempt that was taken back had the same id",
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
  ])("%s", async ([, turn, lines, ids]) => {
    const playing = play([turn, text("Done.")], { tools: [ok] });
    const { messages, streamResults } = await playing.result;
    expect(told(playing.recording.events)).toEqual(lines);
    expect(streamResults[0]?.calls.map(({ providerCallId }) => providerCallId)).toEqual(ids);
    expect(messages.some(({ role }) => role === "tool")).toBe(true);
    checkCallEvents(playing.recording.events);
    // Listeners do not change the ids.
    const quiet = play([turn, text("Done.")], { tools: [ok], events: undefined });
    expect((await quiet.result).messages).toEqual(messages);
  });

  it("if an attempt of the stream before a pause was taken back", async () => {
    const taken = said({ type: "attempt-start", attempt: 1, provider: "p", model: "m" }, ...[start("a", "ok"), delta("a", "{")], {
      type: "attempt-discarded",
      attempt: 1,
      error: providerError("overloaded", "Busy."),
    });
    const playing = play([[...taken, finish("paused")], toolCall("ok", {}, { fragments: 0 }), text("Done.")], { tools: [ok] });
    await playing.result;
    expect(told(playing.recording.events)).toEqual(["tool-args-delta call_i0_0 0", ...whole("call_i0_0_1", 0)]);
  });

  it("if it restarts the context, and a gate let it through", async () => {
    const enrich = tool("enrich", () => contextRestart({ type: "context_restart_profile" }));
    const triggerMatchByToolName = new Map([["enrich", { trigger: "who*", match: "who", source: "stem" as const }]]);
    const gate = { active: true, allowedNames: ["enrich", "ok"], triggerMatchByToolName };
    const playing = play([[call("ok"), call("enrich")], text("Done.")], { tools: [ok, enrich], policies: { gate } });
    await playing.result;
    expect(playing.recording.of("restart")).toMatchObject([{ callId: "call_i0_1", index: 1 }]);
    expect(playing.recording.of("hidden-notice")).toMatchObject([{ callId: "call_i0_1", index: 1 }]);
  });

  it("if it ends iterations later, after its tool was left behind", async () => {
    const clock = createTestClock();
    const late = tool("late", () => new Promise((resolve) => void clock.setTimeout(() => resolve(1), 50)), { timeoutMs: 10 });
    const playing = play([[call("ok"), call("late")], call("ok"), [wait(100), text("Done.")]], { clock, tools: [ok, late] });
    await clock.advance(1_000);
    await playing.result;
    expect(playing.recording.of("late-result")).toMatchObject([{ callId: "call_i0_1", index: 1, iteration: 2 }]);
  });
});

describe("tool-args-end", () => {
  it.for<[what: string, turn: MockMessage, ends: readonly unknown[]]>([
    ["whole ones", toolCall("ok", { a: 1 }), [{ args: { a: 1 }, problem: undefined }]],
    ["what is not JSON", toolCall("ok", {}, { rawArgs: "{" }), [{ args: {}, problem: "malformed" }]],
    [
      "what its provider says is cut",
      said({ ...ready("a", "ok"), problem: "truncated" } as ModelChunk),
      [{ problem: "truncated" }],
    ],
    ["what the stream ends within", [...said(start("a", "ok"), delta("a", '{"a"'))], [{ args: {}, problem: "truncated" }]],
    ["what an error ends", [...said(start("a", "ok"), delta("a", '{"a":1}')), fail({ status: 500 })], [{ args: { a: 1 } }]],
    ["those that are whole in a turn that is cut", [toolCall("ok"), finish("length")], [{ args: {}, problem: undefined }]],
  ])("comes once for each call and marks %s", async ([, turn, ends]) => {
    const playing = play([turn, text("Done.")], { tools: [ok] });
    await playing.result;
    expect(playing.recording.of("tool-args-end")).toMatchObject(ends);
    checkCallEvents(playing.recording.events);
  });
});
