import { describe, expect, it } from "vitest";
import { type Provider, streamToolLoop, withFallback, withRetry } from "turnwright";
import { createTestClock, stall, text, wait } from "turnwright/testing";
import { play } from "../loop/play.ts";
import { busy, named } from "./models.ts";

describe("runToolLoop with a silent provider", () => {
  it("gives withFallback's next provider the full time limits", async () => {
    const slow = named("b", ...[[wait(290_000), text("Slow."), wait(110_000), text(" Very.")]]);
    const playing = play([], { provider: withFallback([named("a", ...[stall({ ignoreSignal: true })]), slow]) });
    await playing.clock.runAll();
    expect(await playing.result).toMatchObject({ status: "completed", text: "Slow. Very." });
    expect(playing.endedAt()).toBe(300_000 + 5_000 + 290_000 + 110_000);
  });

  it('ends with the reason "stream-idle" if the last provider falls silent', async () => {
    const providers = [named("a", ...[stall()]), named("b", ...[[text("Half"), stall()]])];
    const playing = play([], { provider: withFallback(providers, { firstChunkMs: 10_000 }) });
    await playing.clock.runAll();
    expect(await playing.result).toMatchObject({
      status: "timeout",
      reason: { kind: "stream-idle", limitMs: 120_000 },
      text: "Half",
    });
    expect([playing.endedAt(), providers.map(({ active }) => active)]).toEqual([130_000, [0, 0]]);
  });

  it("gives each withRetry attempt the full time limit for its first chunk", async () => {
    const provider = withRetry(
      named(
        "a",
        ...[
          [wait(250_000), busy],
          [wait(250_000), busy],
          [wait(299_000), text("Hi.")],
        ],
      ),
    );
    const playing = play([], { provider });
    await playing.clock.runAll();
    expect((await playing.result).text).toBe("Hi.");
  });

  it('ends with the reason "first-chunk" if the second withRetry attempt stays silent', async () => {
    const playing = play([], { provider: withRetry(named("a", ...[busy, stall()])) });
    await playing.clock.runAll();
    expect((await playing.result).reason).toEqual({ kind: "first-chunk", limitMs: 300_000 });
  });

  it("counts usage that the provider reports after the wall-clock limit", async () => {
    const speaks: Provider = {
      id: "a",
      model: "a-1",
      async *stream(_request, { signal }) {
        yield { type: "text-delta", text: "Half" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield { type: "usage", mode: "snapshot", usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } };
      },
    };
    const playing = play([], { provider: withFallback([speaks, named("b", ...[])]), limits: { wallClockMs: 1_000 } });
    await playing.clock.runAll();
    expect(await playing.result).toMatchObject({ reason: { kind: "wall-clock" }, text: "Half", usage: { totalTokens: 7 } });
  });
});

describe("streamToolLoop with a slow reader", () => {
  it("does not replace a provider that is waiting for the reader", async () => {
    const clock = createTestClock();
    const b = named("b", ...[]);
    const provider = withFallback([named("a", ...[text("x".repeat(500), { chunks: 500 })]), b], { streamIdleMs: 1_000 });
    const stream = streamToolLoop({ provider, messages: [{ role: "user", content: "Go." }], clock });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    await clock.advance(3_600_000);
    while ((await events.next()).done !== true);
    expect([(await stream.result).text.length, b.calls, clock.pending]).toEqual([500, 0, 0]);
  });
});
