import { describe, expect, it } from "vitest";
import type { LoopOptions, ModelChunk, Provider } from "turnwright";
import { never } from "./play.ts";
import { chatter, readAll, readSome, start } from "./reading.ts";

describe("a reader that is slower than the model", () => {
  it("holds the model back, within bounds, and for as long as it likes", async () => {
    const { provider, sent } = chatter(10_000);
    const reading = start([], { provider, timeouts: { streamIdleMs: 1_000 } });
    await readSome(reading, 1);
    await reading.clock.advance(10_000_000);
    expect(sent()).toBeLessThan(100);
    const before = sent();
    await readSome(reading, 100);
    await reading.clock.advance(10_000_000);
    expect([sent() > before, sent() < 300]).toEqual([true, true]);
    const rest = await readAll(reading.stream);
    expect(rest.at(-1)).toMatchObject({ type: "run-end", status: "completed" });
    expect((await reading.stream.result).text).toHaveLength(10_000);
  });

  it("has the patience of a model that falls silent: its silence counts from when it was asked again", async () => {
    const { provider, sent } = chatter(300, () => never);
    const reading = start([], { provider, timeouts: { streamIdleMs: 1_000, settleMs: 0 } });
    await readSome(reading, 1);
    await reading.clock.advance(5_000);
    expect(sent()).toBeLessThan(100);
    await readSome(reading, 290);
    await reading.clock.advance(999);
    expect(sent()).toBe(300);
    let ended = false;
    void reading.stream.result.then(() => (ended = true));
    await reading.clock.flush();
    expect(ended).toBe(false);
    await reading.clock.advance(1);
    expect((await reading.stream.result).reason).toEqual({ kind: "stream-idle", limitMs: 1_000 });
  });

  it("has let the model rest: what it says next is waited for from when it was asked", async () => {
    let quiet = false;
    const isQuiet = (): boolean => quiet;
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream(): AsyncIterable<ModelChunk> {
        while (!isQuiet()) yield { type: "text-delta", text: "x" };
        await never;
      },
    };
    const reading = start([], { provider, timeouts: { streamIdleMs: 1_000, settleMs: 0 } });
    await readSome(reading, 1);
    // The model is held, and its alarm rings in between.
    await reading.clock.advance(5_500);
    quiet = true;
    await readSome(reading, 64);
    await reading.clock.advance(999);
    let ended = false;
    void reading.stream.result.then(() => (ended = true));
    await reading.clock.flush();
    expect(ended).toBe(false);
    await reading.clock.advance(1);
    expect((await reading.stream.result).reason.kind).toBe("stream-idle");
  });

  it.for<[verb: string, options: (abort: AbortController) => Partial<LoopOptions>, kind: string]>([
    ["the wall clock", () => ({ limits: { wallClockMs: 5_000 } }), "wall-clock"],
    ["an abort", ({ signal }) => ({ signal }), "aborted"],
  ])("does not keep a run from ending: %s", async ([, options, kind]) => {
    const abort = new AbortController();
    const { provider } = chatter(10_000);
    const reading = start([], { provider, ...options(abort) });
    await readSome(reading, 1);
    await reading.clock.advance(5_000);
    abort.abort();
    const { reason, text: said } = await reading.stream.result;
    expect(reason.kind).toBe(kind);
    // What was said until then can still be read.
    const rest = await readAll(reading.stream);
    expect(rest.filter((event) => event.type === "text-delta")).toHaveLength(said.length);
    expect([rest.at(-1)?.type, reading.clock.pending]).toEqual(["run-end", 0]);
  });
});
