import { describe, expect, it } from "vitest";
import { isLoopError, type Journal, memoryJournal } from "turnwright";
import { createMockProvider, createTestClock, recordEvents, stall, text, toolCall } from "turnwright/testing";
import { never, outcomesOf, tool } from "./play.ts";
import { chatter, readAll, readSome, start } from "./reading.ts";

const script = [[text("Hello", { chunks: 5 }), toolCall("t"), toolCall("nope")], text("Done.")];
const tools = [tool("t", (_, { progress }) => progress("half"))];

describe("a stream of events", () => {
  it("yields what an emitter gets, and in the same order", async () => {
    const recording = recordEvents();
    const { stream } = start(script, { tools, events: recording.emitter });
    const events = await readAll(stream);
    expect(events).toEqual(recording.events);
    expect([events.at(0)?.type, events.at(-1)?.type, events.length > 15]).toEqual(["run-start", "run-end", true]);
    expect((await stream.result).text).toBe("Done.");
  });

  it("starts at once, and loses nothing where it is read late", async () => {
    const recording = recordEvents();
    const { stream } = start(script, { tools, events: recording.emitter });
    const { text: said } = await stream.result;
    expect([said, await readAll(stream)]).toEqual(["Done.", recording.events]);
    // All events have been read, so none are left.
    expect(await readAll(stream)).toEqual([]);
  });

  it("answers several reads at once, in order", async () => {
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

  it("is not held back by who only waits for the result", async () => {
    const { provider, sent } = chatter(10_000);
    const reading = start([], { provider });
    expect([(await reading.stream.result).text.length, sent()]).toEqual([10_000, 10_000]);
    expect((await readAll(reading.stream)).filter((event) => event.type === "text-delta")).toHaveLength(10_000);
  });
});

describe("a reader that leaves", () => {
  it("stops the run: tools get their time to settle, and nothing more is asked", async () => {
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

  it("hears nothing more, also where it asks again", async () => {
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
    expect(await readAll(reading.stream)).toEqual([]);
  });

  it("lets a model go that it had held back", async () => {
    const { provider, sent } = chatter(10_000);
    const reading = start([], { provider });
    await readSome(reading, 1);
    await reading.clock.flush();
    await reading.iterator.return?.();
    expect([(await reading.stream.result).reason.kind, sent() < 100]).toEqual(["stopped", true]);
  });

  it("after the end changes nothing", async () => {
    const reading = start([text("Hi")]);
    const result = await reading.stream.result;
    await reading.iterator.return?.();
    expect([result.reason.kind, await readAll(reading.stream)]).toEqual(["answered", []]);
  });

  it("by a throw of its own keeps its error", async () => {
    const { stream } = start([[text("Hi"), stall()]]);
    const reading = async (): Promise<void> => {
      for await (const event of stream) if (event.type === "text-delta") throw new Error("my own");
    };
    await expect(reading()).rejects.toThrow("my own");
    expect((await stream.result).reason.kind).toBe("stopped");
  });
});

describe("a stream that fails", () => {
  const broken = new Error("The disk is full.");
  const failing = (): Journal => {
    const inner = memoryJournal();
    return { ...inner, step: (one) => (one.key === "i1/inbox" ? Promise.reject(broken) : inner.step(one)) };
  };

  it("tells its reader the error of its journal, behind all that was said", async () => {
    const { stream } = start(script, { tools, journal: failing() });
    const read: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of stream) read.push(event.type);
    };
    await expect(reading()).rejects.toBe(broken);
    expect([read.at(0), read.at(-1)]).toEqual(["run-start", "iteration-end"]);
    await expect(stream.result).rejects.toBe(broken);
    // It is told once.
    expect(await readAll(stream)).toEqual([]);
  });

  it("rejects the read that was waiting, and ends the others", async () => {
    const clock = createTestClock();
    const journal: Journal = {
      ...failing(),
      step: ({ key, run }) =>
        key === "run" ? run({}) : new Promise((_, reject) => void clock.setTimeout(() => reject(broken), 10)),
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

  it("throws at once for misuse", () => {
    let thrown: unknown;
    try {
      start([], { limits: { maxIterations: 0 } });
    } catch (error) {
      thrown = error;
    }
    expect(isLoopError(thrown, "invalid-option")).toBe(true);
  });
});
