import { describe, expect, it } from "vitest";
import { defer, FatalToolError, type LoopOptions } from "turnwright";
import { replayJournal } from "turnwright/journal";
import { text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { outcomesOf, play, type Playing, tool } from "../play.ts";
import { both, savedOf, setUp } from "./outside-stage.ts";

function setUpBusy(more: Partial<LoopOptions> = {}, end: () => unknown = () => "seen"): Playing {
  return play([[toolCall("job"), toolCall("busy")], text("Done.")], ({ clock }) => ({
    runId: "r",
    tools: [
      tool("job", () => defer()),
      tool("busy", async (_, { signal }) => {
        await new Promise<void>((resolve, reject) => {
          clock.setTimeout(resolve, 100);
          signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        });
        return end();
      }),
    ],
    ...more,
  }));
}

describe("a call with a deferred result", () => {
  it.for<[how: string, act: (playing: Playing) => void, kind: string]>([
    ["stop", ({ control }) => control.stop(), "stopped"],
    ["kill", ({ control }) => control.kill(), "killed"],
    ["abort", ({ abort }) => abort.abort("gone"), "aborted"],
  ])('gets the outcome "interrupted" if "%s" ends the run during another call, even in a replay', async ([, act, kind]) => {
    const store = createDurableStore();
    const playing = setUpBusy({ journal: store.open() });
    await playing.clock.advance(10);
    act(playing);
    await playing.clock.advance(10_000);
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result)]).toEqual([kind, ["call_i0_0: interrupted", "call_i0_1: interrupted"]]);
    expect([result.pendingCalls, result.functionHistory, result.toolCallsExecuted]).toEqual([[], [], 2]);
    expect(playing.recording.of("tool-end").map(({ callId, outcome }) => [callId, outcome])).toEqual([
      ["call_i0_0", "deferred"],
      ["call_i0_1", "interrupted"],
      ["call_i0_0", "interrupted"],
    ]);
    const replayed = setUpBusy({ journal: replayJournal(store.open()) });
    expect((await replayed.result).messages).toEqual(result.messages);
    const answers: LoopOptions["answers"] = { call_i0_0: { kind: "result", result: 1 } };
    await expect(setUpBusy({ journal: store.open(), answers }).result).rejects.toMatchObject({ code: "unknown-decision" });
  });

  it('gets the outcome "interrupted" if a fatal tool error in another call ends the run', async () => {
    const store = createDurableStore();
    const playing = setUpBusy({ journal: store.open() }, () => {
      throw new FatalToolError("gone");
    });
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.reason.kind, outcomesOf(result)]).toEqual([
      "fatal-tool-error",
      ["call_i0_0: interrupted", "call_i0_1: failed"],
    ]);
    const replayed = setUpBusy({ journal: replayJournal(store.open()) });
    expect((await replayed.result).messages).toEqual(result.messages);
  });

  it.for<[how: string, limits: LoopOptions["limits"], act: (playing: Playing) => void]>([
    ["a wall-clock timeout", { wallClockMs: 50 }, () => {}],
    ["a drain", {}, ({ control }) => control.drain()],
  ])("keeps waiting if %s ends the run during another call", async ([, limits, act]) => {
    const playing = setUpBusy({ limits });
    await playing.clock.advance(10);
    act(playing);
    await playing.clock.runAll();
    const first = await playing.result;
    expect(first.pendingCalls.map(({ callId, waitsFor }) => [callId, waitsFor])).toEqual([["call_i0_0", "result"]]);
    const answers: LoopOptions["answers"] = { call_i0_0: { kind: "result", result: "made" } };
    const second = play([text("Done.")], { ...playing.options, limits: {}, journal: await savedOf(playing), answers });
    expect((await second.result).text).toBe("Done.");
    expect(outcomesOf(await second.result)[0]).toBe("call_i0_0: completed");
  });
});

describe("a resumed run that ends before any new step", () => {
  it.for<[how: string, act: (playing: Playing) => void, kind: string]>([
    ["stop", ({ control }) => control.stop(), "stopped"],
    ["kill", ({ control }) => control.kill(), "killed"],
    ["abort", ({ abort }) => abort.abort("gone"), "aborted"],
  ])('ignores the results in options.answers after "%s", so a later run accepts the results', async ([, act, kind]) => {
    const store = createDurableStore();
    const { ran, start } = setUp();
    await start({ journal: store.open() }).result;
    const second = start({ journal: store.open(), answers: both });
    act(second);
    const ended = await second.result;
    expect([ended.reason.kind, outcomesOf(ended)[0]]).toEqual([kind, "call_i0_0: interrupted"]);
    const third = await start({ journal: store.open(), answers: both }).result;
    expect(outcomesOf(third)).toEqual(["call_i0_0: completed", "call_i0_1: completed", "call_i0_2: completed"]);
    expect(ran).toEqual(["call_i0_0", "call_i0_1"]);
  });

  it("ignores an interrupt, because the tool calls have started", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both });
    second.control.interrupt("Wait!");
    const result = await second.result;
    expect([result.reason.kind, result.undelivered.map(({ content }) => content)]).toEqual(["answered", ["Wait!"]]);
  });
});

it("control.steer() delivers its message to the model after the results of deferred calls", async () => {
  const { start } = setUp();
  const second = start({ journal: await savedOf(start()), answers: both });
  second.control.steer("And quickly.");
  const { messages } = await second.result;
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "assistant"]);
  expect(messages[3]).toEqual({ role: "user", content: "And quickly." });
});
