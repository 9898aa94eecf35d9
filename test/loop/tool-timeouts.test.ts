import { describe, expect, it } from "vitest";
import type { Clock, Tool, ToolContext } from "turnwright";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { createHoldClock } from "./hold-clock.ts";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

const script = [toolCall("work"), text("Moving on.")];
const after = <T>(clock: Clock, ms: number, act: () => T): Promise<T> =>
  new Promise((resolve, reject) => {
    clock.setTimeout(() => {
      try {
        resolve(act());
      } catch (error) {
        reject(error);
      }
    }, ms);
  });

describe("timeouts.toolMs and tool.timeoutMs", () => {
  it.for<[toolMs: number | undefined, timeoutMs: number | undefined, limitMs: number]>([
    [undefined, undefined, 300_000],
    [1_000, undefined, 1_000],
    [1_000, 2_000, 2_000],
    [undefined, 10, 10],
  ])("with the values %s and %s end a call after %d ms", async ([toolMs, timeoutMs, limitMs]) => {
    const playing = play(script, { tools: [tool("work", () => never, { timeoutMs })], timeouts: { toolMs } });
    await playing.clock.runAll();
    const result = await playing.result;
    expect([result.text, playing.endedAt()]).toEqual(["Moving on.", limitMs]);
    expect(answersOf(result)).toEqual([
      {
        callId: "call_i0_0",
        name: "work",
        outcome: "timed-out",
        result: { status: "tool_execution_failed", reason: `timed out after ${limitMs} ms`, tool_name: "work" },
      },
    ]);
    expect(result.functionHistory).toMatchObject([{ outcome: "timed-out", durationMs: limitMs }]);
  });

  it("do not limit a call if toolMs is Infinity", async () => {
    const clock = createTestClock();
    const tools = [tool("work", () => after(clock, 2 ** 40, () => "done"))];
    const playing = play(script, { clock, tools, timeouts: { toolMs: Number.POSITIVE_INFINITY } });
    await clock.runAll();
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: completed"]);
  });

  it("start again for each call", async () => {
    const clock = createTestClock();
    const tools = [tool("work", () => after(clock, 200_000, () => "done"), { sequential: true })];
    const playing = play([[toolCall("work"), toolCall("work")], toolCall("work"), text("Done.")], { clock, tools });
    await clock.runAll();
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: completed", "call_i0_1: completed", "call_i1_0: completed"]);
    expect(playing.endedAt()).toBe(600_000);
  });

  it("abort only the signal of their own call, with a TimeoutError", async () => {
    const signals = new Map<string, AbortSignal>();
    const keep = (_: unknown, { name, signal }: ToolContext): Promise<never> => (signals.set(name, signal), never);
    const tools = [tool("work", keep, { timeoutMs: 10 }), tool("other", keep, { timeoutMs: 50 })];
    const playing = play([[toolCall("work"), toolCall("other")], text("Moving on.")], { tools });
    await playing.clock.advance(10);
    expect([...signals.values()].map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(signals.get("work")?.reason).toMatchObject({ name: "TimeoutError", message: "Took longer than 10 ms." });
    await playing.clock.advance(40);
    expect((await playing.result).text).toBe("Moving on.");
  });

  it.for<[how: string, succeeds: boolean]>([
    ["returns", true],
    ["throws", false],
  ])("drop the value of a tool that %s after its timeout", async ([, succeeds]) => {
    const clock = createTestClock();
    const act = (): string => {
      if (succeeds) return "too late";
      throw new Error("too late");
    };
    const tools = [
      tool("work", () => after(clock, 1_500, act), { timeoutMs: 1_000 }),
      tool("wait", () => after(clock, 2_000, () => "waited")),
    ];
    const playing = play([toolCall("work"), toolCall("wait"), text("Done.")], { clock, tools });
    await clock.runAll();
    const result = await playing.result;
    expect(playing.recording.of("late-result")).toMatchObject([{ callId: "call_i0_0", name: "work", success: succeeds }]);
    expect(JSON.stringify(result)).not.toContain("too late");
    expect(outcomesOf(result)).toEqual(["call_i0_0: timed-out", "call_i1_0: completed"]);
  });

  it("drop progress that a tool emits after it times out", async () => {
    const clock = createTestClock();
    const work = async (_: unknown, { progress, heartbeat }: ToolContext): Promise<void> => {
      progress("in time");
      await after(clock, 1_500, () => progress("too late"));
      heartbeat();
    };
    const tools = [tool("work", work, { timeoutMs: 1_000 }), tool("wait", () => after(clock, 2_000, () => "waited"))];
    const playing = play([toolCall("work"), toolCall("wait"), text("Done.")], { clock, tools });
    await clock.runAll();
    await playing.result;
    expect(playing.recording.of("tool-progress").map((event) => event.data)).toEqual(["in time"]);
  });
});

describe("tool.idleTimeoutMs", () => {
  const beating = (clock: Clock, beat: (context: ToolContext) => void): Tool =>
    tool(
      "work",
      async (_, context) => {
        for (let count = 0; count < 4; count += 1) await after(clock, 90, () => beat(context));
        await never;
      },
      { idleTimeoutMs: 100 },
    );

  it.for<[how: string, beat: (context: ToolContext) => void, endedAt: number]>([
    ["progress", ({ progress }) => progress(1), 460],
    ["heartbeats", ({ heartbeat }) => heartbeat(), 460],
    ["nothing", () => {}, 100],
  ])("ends a call after 100 ms of silence if the call has sent %s", async ([, beat, endedAt]) => {
    const clock = createTestClock();
    const playing = play(script, { clock, tools: [beating(clock, beat)] });
    await clock.runAll();
    const result = await playing.result;
    expect([outcomesOf(result), playing.endedAt()]).toEqual([["call_i0_0: timed-out"], endedAt]);
    expect(answersOf(result)[0]?.result).toMatchObject({ reason: "timed out after 100 ms" });
  });

  it("does not change the timeout for the whole call, even with heartbeats", async () => {
    const clock = createTestClock();
    const playing = play(script, { clock, tools: [beating(clock, ({ heartbeat }) => heartbeat())], timeouts: { toolMs: 200 } });
    await clock.runAll();
    expect(answersOf(await playing.result)[0]?.result).toMatchObject({ reason: "timed out after 200 ms" });
    expect(playing.endedAt()).toBe(200);
  });

  it("applies even if toolMs is Infinity", async () => {
    const tools = [tool("work", () => never, { idleTimeoutMs: 100 })];
    const playing = play(script, { tools, timeouts: { toolMs: Number.POSITIVE_INFINITY } });
    await playing.clock.runAll();
    expect([outcomesOf(await playing.result), playing.endedAt()]).toEqual([["call_i0_0: timed-out"], 100]);
  });
});

describe("a tool that blocks the thread", () => {
  it.for<[how: string, heldMs: number, end: () => unknown, outcome: string]>([
    ["returns in time", 299_999, () => "done", "completed"],
    ["returns late", 300_000, () => "done", "timed-out"],
    ["rejects late", 300_000, () => Promise.reject(new Error("no")), "timed-out"],
    ["resolves in time", 299_999, async () => "done", "completed"],
    ["resolves late", 300_000, async () => "done", "timed-out"],
  ])("has the expected outcome if it %s after %d ms", async ([, heldMs, end, outcome]) => {
    const clock = createHoldClock();
    const work = (): unknown => {
      clock.hold(heldMs);
      return end();
    };
    const playing = play(script, { clock, tools: [tool("work", work)] });
    const result = await playing.result;
    expect([outcomesOf(result), result.text]).toEqual([[`call_i0_0: ${outcome}`], "Moving on."]);
  });

  it('has the outcome "timed-out" if it throws late', async () => {
    const clock = createHoldClock();
    const work = (): never => {
      clock.hold(300_000);
      throw new Error("no");
    };
    const playing = play(script, { clock, tools: [tool("work", work)] });
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: timed-out"]);
  });

  it("times out at the usual time if it first blocks the thread and then waits", async () => {
    const clock = createHoldClock();
    const work = (): Promise<never> => {
      clock.hold(200_000);
      return never;
    };
    const playing = play(script, { clock, tools: [tool("work", work)] });
    await clock.runAll();
    expect([outcomesOf(await playing.result), playing.endedAt()]).toEqual([["call_i0_0: timed-out"], 300_000]);
  });

  it("does not need a timer if it is synchronous", async () => {
    const clock = createTestClock();
    let timers = 0;
    const counting: Clock = { ...clock, now: clock.now, setTimeout: (fn, ms) => ((timers += 1), clock.setTimeout(fn, ms)) };
    const turns = [[toolCall("work"), toolCall("work"), toolCall("work")], toolCall("work"), text("Done.")];
    await play(turns, { clock: counting, tools: [tool("work", () => "done")] }).result;
    // All model streams share three timers: for the first chunk, for idle time, and for the end of a stream.
    expect(timers).toBe(3);
  });
});
