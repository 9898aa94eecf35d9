import { describe, expect, it } from "vitest";
import { type Clock, type ModelCall, type ModelChunk, type Provider, type Timeouts } from "turnwright";
import {
  chunk,
  createTestClock,
  details,
  heartbeat,
  type MockPart,
  providerMetadata,
  reasoning,
  refusal,
  stall,
  text,
  thoughtLog,
  toolCall,
  wait,
} from "turnwright/testing";
import { never, play } from "./play.ts";

const spent = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };

function providerOf(stream: (call: ModelCall, index: number) => AsyncIterable<ModelChunk>): Provider {
  let index = 0;
  return { id: "p", model: "m", stream: (_request, call) => stream(call, index++) };
}

const sleep = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));

describe("timeouts.firstChunkMs", () => {
  it.for<[timeouts: Partial<Timeouts>, limitMs: number]>([
    [{}, 300_000],
    [{ streamIdleMs: 1_000 }, 300_000],
    [{ streamIdleMs: 400_000 }, 400_000],
    [{ firstChunkMs: 10 }, 10],
    [{ firstChunkMs: 10, streamIdleMs: 400_000 }, 10],
    [{ firstChunkMs: 500_000, streamIdleMs: 1_000 }, 500_000],
  ])("given the timeouts %j, ends a silent stream after %d ms", async ([timeouts, limitMs]) => {
    const playing = play([stall()], { timeouts });
    await playing.clock.runAll();
    expect((await playing.result).reason).toEqual({ kind: "first-chunk", limitMs });
    expect(playing.endedAt()).toBe(limitMs);
  });

  it("allows any delay before the first chunk if set to Infinity", async () => {
    const playing = play([[wait(2 ** 40), text("At last.")]], { timeouts: { firstChunkMs: Infinity, streamMs: Infinity } });
    await playing.clock.runAll();
    expect([(await playing.result).text, playing.endedAt()]).toEqual(["At last.", 2 ** 40]);
  });

  it("restarts at a heartbeat, which does not count as the first chunk", async () => {
    const beat = [wait(140_000), heartbeat()];
    const playing = play([[...beat, ...beat, ...beat, stall()]], { timeouts: { firstChunkMs: 150_000, streamIdleMs: 50 } });
    await playing.clock.runAll();
    expect((await playing.result).reason).toEqual({ kind: "first-chunk", limitMs: 150_000 });
    expect(playing.endedAt()).toBe(3 * 140_000 + 150_000);
  });
});

const dribble = (seconds: number): MockPart[] =>
  Array.from({ length: Math.ceil(seconds / 100) }, () => [text("."), wait(100_000)]).flat();

describe("timeouts.streamMs", () => {
  it.for<[timeouts: Partial<Timeouts>, limitMs: number]>([
    [{}, 1_800_000],
    [{ streamMs: 250_000 }, 250_000],
    [{ streamMs: 4_000_000 }, 4_000_000],
    [{ streamMs: 250_000, toolCleanupMs: 0 }, 250_000],
  ])("given the timeouts %j, ends an endless stream after %d ms and keeps its text", async ([timeouts, limitMs]) => {
    const playing = play([[...dribble(180_000)]], { timeouts });
    await playing.clock.advance(10_000_000);
    const { status, reason, text: said, messages } = await playing.result;
    expect([status, reason]).toEqual(["timeout", { kind: "stream-too-long", limitMs }]);
    expect(playing.endedAt()).toBe(limitMs);
    expect(said).toBe(".".repeat(Math.ceil(limitMs / 100_000)));
    expect(messages.at(-1)).toMatchObject({ role: "assistant", content: [{ type: "text", text: said }] });
    expect(playing.recording.of("notice").map(({ kind }) => kind)).toEqual(["stream-timeout"]);
    expect([playing.clock.pending, playing.provider.active]).toEqual([0, 0]);
  });

  it.for<[what: string, part: MockPart]>([
    ["reasoning", reasoning(".")],
    ["call arguments", chunk({ type: "call-args-delta", key: "k", text: " " })],
  ])("limits a stream of %s", async ([, part]) => {
    const start = chunk({ type: "call-start", key: "k", name: "any" });
    const playing = play([[start, ...Array.from({ length: 500 }, () => [wait(50_000), part]).flat()]]);
    await playing.clock.advance(4_000_000);
    expect((await playing.result).reason).toEqual({ kind: "stream-too-long", limitMs: 1_800_000 });
  });

  it("limits all of a stream's attempts together", async () => {
    const begin = chunk({ type: "attempt-start", attempt: 1, provider: "p", model: "m" });
    const playing = play([Array.from({ length: 50 }, () => [begin, wait(90_000)]).flat()]);
    await playing.clock.advance(4_000_000);
    expect((await playing.result).reason).toEqual({ kind: "stream-too-long", limitMs: 1_800_000 });
  });

  it("ends an endless stream that never lets a timer fire", async () => {
    const { clock, result, endedAt } = play([], {
      timeouts: { streamMs: 5_000, toolCleanupMs: 100 },
      provider: providerOf(async function* (call) {
        for (let index = 0; ; index += 1) {
          yield { type: "text-delta", text: "." };
          if (index % 10 === 0) await sleep(call.clock, 1);
        }
      }),
    });
    await clock.advance(10_000);
    expect([(await result).reason, endedAt()]).toEqual([{ kind: "stream-too-long", limitMs: 5_000 }, expect.any(Number)]);
  });

  it("applies separately to each stream in a run", async () => {
    const slow = [wait(100_000), text("."), wait(100_000), toolCall("any")];
    const playing = play([slow, slow, slow, text("Done.")], { timeouts: { streamMs: 250_000 } });
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("Done.");
  });
});

