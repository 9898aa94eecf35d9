import { describe, expect, it } from "vitest";
import { createLoopControl, type LoopEvent, type LoopOptions, type ModelChunk, type Provider } from "turnwright";
import { createMockProvider, reasoning, text, toolCall, wait } from "turnwright/testing";
import { never, tool } from "./play.ts";
import { chatter, readAll, readSome, start } from "./reading.ts";
import { watch } from "./watching.ts";

function onAbort(signal: AbortSignal, verb: "stop" | "kill"): Partial<LoopOptions> {
  const control = createLoopControl();
  signal.addEventListener("abort", () => control[verb]());
  return { control };
}

function callThen(name: string, then: Provider): Provider {
  const first = createMockProvider([toolCall(name, {}, { fragments: 0 })]);
  return { ...then, stream: (request, call) => (call.iteration === 0 ? first : then).stream(request, call) };
}

describe("streamToolLoop with a reader slower than the model", () => {
  it("makes the model wait indefinitely, so few chunks remain unread", async () => {
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

  it("starts the streamIdleMs timeout only when it requests the next chunk", async () => {
    const { provider, sent } = chatter(300, () => never);
    const reading = start([], { provider, timeouts: { streamIdleMs: 1_000, toolCleanupMs: 0 } });
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

  it("does not count time that the model spends waiting for the reader toward streamIdleMs", async () => {
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
    const reading = start([], { provider, timeouts: { streamIdleMs: 1_000, toolCleanupMs: 0 } });
    await readSome(reading, 1);
    // During these 5,500 ms, the model waits for the reader. That is longer than streamIdleMs.
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
    ["a wall-clock timeout", () => ({ limits: { wallClockMs: 5_000 } }), "wall-clock"],
    ["an abort", ({ signal }) => ({ signal }), "aborted"],
    ["a stop", ({ signal }) => onAbort(signal, "stop"), "stopped"],
    ["a kill", ({ signal }) => onAbort(signal, "kill"), "killed"],
  ])("does not delay the end of the run after %s", async ([, options, kind]) => {
    const abort = new AbortController();
    const { provider } = chatter(10_000);
    const reading = start([], { provider, ...options(abort) });
    await readSome(reading, 1);
    await reading.clock.advance(5_000);
    abort.abort();
    const { reason, text: said } = await reading.stream.result;
    expect(reason.kind).toBe(kind);
    // The run has ended, but the reader can still read the text before the end.
    const rest = await readAll(reading.stream);
    expect(rest.filter((event) => event.type === "text-delta")).toHaveLength(said.length);
    expect([rest.at(-1)?.type, reading.clock.pending]).toEqual(["run-end", 0]);
  });
});

describe("the unread events of streamToolLoop", () => {
  const kinds: readonly (readonly [kind: string, chunk: ModelChunk])[] = [
    ["text", { type: "text-delta", text: "x" }],
    ["reasoning", { type: "reasoning-delta", text: "x" }],
    ["arguments", { type: "call-args-delta", key: "k", text: "x" }],
  ];

  it.for(
    kinds.flatMap(([kind, chunk]) =>
      [[1], [7], [40], [100], [63, 1, 64, 5]].map((steps) => [kind, steps.join(", "), chunk, steps] as const),
    ),
  )("include at most 64 %s events if the reader takes %s events at a time", async ([, , chunk, steps]) => {
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream(): AsyncIterable<ModelChunk> {
        yield { type: "call-start", key: "k", name: "t" };
        for (;;) yield chunk;
      },
    };
    const watched = watch([], { provider, timeouts: { streamIdleMs: 1_000, firstChunkMs: 1_000 } });
    const seen: number[] = [];
    for (let step = 0; step < 150; step += 1) {
      await watched.read(steps[step % steps.length] ?? 1);
      await watched.clock.advance(5_000);
      seen.push(watched.unread());
    }
    expect([Math.max(...seen), Math.min(...seen) >= 32]).toEqual([64, true]);
    await watched.iterator.return?.();
    expect((await watched.stream.result).reason.kind).toBe("stopped");
  });

  it("include all of a tool's progress events, and make the model wait", async () => {
    const flood = tool("flood", (_, { progress }) => {
      for (let count = 0; count < 10_000; count += 1) progress(count);
    });
    const { provider, sent } = chatter(200);
    const watched = watch([], {
      provider: callThen("flood", provider),
      tools: [flood],
      timeouts: { streamIdleMs: 1_000, firstChunkMs: 1_000 },
    });
    const first = await watched.read(1);
    await watched.clock.advance(1_000_000);
    // The run requests one chunk before it finds out that the reader is slow.
    expect([watched.unread() > 10_000, sent()]).toEqual([true, 1]);
    const most = await watched.read(watched.unread() - 32);
    await watched.clock.advance(1_000_000);
    expect([watched.unread(), sent()]).toEqual([32, 1]);
    const next = await watched.read(1);
    await watched.clock.advance(1_000_000);
    expect(watched.unread()).toBe(64);
    const events = [...first, ...most, ...next, ...(await readAll(watched.stream))];
    expect(events).toEqual(watched.recording.events);
    const said = events.flatMap((event) => (event.type === "tool-progress" ? [event.data] : []));
    expect(said).toEqual(Array.from({ length: 10_000 }, (_, count) => count));
    expect((await watched.stream.result).reason.kind).toBe("answered");
  });

  it("can number in the thousands if reading begins late, and make the model wait", async () => {
    const many = text("x".repeat(5_000), { chunks: 5_000 });
    const watched = watch([[many, wait(10), many]]);
    await watched.clock.flush();
    expect(watched.unread()).toBe(5_002);
    await watched.read(1);
    await watched.clock.advance(1_000_000);
    expect(watched.unread()).toBe(5_002);
    await watched.read(5_002 - 32);
    await watched.clock.flush();
    expect(watched.unread()).toBe(32);
    await watched.read(1);
    await watched.clock.flush();
    expect(watched.unread()).toBe(64);
    await readAll(watched.stream);
    expect((await watched.stream.result).text).toHaveLength(10_000);
  });

  it("do not delay tool calls or events for listeners", async () => {
    const work = tool(
      "work",
      async (_, { progress }) => {
        for (let count = 0; count < 100; count += 1) progress(count);
        await new Promise((resolve) => void clock.setTimeout(() => resolve(1), 10));
      },
      { sequential: true },
    );
    const call = toolCall("work", {}, { fragments: 0 });
    const watched = watch([[call, call, call], text("Done.")], { tools: [work] });
    const { clock } = watched;
    await watched.read(1);
    await clock.advance(30);
    expect(watched.recording.of("tool-end").map(({ outcome }) => outcome)).toEqual(["completed", "completed", "completed"]);
    expect(watched.unread()).toBeGreaterThan(300);
    await readAll(watched.stream);
    expect((await watched.stream.result).text).toBe("Done.");
  });
});

describe("a reader of streamToolLoop that takes a minute for each event", () => {
  it("receives every event of a run whose timeouts are one second", async () => {
    const work = tool("work", (_, { progress }) => {
      progress("on it");
      return new Promise((resolve) => void clock.setTimeout(() => resolve(1), 900));
    });
    const turn = [reasoning("x".repeat(100), { chunks: 100 }), text("y".repeat(100), { chunks: 100 }), toolCall("work")];
    const watched = watch([turn, turn, turn, text("Done.")], {
      tools: [work],
      timeouts: { streamIdleMs: 1_000, firstChunkMs: 1_000, toolMs: 1_000, callbackMs: 1_000, toolCleanupMs: 0 },
    });
    const { clock } = watched;
    const events: LoopEvent[] = [];
    for await (const event of watched.stream) {
      events.push(event);
      await clock.advance(60_000);
    }
    expect([events, events.length > 600]).toEqual([watched.recording.events, true]);
    expect([(await watched.stream.result).reason.kind, clock.pending]).toEqual(["answered", 0]);
  });
});
