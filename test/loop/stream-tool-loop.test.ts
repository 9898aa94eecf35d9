import { describe, expect, it } from "vitest";
import { isLoopError, type Journal, memoryJournal } from "turnwright";
import { createMockProvider, createTestClock, recordEvents, stall, text, toolCall } from "turnwright/testing";
import { never, outcomesOf, tool } from "./play.ts";
import { chatter, readAll, readSome, start } from "./reading.ts";

const script = [[text("Hello", { chunks: 5 }), toolCall("t"), toolCall("nope")], text("Done.")];
const tools = [tool("t", (_, { progress }) => progress("half"))];

describe("streamToolLoop", () => {
  it("yields the same events as an emitter, in the same order", async () => {
    const recording = recordEvents();
    const { stream } = start(script, { tools, events: recording.emitter });
    const events = await readAll(stream);
    expect(events).toEqual(recording.events);
    expect([events.at(0)?.type, events.at(-1)?.type, events.length > 15]).toEqual(["run-start", "run-end", true]);
    expect((await stream.result).text).toBe("Done.");
  });

  it("starts immediately and keeps all events for a late reader", async () => {
    const recording = recordEvents();
    const { stream } = start(script, { tools, events: recording.emitter });
    const { text: said } = await stream.result;
    expect([said, await readAll(stream)]).toEqual(["Done.", recording.events]);
    await expect(readAll(stream)).rejects.toThrow("This run's events have already been read.");
  });

  it("answers concurrent reads in order", async () => {
    const { iterator } = start([text("Hi")]);
    const reads = await Promise.all(Array.from({ length: 7 }, () => iterator.next()));
    expect(reads.map((read) => (read.done === true ? "end" : read.value.type))).toEqual([
      "run-start",
      "iteration-start",
      "text-delta",
      "iteration-end",
      "run-end",
      "end",
      "end",
    ]);
  });

  it("does not wait for a reader if only the result is awaited", async () => {
    const { provider, sent } = chatter(10_000);
    const reading = start([], { provider });
    expect([(await reading.stream.result).text.length, sent()]).toEqual([10_000, 10_000]);
    expect((await readAll(reading.stream)).filter((event) => event.type === "text-delta")).toHaveLength(10_000);
  });
});

describe("a reader of streamToolLoop that stops early", () => {
  it("stops the run, lets tools settle and makes no more requests", async () => {
    let aborted: unknown;
    const deaf = tool("deaf", (_, { signal }) => (signal.addEventListener("abort", () => (aborted = signal.reason)), never));
    const provider = createMockProvider([[text("Hm. "), toolCall("deaf")]]);
    const { stream, clock } = start([], { provider, tools: [deaf] });
    for await (const event of stream) if (event.type === "tool-start") break;
    await clock.advance(4_999);
    expect(aborted).toMatchObject({ name: "AbortError" });
    await clock.advance(1);
    const result = await stream.result;
    expect(result.reason).toMatchObject({ kind: "stopped", note: "The reader left." });
    expect([result.text, outcomesOf(result), provider.calls, clock.pending]).toEqual(["Hm.", ["call_i0_0: interrupted"], 1, 0]);
  });

  it("receives no more events, even on another read", async () => {
    const chatty = tool(
      "chatty",
      (_, { signal, progress }) => new Promise(() => signal.addEventListener("abort", () => progress("still here"))),
    );
    const reading = start([toolCall("chatty")], { tools: [chatty] });
    await readSome(reading, 4);
    const waiting = reading.iterator.next();
    await reading.iterator.return?.();
    expect([await waiting, await reading.iterator.next()]).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
    await reading.clock.advance(5_000);
    await reading.stream.result;
    await expect(readAll(reading.stream)).rejects.toThrow("This run's events have already been read.");
  });

  it("ends a model stream that was waiting for the reader", async () => {
    const { provider, sent } = chatter(10_000);
    const reading = start([], { provider });
    await readSome(reading, 1);
    await reading.clock.flush();
    await reading.iterator.return?.();
    expect([(await reading.stream.result).reason.kind, sent() < 100]).toEqual(["stopped", true]);
  });

  it("does not change a run that has already ended", async () => {
    const reading = start([text("Hi")]);
    const result = await reading.stream.result;
    await reading.iterator.return?.();
    expect([result.reason.kind, (await reading.iterator.next()).done]).toEqual(["answered", true]);
  });

  it("receives the error that it throws itself", async () => {
    const { stream } = start([[text("Hi"), stall()]]);
    const reading = async (): Promise<void> => {
      for await (const event of stream) if (event.type === "text-delta") throw new Error("my own");
    };
    await expect(reading()).rejects.toThrow("my own");
    expect((await stream.result).reason.kind).toBe("stopped");
  });
});

describe("streamToolLoop with a run that rejects", () => {
  const broken = new Error("The disk is full.");
  const failing = (): Journal => {
    const inner = memoryJournal();
    return { ...inner, step: (key, body) => (key === "i0/next" ? Promise.reject(broken) : inner.step(key, body)) };
  };

  it("throws the journal's error to the reader after the last event", async () => {
    const { stream } = start(script, { tools, journal: failing() });
    const read: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of stream) read.push(event.type);
    };
    await expect(reading()).rejects.toBe(broken);
    expect([read.at(0), read.at(-1)]).toEqual(["run-start", "iteration-end"]);
    await expect(stream.result).rejects.toBe(broken);
  });

  it("rejects the first waiting read and ends all other reads", async () => {
    const clock = createTestClock();
    const journal: Journal = {
      ...failing(),
      step: (key, body) => (key === "run" ? body() : new Promise((_, reject) => void clock.setTimeout(() => reject(broken), 10))),
    };
    const { iterator } = start([text("Hi")], { clock, journal });
    const reads = Promise.allSettled([iterator.next(), iterator.next(), iterator.next()]);
    await clock.advance(10);
    expect(await reads).toMatchObject([
      { value: { value: { type: "run-start" } } },
      { reason: broken },
      { value: { done: true } },
    ]);
  });

  it("throws immediately for an invalid option", () => {
    let thrown: unknown;
    try {
      start([], { limits: { maxIterations: 0 } });
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown, "invalid-option")).toBe(true);
  });
});