describe("timeouts.streamIdleMs", () => {
  it("is measured from the last chunk or heartbeat", async () => {
    const sign = [wait(119_999), text(".")];
    const playing = play([[...sign, ...sign, ...sign, wait(100_000), heartbeat(), wait(110_000), heartbeat(), stall()]]);
    await playing.clock.runAll();
    expect((await playing.result).reason).toEqual({ kind: "stream-idle", limitMs: 120_000 });
    expect(playing.endedAt()).toBe(3 * 119_999 + 210_000 + 120_000);
  });

  it.for<[chunk: string, part: MockPart]>([
    ["text", text(".")],
    ["reasoning", reasoning(".")],
    ["a refusal", refusal(".")],
    ["a call", toolCall("any", {})],
    ["the start of a call", chunk({ type: "call-start", key: "k", name: "any" })],
    ["an argument fragment", chunk({ type: "call-args-delta", key: "k", text: "{" })],
    ["provider metadata", providerMetadata(1)],
    ["details", details(".")],
    ["a thought log", thoughtLog({})],
  ])("restarts when the stream sends %s", async ([, part]) => {
    const playing = play([[wait(90_000), part, wait(90_000), part, wait(90_000), part, stall()]], {
      timeouts: { firstChunkMs: 100_000, streamIdleMs: 100_000 },
    });
    await playing.clock.runAll();
    expect((await playing.result).reason.kind).toBe("stream-idle");
    expect(playing.endedAt()).toBe(370_000);
  });

  it("is replaced by timeouts.firstChunkMs when an attempt begins", async () => {
    const begin = chunk({ type: "attempt-start", attempt: 1, provider: "p", model: "m" });
    const playing = play([[begin, wait(190), text("a"), wait(90), begin, wait(190), text("b"), wait(90), begin, stall()]], {
      timeouts: { firstChunkMs: 200, streamIdleMs: 100, toolCleanupMs: 0 },
    });
    await playing.clock.runAll();
    expect((await playing.result).reason).toEqual({ kind: "first-chunk", limitMs: 200 });
    expect(playing.endedAt()).toBe(2 * (190 + 90) + 200);
  });

  it("lets a stream pause for any length of time if set to Infinity", async () => {
    const timeouts = { streamIdleMs: Infinity, streamMs: Infinity };
    const playing = play([[text("At "), wait(2 ** 40), text("last.")]], { timeouts });
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("At last.");
  });

  it("is not restarted by late heartbeats from an earlier stream", async () => {
    const clock = createTestClock();
    const provider = providerOf(async function* (call, index) {
      if (index === 1) return void (await never);
      // These heartbeats come long after the stream has ended.
      for (let beat = 1; beat < 40; beat += 1) void sleep(clock, beat * 10_000).then(call.heartbeat);
      yield { type: "call-ready", key: "k", name: "nothing", args: {} };
      yield { type: "finish", reason: "tool-calls" };
    });
    const playing = play([], { provider, clock });
    await clock.runAll();
    expect((await playing.result).reason.kind).toBe("first-chunk");
    expect(playing.endedAt()).toBe(305_000);
  });

  it("does not need a new timer for each chunk", async () => {
    const clock = createTestClock();
    let timers = 0;
    const counting: Clock = {
      now: clock.now,
      clearTimeout: clock.clearTimeout,
      setTimeout: (fn, ms) => {
        timers += 1;
        return clock.setTimeout(fn, ms);
      },
    };
    const playing = play([text("x".repeat(1_000), { chunks: 1_000 })], { clock: counting });
    expect((await playing.result).text).toHaveLength(1_000);
    expect(timers).toBeLessThanOrEqual(3);
  });
});

