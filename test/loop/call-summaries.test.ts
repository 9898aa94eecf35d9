import { describe, expect, it } from "vitest";
import { approve, type LoopOptions, memoryJournal, type Middleware, type SavedJournal, stopWhen, eagerTools } from "turnwright";
import { fail, finish, type MockPart, type MockMessage, recordEvents, stall, text, toolCall } from "turnwright/testing";
import { checkCallEvents } from "./check-call-events.ts";
import { never, play, type Playing, tool } from "./play.ts";

const ok = tool("ok", () => 1);
const call = (name: string, id?: string): MockPart => toolCall(name, {}, { id, fragments: 0 });

const policy: readonly Middleware[] = [approve(({ name }) => ({ kind: name === "ask" ? "ask" : "approve" }))];

interface Row {
  readonly script: readonly MockMessage[];
  readonly more?: Partial<LoopOptions>;
  readonly act?: (playing: Playing) => void;
  readonly ends: readonly (readonly string[])[];
}

const tools = [
  ok,
  tool("ask", () => 1),
  tool("alone", () => 1, { sequential: true }),
  tool("early", () => 1, { eager: true }),
  tool("hangs", () => never),
  tool("fails", () => Promise.reject(new Error("no"))),
];

describe("the iteration-end event", () => {
  it.for<[what: string, row: Row]>([
    [
      "with different outcomes",
      { script: [[call("ok"), call("fails"), call("none")], text("Done.")], ends: [["completed", "failed", "unknown-tool"], []] },
    ],
    [
      "that started eagerly or with the batch",
      { script: [[call("early"), call("ok")], text("Done.")], ends: [["completed", "completed"], []] },
    ],
    [
      "from a stream that failed",
      { script: [[call("early"), call("ok"), fail({ status: 500 })]], ends: [["completed", "not-run"]] },
    ],
    [
      "from a stream cut off by control.stop()",
      {
        script: [[call("early"), call("ok"), stall()]],
        act: ({ control }) => void control.stop(),
        ends: [["completed", "not-run"]],
      },
    ],
    [
      "from a stream cut off by control.interrupt()",
      { script: [[call("ok"), stall()]], act: ({ control }) => void control.interrupt("Wait."), ends: [["not-run"]] },
    ],
    [
      "in a batch that control.kill() ends",
      { script: [[call("ok"), call("hangs")]], act: ({ control }) => void control.kill(), ends: [["completed", "interrupted"]] },
    ],
    [
      "that stopWhen keeps from running",
      { script: [call("ok")], more: { middleware: [stopWhen(() => true)] }, ends: [["not-run"]] },
    ],
    [
      "that wait for approval or behind a waiting sequential call",
      {
        script: [[call("ok"), call("ask"), call("alone")]],
        more: { middleware: policy },
        ends: [["completed", "waiting", "waiting"]],
      },
    ],
    [
      "that exceed limits.maxToolCalls",
      {
        script: [[call("ok"), call("ok")], text("Done.")],
        more: { limits: { maxToolCalls: 1 } },
        ends: [["completed", "limit"], []],
      },
    ],
    [
      "in a paused message only after the last continuation",
      { script: [[call("ok"), finish("paused")], [call("fails")], text("Done.")], ends: [[], ["completed", "failed"], []] },
    ],
    [
      "in a message that paused more than maxPauses times",
      {
        script: [
          [call("ok"), finish("paused")],
          [call("ok"), finish("paused")],
        ],
        more: { limits: { maxPauses: 0 } },
        ends: [["not-run"]],
      },
    ],
    [
      "in a message whose continuation fails",
      {
        script: [
          [call("ok"), finish("paused")],
          [call("ok"), fail({ status: 500 })],
        ],
        ends: [[], ["not-run", "not-run"]],
      },
    ],
  ])("lists calls %s", async ([, { script, more, act, ends }]) => {
    const playing = play(script, { tools, ...more, middleware: [eagerTools(), ...(more?.middleware ?? [])] });
    await playing.clock.advance(1);
    act?.(playing);
    await playing.clock.advance(10_000);
    await playing.result;
    const lists = playing.recording.of("iteration-end").map(({ calls }) => calls);
    expect(lists.map((calls) => calls.map(({ outcome }) => outcome))).toEqual(ends);
    for (const calls of lists) expect(calls.map(({ index }) => index)).toEqual(calls.map((_, index) => index));
    checkCallEvents(playing.recording.events);
  });
});

describe("an iteration that is resumed in another process", () => {
  const script = [[call("ok", "a"), call("ask", "b")], text("Done.")];

  it("emits replayed events for recorded calls, and new events for calls that run now", async () => {
    const first = play(script, { tools, middleware: [eagerTools(), ...policy] });
    const { journal } = await first.result;
    const saved = JSON.parse(JSON.stringify(journal)) as SavedJournal;
    const recording = recordEvents();
    const answers: LoopOptions["answers"] = { b: { kind: "approve" } };
    const options = { ...first.options, journal: memoryJournal(saved), events: recording.emitter, answers };
    await play([text("Done.")], options).result;
    expect(recording.outline()).toMatchInlineSnapshot(`
      "run-start
        iteration-start 0 (replayed)
          tool-args-end ok (a) {} (replayed)
          tool-args-end ask (b) {} (replayed)
          approval-decided ok (a) approve (replayed)
          tool-start ok (a) {} (replayed)
          tool-end ok (a) completed (replayed)
          replay-end
          approval-decided ask (b) approve
          tool-start ask (b) {}
          tool-end ask (b) completed
        iteration-end 0 tool-calls (replayed)
        iteration-start 1
          text-delta "Done."
        iteration-end 1 completed
      run-end completed answered"
    `);
    expect(recording.of("iteration-end")[0]?.calls).toEqual([
      { callId: "a", name: "ok", index: 0, outcome: "completed" },
      { callId: "b", name: "ask", index: 1, outcome: "completed" },
    ]);
    for (const { recording: heard } of [first, { recording }]) checkCallEvents(heard.events);
  });
});
