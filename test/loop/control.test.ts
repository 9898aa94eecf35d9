import { describe, expect, it } from "vitest";
import { createLoopControl, createLoopEvents, createToolRegistry, isLoopError, type Message, runToolLoop } from "turnwright";
import { createMockProvider, createTestClock, stall, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";

const user = (content: string): Message => ({ role: "user", content });

describe("two live runs", () => {
  it.for(["control", "runId"] as const)("cannot share a %s, until the first has ended", async (what) => {
    const clock = createTestClock();
    const shared = what === "control" ? { control: createLoopControl() } : { runId: "one of a kind" };
    const first = play([stall()], { clock, ...shared });
    const provider = createMockProvider([text("Hi.")]);
    const second = { provider, messages: [user("Go.")], clock, ...shared };
    const thrown: unknown = await runToolLoop(second).catch((error: unknown) => error);
    expect([isLoopError(thrown, "already-running") && thrown.details.what, provider.calls]).toEqual([what, 0]);
    expect(first.endedAt()).toBeUndefined();

    first.abort.abort();
    await first.result;
    expect((await runToolLoop(second)).text).toBe("Hi.");
  });

  it("refuse neither of two things for the sake of the other", async () => {
    const control = createLoopControl();
    const first = play([stall()], { control, runId: "first" });
    const refused = await runToolLoop({
      provider: createMockProvider([]),
      messages: [user("Go.")],
      control,
      runId: "second",
    }).catch((error: unknown) => error);
    expect(isLoopError(refused, "already-running")).toBe(true);
    // The id of the refused run is free.
    expect((await play([text("Hi.")], { runId: "second" }).result).text).toBe("Hi.");
    first.abort.abort();
    await first.result;
  });

  it("may share everything else", async () => {
    const clock = createTestClock();
    const events = createLoopEvents();
    const { signal } = new AbortController();
    const tools = createToolRegistry([tool("t", () => 1)]);
    const runs = Array.from({ length: 5 }, () => play([toolCall("t"), text("Hi.")], { clock, events, signal, tools }).result);
    expect((await Promise.all(runs)).map((result) => result.text)).toEqual(["Hi.", "Hi.", "Hi.", "Hi.", "Hi."]);
  });
});

describe("a control", () => {
  it("queues before its first run, and is finished after each", async () => {
    const control = createLoopControl();
    expect([control.hasStopRequest(), control.isToolChainActive()]).toEqual([false, false]);
    expect([control.stop({ note: "early" }), control.hasStopRequest()]).toEqual(["accepted", true]);
    const first = play([], { control });
    expect((await first.result).reason).toMatchObject({ kind: "stopped", note: "early" });
    expect([control.stop(), control.kill(), control.hasStopRequest()]).toEqual(["finished", "finished", false]);
    // What ended the first run does not leak into the next.
    const second = play([text("Hi.")], { control });
    expect((await second.result).text).toBe("Hi.");
  });

  it("obeys the highest of what was queued", async () => {
    const control = createLoopControl();
    control.stop();
    control.kill();
    expect((await play([], { control }).result).reason.kind).toBe("killed");
  });

  it("says whether tools are being run: from the first call to the end of the run", async () => {
    const seen: boolean[] = [];
    const playing = play([toolCall("look"), [text("Hm."), toolCall("look")], text("Done.")], ({ control }) => ({
      tools: [tool("look", () => seen.push(control.isToolChainActive()))],
      hooks: { preparePass: () => void seen.push(control.isToolChainActive()) },
    }));
    await playing.result;
    expect([seen, playing.control.isToolChainActive()]).toEqual([[false, true, true, true, true], false]);
  });
});