describe("a stream that has timed out", () => {
  const dying = (afterMs: number, last: readonly ModelChunk[]): Provider =>
    providerOf(async function* ({ signal, clock }) {
      yield { type: "text-delta", text: "Half" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await sleep(clock, afterMs);
      yield* last;
    });

  it.for<[verb: "counts" | "ignores", afterMs: number, toolCleanupMs: number | undefined, endedAt: number]>([
    ["counts", 0, undefined, 120_000],
    ["counts", 4_999, undefined, 124_999],
    ["ignores", 5_001, undefined, 125_000],
    ["counts", 50, 100, 120_050],
    ["ignores", 150, 100, 120_100],
    ["ignores", 0, 0, 120_000],
  ])("%s usage that arrives %d ms later if timeouts.toolCleanupMs is %s", async ([verb, afterMs, toolCleanupMs, endedAt]) => {
    const tokens = verb === "counts" ? 7 : 0;
    const provider = dying(afterMs, [{ type: "usage", usage: spent, mode: "snapshot" }]);
    const playing = play([], { provider, timeouts: { toolCleanupMs } });
    await playing.clock.advance(120_000 + 10_000);
    const { usage: counted, text: said, reason } = await playing.result;
    expect([counted.totalTokens, said, reason.kind]).toEqual([tokens, "Half", "stream-idle"]);
    expect(playing.endedAt()).toBe(endedAt);
  });

  it("cannot add text or calls to the message", async () => {
    const provider = dying(10, [
      { type: "text-delta", text: " more" },
      { type: "call-ready", key: "k", name: "nothing", args: {} },
      { type: "finish", reason: "tool-calls" },
    ]);
    const playing = play([], { provider });
    await playing.clock.advance(120_010);
    expect(await playing.result).toMatchObject({
      status: "timeout",
      text: "Half",
      messages: [{}, { content: [{ text: "Half" }] }],
    });
    expect(playing.recording.of("text-delta").map((event) => event.text)).toEqual(["Half"]);
  });

  it('ends with "stream-idle" even if the provider then throws', async () => {
    const provider = providerOf(async function* ({ signal }) {
      yield { type: "text-delta", text: "Half" };
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("socket closed"))));
    });
    const playing = play([], { provider });
    await playing.clock.advance(120_000);
    expect((await playing.result).reason).toEqual({ kind: "stream-idle", limitMs: 120_000 });
  });

  it("is abandoned after 5 more seconds if the provider ignores its signal", async () => {
    const provider = providerOf(async function* ({ clock }) {
      yield { type: "text-delta", text: "Half" };
      await sleep(clock, 126_000);
      yield { type: "text-delta", text: " and half" };
      yield { type: "finish", reason: "stop" };
    });
    const playing = play([], { provider });
    await playing.clock.runAll();
    expect([(await playing.result).text, playing.endedAt()]).toEqual(["Half", 125_000]);
    expect(playing.recording.events.at(-1)?.type).toBe("run-end");
    expect(playing.recording.of("text-delta")).toHaveLength(1);
  });

  it('emits the notice "stream-timeout" unless session.surfaceUserErrors is false', async () => {
    const noticesOf = async (surfaceUserErrors: boolean, part: readonly MockPart[]): Promise<readonly string[]> => {
      const playing = play([part], { session: { surfaceUserErrors } });
      await playing.clock.runAll();
      await playing.result;
      return playing.recording.of("notice").map((event) => event.kind);
    };
    expect(await noticesOf(true, [stall()])).toEqual(["stream-timeout"]);
    expect(await noticesOf(true, [text("Half"), stall()])).toEqual(["stream-timeout"]);
    expect(await noticesOf(false, [stall()])).toEqual([]);
  });
});
