import { describe, expect, it } from "vitest";
import { type Clock, type ModelCall, type ModelChunk, type Provider, providerError } from "turnwright";
import { chunk, details, heartbeat, type MockPart, text, usage, wait } from "turnwright/testing";
import { never, play } from "./play.ts";

const spent = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
const week = 7 * 24 * 3_600_000;
const repeat = (times: number, parts: readonly MockPart[]): readonly MockPart[] =>
  Array.from({ length: times }, () => parts).flat();
const forever = (everyMs: number, part: MockPart): readonly MockPart[] => repeat(3_000, [wait(everyMs), part]);
const sleep = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
const providerOf = (stream: (call: ModelCall) => AsyncIterable<ModelChunk>): Provider => ({
  id: "p",
  model: "m",
  stream: (_request, call) => stream(call),
});

describe("timeouts.firstChunkMs", () => {
  it.for<[what: string, part: MockPart]>([
    ["an empty text chunk", text("")],
    ["empty reasoning", chunk({ type: "reasoning-delta", text: "" })],
    ["an empty argument fragment", chunk({ type: "call-args-delta", key: "k", text: "" })],
    ["empty details", details("")],
    ["usage", usage(spent)],
  ])("is not extended by %s", async ([, part]) => {
    const playing = play([forever(60_000, part)]);
    await playing.clock.advance(week);
    expect((await playing.result).reason).toEqual({ kind: "first-chunk", limitMs: 300_000 });
    expect(playing.endedAt()).toBe(300_000);
  });

  it.for<[what: string, part: MockPart]>([
    ["heartbeats", heartbeat()],
    ["attempt starts", chunk({ type: "attempt-start", attempt: 1, provider: "p", model: "m" })],
    ["failed attempts", chunk({ type: "attempt-discarded", attempt: 1, error: providerError("server", "Down.") })],
  ])("is extended by %s for at most an hour", async ([, part]) => {
    const timeouts = { streamMs: Number.POSITIVE_INFINITY };
    const slow = play([[...repeat(50, [wait(60_000), part]), text("At last.")]], { timeouts });
    const dead = play([forever(60_000, part)], { timeouts });
    await Promise.all([slow.clock.advance(week), dead.clock.advance(week)]);
    expect((await slow.result).text).toBe("At last.");
    expect((await dead.result).reason).toEqual({ kind: "first-chunk", limitMs: 3_600_000 });
    expect(dead.endedAt()).toBe(3_600_000);
  });

  it('is extended without limit by a provider that calls heartbeat("waiting")', async () => {
    const provider = providerOf(async function* ({ clock, heartbeat: beat }) {
      for (let minute = 0; minute < 600; minute += 1) {
        await sleep(clock, 60_000);
        beat("waiting");
      }
      yield { type: "text-delta", text: "At last." };
      yield { type: "finish", reason: "stop" };
    });
    const playing = play([], { provider, timeouts: { streamMs: Number.POSITIVE_INFINITY } });
    await playing.clock.runAll();
    expect([(await playing.result).text, playing.endedAt()]).toEqual(["At last.", 36_000_000]);
  });

  it.for<[what: string, next: ModelChunk]>([
    ["empty text chunks", { type: "text-delta", text: "" }],
    ["token counts", { type: "usage", usage: spent, mode: "snapshot" }],
  ])("ends an endless stream of %s, which control.kill() can end too", async ([, value]) => {
    const provider = providerOf(() => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: false, value }) }),
    }));
    const silent = play([], { provider });
    await silent.clock.advance(305_000);
    expect((await silent.result).reason.kind).toBe("first-chunk");
    const killed = play([], { provider });
    await killed.clock.flush();
    killed.control.kill();
    expect((await killed.result).reason.kind).toBe("killed");
  });
});

describe("timeouts.streamIdleMs", () => {
  it.for<[what: string, part: MockPart, limitMs: number]>([
    ["heartbeats", heartbeat(), 12 * 120_000],
    ["empty text chunks", text(""), 120_000],
    ["token counts", usage(spent), 120_000],
  ])("ends a stream that sends only %s after its first text", async ([, part, limitMs]) => {
    const playing = play([[text("Half"), ...forever(60_000, part)]]);
    await playing.clock.advance(week);
    expect((await playing.result).reason).toEqual({ kind: "stream-idle", limitMs });
    expect([(await playing.result).text, playing.endedAt()]).toEqual(["Half", limitMs]);
  });
});

describe("a model stream that has sent its finish chunk", () => {
  const finish: ModelChunk = { type: "finish", reason: "stop" };
  const counts: ModelChunk = { type: "usage", usage: spent, mode: "snapshot" };
  const more: ModelChunk = { type: "text-delta", text: "lo" };
  const error: ModelChunk = { type: "error", error: providerError("overloaded", "Busy.") };

  it.for<[what: string, after: (call: ModelCall) => AsyncIterable<ModelChunk>, said: string, endedAt: number, tokens: number]>([
    ["ends", async function* () {}, "Hel", 0, 0],
    [
      "throws",
      async function* () {
        yield* [];
        throw new TypeError("terminated");
      },
      "Hel",
      0,
      0,
    ],
    [
      "has an error",
      async function* () {
        yield error;
        await never;
      },
      "Hel",
      0,
      0,
    ],
    [
      "has more text",
      async function* () {
        yield more;
      },
      "Hello",
      0,
      0,
    ],
    [
      "is never closed",
      async function* () {
        yield* [];
        await never;
      },
      "Hel",
      1_000,
      0,
    ],
    [
      "reports usage late and is never closed",
      async function* ({ clock }) {
        await sleep(clock, 900);
        yield counts;
        await never;
      },
      "Hel",
      1_000,
      7,
    ],
    [
      "reports usage forever",
      async function* ({ clock }) {
        for (;;) {
          await sleep(clock, 300);
          yield counts;
        }
      },
      "Hel",
      1_000,
      7,
    ],
    [
      "sends heartbeats forever",
      async function* ({ clock, heartbeat: beat }) {
        for (;;) {
          await sleep(clock, 300);
          beat("waiting");
          if (clock.now() < 0) yield counts;
        }
      },
      "Hel",
      1_000,
      0,
    ],
  ])("gives a complete answer even if, after that chunk, the stream %s", async ([what, after, said, endedAt, tokens]) => {
    const isLeft = endedAt > 0 || what === "has an error";
    let signal: AbortSignal | undefined;
    const provider = providerOf(async function* (call) {
      signal = call.signal;
      yield { type: "text-delta", text: "Hel" };
      yield finish;
      yield* after(call);
    });
    const playing = play([], { provider });
    for (let at = 0; at < 2_000; at += 100) await playing.clock.advance(100);
    const { status, text: heard, usage: sum } = await playing.result;
    expect([status, heard, playing.endedAt(), sum?.totalTokens ?? 0]).toEqual(["completed", said, endedAt, tokens]);
    // If a stream is still open when the run ends, the run aborts the signal of the stream.
    expect(signal?.aborted).toBe(isLeft);
  });
});
