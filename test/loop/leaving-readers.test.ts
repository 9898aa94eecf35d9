import { describe, expect, it } from "vitest";
import { approve, type LoopEvent, type ModelChunk, type Provider } from "turnwright";
import { createMockProvider, type MockScript, reasoning, stall, text, toolCall, wait } from "turnwright/testing";
import { tool } from "./play.ts";
import { chatter, readAll, start } from "./reading.ts";
import { readAsTheyCome, watch, type Watched } from "./watching.ts";
import { hasStarted } from "./check-call-events.ts";

describe("streamToolLoop with several readers", () => {
  it("gives each event to exactly one reader, in order", async () => {
    const said = Array.from({ length: 500 }, (_, index) => text(`${index} `));
    const { stream, recording } = watch([[...said, toolCall("t")], text("Done.")], { tools: [tool("t", () => 1)] });
    const read: LoopEvent[] = [];
    const readShare = async (): Promise<number> => {
      let share = 0;
      for await (const event of stream) share += Math.sign(read.push(event));
      return share;
    };
    const shares = await Promise.all([readShare(), readShare(), readShare()]);
    expect(read).toEqual(recording.events);
    expect([Math.min(...shares) > 100, (await stream.result).reason.kind]).toEqual([true, "answered"]);
  });

  it("ends the run and all readers if one reader stops", async () => {
    const { stream } = start([[text("Hi"), stall()]]);
    const others = [readAll(stream), readAll(stream)];
    for await (const _ of stream) break;
    await Promise.all(others);
    expect((await stream.result).reason).toMatchObject({ kind: "stopped", note: "The reader left." });
  });
});

describe("streamToolLoop with a reader that stops early", () => {
  const script: MockScript = [
    [wait(1), reasoning("Hm."), wait(1), text("One "), wait(1), toolCall("work"), toolCall("nope")],
    [wait(1), text("Two "), toolCall("work"), wait(1)],
    [wait(1), text("Done."), wait(1)],
  ];
  const begin = (): Watched & { readonly provider: ReturnType<typeof createMockProvider> } => {
    const provider = createMockProvider(script);
    const work = tool("work", (_, { progress, signal }) => {
      progress("on it");
      return new Promise((resolve, reject) => {
        const timer = watched.clock.setTimeout(() => resolve(1), 1);
        signal.addEventListener("abort", () => (watched.clock.clearTimeout(timer), reject(new Error("cut"))));
      });
    });
    const watched = watch([], {
      provider,
      tools: [work],
      middleware: [approve(() => new Promise((resolve) => void watched.clock.setTimeout(() => resolve({ kind: "approve" }), 1)))],
    });
    return { ...watched, provider };
  };

  it("stops the run after any event, and leaves no timer or stream open", async () => {
    const whole = begin();
    await whole.clock.runAll();
    const all = whole.recording.events.length;
    const endings: string[] = [];
    for (let count = 0; count <= all; count += 1) {
      const { iterator, clock, recording, provider, stream } = begin();
      await readAsTheyCome({ iterator, clock, stream }, count);
      const [asked, isOver] = [provider.calls, recording.types().includes("run-end")];
      await iterator.return?.();
      await iterator.return?.();
      const { reason } = await stream.result;
      await clock.runAll();
      expect([count, reason.kind]).toEqual([count, isOver ? "answered" : "stopped"]);
      expect([provider.calls - asked, provider.active, clock.pending, (await iterator.next()).done]).toEqual([0, 0, 0, true]);
      // Listeners still get run-end and every tool-end after the reader has stopped.
      expect([recording.of("run-end").length, recording.types().at(-1)]).toEqual([1, "run-end"]);
      expect(recording.of("tool-end").filter(hasStarted)).toHaveLength(recording.of("tool-start").length);
      endings.push(reason.kind);
    }
    expect([all > 25, endings.filter((kind) => kind === "stopped").length > 20]).toEqual([true, true]);
  });

  it("closes a provider stream that is waiting for the reader, and requests no more chunks", async () => {
    let [asked, closed] = [0, 0];
    let aborted: unknown;
    const provider: Provider = {
      id: "p",
      model: "m",
      stream: (_, { signal }) => {
        signal.addEventListener("abort", () => (aborted = signal.reason));
        const next = (): Promise<IteratorResult<ModelChunk>> => {
          asked += 1;
          return Promise.resolve({ done: false, value: { type: "text-delta", text: "x" } });
        };
        const close = (): Promise<IteratorResult<ModelChunk>> => {
          closed += 1;
          return Promise.resolve({ done: true, value: undefined });
        };
        return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
      },
    };
    const watched = watch([], { provider });
    await watched.read(1);
    await watched.clock.flush();
    const before = asked;
    await watched.iterator.return?.();
    await watched.clock.flush();
    expect([asked, closed, watched.clock.pending]).toEqual([before, 1, 0]);
    expect(aborted).toMatchObject({ name: "AbortError" });
    expect((await watched.stream.result).text).toHaveLength(before);
  });

  it("stops the run and keeps the reader's error if the reader throws", async () => {
    const { provider, sent } = chatter(10_000);
    const { stream } = start([], { provider });
    const reading = async (): Promise<void> => {
      for await (const event of stream) if (event.type === "text-delta") throw new Error("my own");
    };
    await expect(reading()).rejects.toThrow("my own");
    expect([(await stream.result).reason.kind, sent() < 100]).toEqual(["stopped", true]);
  });

  it.for<[how: string, leave: (events: AsyncGenerator<LoopEvent>) => Promise<unknown>]>([
    ["is closed with return()", (events) => events.return(undefined)],
    ["is closed with throw()", (events) => events.throw(new Error("my own"))],
  ])("stops the run if a generator that forwards the events %s", async ([, leave]) => {
    const { stream } = start([[text("Hi"), stall()]]);
    async function* passOn(): AsyncGenerator<LoopEvent> {
      yield* stream;
    }
    const events = passOn();
    await events.next();
    await leave(events).catch(() => {});
    expect((await stream.result).reason).toMatchObject({ kind: "stopped", note: "The reader left." });
  });
});
