import { describe, expect, it } from "vitest";
import {
  finalAnswer,
  type Journal,
  memoryJournal,
  type ModelChunk,
  type Provider,
  runToolLoop,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, createTestClock, type MockScript, stall, text, toolCall, usage, wait } from "turnwright/testing";
import { createHoldClock } from "./hold-clock.ts";
import { never, outcomesOf, play, tool, type More, type Playing } from "./play.ts";

const within = (wallClockMs: number): { limits: { wallClockMs: number } } => ({ limits: { wallClockMs } });
const reason = { kind: "wall-clock", limitMs: 1_000 };

async function runOut(script: MockScript, more: More = within(1_000)): Promise<Playing> {
  const playing = play(script, more);
  await playing.clock.advance(20_000);
  return playing;
}

describe("limits.wallClockMs", () => {
  it("is off by default", async () => {
    const playing = play([[wait(2 ** 30), text("Late, but here.")]], {
      timeouts: { firstChunkMs: Infinity, streamMs: Infinity },
    });
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("Late, but here.");
  });

  it("ends a stream that never falls silent, and keeps its text and usage", async () => {
    const tick = Array.from({ length: 20 }, () => [wait(100), text(".")]).flat();
    const playing = await runOut([[usage({ inputTokens: 3, outputTokens: 1 }), ...tick]]);
    const result = await playing.result;
    expect([result.status, result.reason, result.text, playing.endedAt()]).toEqual(["timeout", reason, ".........", 1_000]);
    expect(result.usage.totalTokens).toBe(4);
  });

  it("ends a silent stream without a notice for users", async () => {
    const playing = await runOut([stall()]);
    expect((await playing.result).reason).toEqual(reason);
    expect(playing.recording.of("notice")).toEqual([]);
  });

  it("counts the time of all iterations", async () => {
    const clock = createTestClock();
    const nap = tool("nap", () => new Promise((resolve) => void clock.setTimeout(() => resolve("ok"), 400)));
    const playing = play(() => [text("Again. "), toolCall("nap")], { clock, tools: [nap], ...within(1_000) });
    await clock.advance(20_000);
    const result = await playing.result;
    expect([result.reason, result.iterations]).toEqual([reason, 3]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed", "call_i1_0: completed", "call_i2_0: interrupted"]);
    expect(playing.endedAt()).toBe(1_200);
  });

  it("keeps completed calls and prevents new calls", async () => {
    const tools = [tool("quick", () => 1), tool("deaf", () => never), tool("next", () => 1, { sequential: true })];
    const playing = await runOut([[toolCall("quick"), toolCall("deaf"), toolCall("next")]], { tools, ...within(1_000) });
    const result = await playing.result;
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed", "call_i0_1: interrupted", "call_i0_2: not-run"]);
    expect([playing.endedAt(), playing.provider.calls]).toEqual([6_000, 1]);
  });

  it("does not give a timed-out stream a second grace period", async () => {
    const playing = play([[text("Half"), stall({ ignoreSignal: true })]], within(123_000));
    await playing.clock.advance(200_000);
    expect((await playing.result).reason).toEqual({ kind: "stream-idle", limitMs: 120_000 });
    expect(playing.endedAt()).toBe(125_000);
  });

  it("is replaced as the reason for the run's end if the run is stopped during the grace period", async () => {
    const playing = play([toolCall("deaf")], { tools: [tool("deaf", () => never)], ...within(1_000) });
    await playing.clock.advance(2_000);
    playing.control.stop({ note: "enough" });
    await playing.clock.advance(20_000);
    expect((await playing.result).reason).toMatchObject({ kind: "stopped", note: "enough" });
  });

  it("does not allow a final answer", async () => {
    const tools = [tool("deaf", () => never)];
    const playing = await runOut([toolCall("deaf"), text("In short.")], {
      tools,
      middleware: [finalAnswer()],
      ...within(1_000),
    });
    expect([(await playing.result).finalAnswer, playing.provider.calls]).toEqual([false, 1]);
  });

  it("keeps an answer that was completed in time", async () => {
    const clock = createHoldClock();
    const finish = tool("finish", () => (clock.hold(999), "done"));
    const playing = play([toolCall("finish"), text("Done.")], { clock, tools: [finish], ...within(1_000) });
    expect((await playing.result).reason.kind).toBe("answered");
  });
});

describe("limits.wallClockMs if no timer can fire", () => {
  /** Yields chunks forever without awaiting anything. Each chunk blocks the thread for 10 ms. */
  function chatter(hold: (ms: number) => void): Provider {
    return {
      id: "p",
      model: "m",
      async *stream(): AsyncIterable<ModelChunk> {
        for (;;) {
          hold(10);
          yield { type: "text-delta", text: "." };
        }
      },
    };
  }

  it.for<[toolCleanupMs: number, endedAt: number]>([
    [0, 1_000],
    [200, 1_200],
  ])("ends a stream that never waits, with toolCleanupMs %d", async ([toolCleanupMs, endedAt]) => {
    const clock = createHoldClock();
    const playing = play([], { provider: chatter(clock.hold), clock, timeouts: { toolCleanupMs }, ...within(1_000) });
    const result = await playing.result;
    expect([result.reason, playing.endedAt()]).toEqual([reason, endedAt]);
    const seen = playing.recording.of("text-delta").map((event) => event.text);
    expect(result.text).toBe(seen.join(""));
    // The chunk that arrives when the limit expires is too late, like the chunks after it.
    expect(seen).toHaveLength(99);
  });

  it.for<[where: string, script: MockScript, ran: number]>([
    ["in one batch", [[toolCall("spin"), toolCall("spin"), toolCall("spin"), toolCall("spin")]], 3],
    ["in many iterations", () => toolCall("spin"), 3],
  ])("prevents more synchronous tools from starting after the limit %s", async ([, script, expected]) => {
    const clock = createHoldClock();
    let ran = 0;
    const spin = tool("spin", () => (clock.hold(400), (ran += 1)));
    const playing = play(script, { clock, tools: [spin], ...within(1_000) });
    expect((await playing.result).reason).toEqual(reason);
    expect([ran, playing.endedAt()]).toEqual([expected, 1_200]);
  });
});

describe("limits.wallClockMs in a resumed run", () => {
  const clockAt = 5_000_000;
  const nap = (clock: { setTimeout(fn: () => void, ms: number): unknown }) =>
    tool("nap", () => new Promise((resolve) => void clock.setTimeout(() => resolve("ok"), 600)));

  /** The journal has the records up to `lastKey`. They contain an active time of 600 ms. */
  async function savedUpTo(lastKey: string): Promise<Journal> {
    const clock = createTestClock();
    const playing = play([toolCall("nap"), toolCall("nap"), text("Done.")], {
      clock,
      runId: "r",
      tools: [nap(clock)],
      ...within(9_000),
    });
    await clock.advance(5_000);
    const { steps }: SavedJournal = JSON.parse(JSON.stringify((await playing.result).journal));
    const keys = Object.keys(steps);
    const kept = keys.slice(0, keys.indexOf(lastKey) + 1).map((key) => [key, steps[key] ?? null] as const);
    return memoryJournal({ steps: Object.fromEntries(kept) });
  }

  it.for<[crashed: string, lastKey: string, endsAfterMs: number]>([
    ["in a stream", "i0/next", 400],
    ["in a tool", "i1/request/model", 400],
    // The journal counts 600 ms of each tool, so a limit of 1,201 ms leaves 1 ms.
    ["after the last tool", "i1/call/0/nap/outcome", 1],
  ])("counts only active time if the run crashed %s", async ([, lastKey, endsAfterMs]) => {
    const journal = await savedUpTo(lastKey);
    const clock = createTestClock(clockAt);
    let endedAt = 0;
    const deaf = tool("nap", () => never);
    const messages = [{ role: "user", content: "Go." }] as const;
    const provider = createMockProvider([stall()]);
    const limits = { wallClockMs: lastKey === "i1/call/0/nap/outcome" ? 1_201 : 1_000 };
    const running = runToolLoop({
      provider,
      messages,
      journal,
      clock,
      runId: "r",
      tools: [deaf],
      limits,
      timeouts: { toolCleanupMs: 0 },
    });
    void running.then(() => (endedAt = clock.now()));
    await clock.advance(100_000);
    expect([(await running).reason.kind, endedAt - clockAt]).toEqual(["wall-clock", endsAfterMs]);
    expect(clock.pending).toBe(0);
  });

  it("counts the time before a suspension, but not the days until the run continues", async () => {
    const clock = createTestClock();
    const journal = memoryJournal();
    const mock = createMockProvider([toolCall("pay")]);
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
    const provider: Provider = {
      ...mock,
      async *stream(...request) {
        await wait(200);
        yield* mock.stream(...request);
      },
    };
    const pay = tool("pay", () => never, { needsApproval: true });
    const tools = [pay];
    const messages = [{ role: "user", content: "Go." }] as const;
    const run = { provider, messages, journal, clock, runId: "r", tools, ...within(1_000), timeouts: { toolCleanupMs: 0 } };
    const suspending = runToolLoop(run);
    await clock.advance(5_000);
    const suspended = await suspending;
    expect([suspended.status, suspended.durationMs]).toEqual(["suspended", 200]);
    const [{ id = "" } = {}] = suspended.pendingCalls;
    const startedAt = clock.now();
    let endedAt = 0;
    const resuming = runToolLoop({ ...run, answers: { [id]: { kind: "approve" } } });
    void resuming.then(() => (endedAt = clock.now()));
    await clock.advance(5_000);
    const ended = await resuming;
    expect([ended.reason, endedAt - startedAt, ended.durationMs]).toEqual([reason, 800, 1_000]);
  });
});
