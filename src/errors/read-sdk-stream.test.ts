// How a stream of an SDK is read where it is left, deaf, silent, or never closed.

import { expect, it } from "vitest";
import type { ModelCall, ModelChunk } from "../contract/provider.ts";
import { createTestClock, type TestClock } from "../testing/test-clock.ts";
import { readSdkStream } from "./read-sdk-stream.ts";

const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, settleMs: 1, approvalMs: 1, hookMs: 1 };
const finish: ModelChunk = { type: "finish", reason: "stop" };
const never = new Promise<never>(() => {});

interface Reading {
  readonly chunks: AsyncIterableIterator<ModelChunk>;
  readonly abort: AbortController;
  readonly clock: TestClock;
  /** The signals that `open` was given. */
  readonly signals: readonly AbortSignal[];
  readonly beats: number;
}

/** Reads texts as deltas, "" as nothing, and "end" as the last event. */
function read(open: (signal: AbortSignal) => Promise<unknown>, abort: AbortController = new AbortController()): Reading {
  const clock = createTestClock();
  const signals: AbortSignal[] = [];
  let beats = 0;
  const call: ModelCall = { signal: abort.signal, heartbeat: () => void (beats += 1), iteration: 0, clock, timeouts };
  const out: ModelChunk[] = [];
  let isOver = false;
  const reader = {
    failed: false,
    get finished() {
      return isOver;
    },
    get isOver() {
      return isOver;
    },
    read(event: unknown) {
      if (event === "end") isOver = true;
      else if (event !== "") out.push({ type: "text-delta", text: String(event) });
    },
    end: () => void (isOver && out.push(finish)),
  };
  const opened = (signal: AbortSignal): Promise<unknown> => {
    signals.push(signal);
    return open(signal);
  };
  return {
    chunks: readSdkStream({ open: opened, reader, out }, call),
    abort,
    clock,
    signals,
    get beats() {
      return beats;
    },
  };
}

/** Says the events, then nothing more and never ends; `onReturn` is what leaving it does. */
function staysOpen(events: readonly string[], onReturn: () => unknown = () => undefined): () => Promise<unknown> {
  const left = [...events];
  return async () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => (left.length === 0 ? never : Promise.resolve({ done: false, value: left.shift() })),
      return: onReturn,
    }),
  });
}

/** As SDKs are: its signal ends it. */
const hears = async (signal: AbortSignal): Promise<unknown> =>
  (async function* () {
    yield "a";
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  })();

const all = async (chunks: AsyncIterable<ModelChunk>): Promise<readonly ModelChunk[]> => {
  const said: ModelChunk[] = [];
  for await (const chunk of chunks) said.push(chunk);
  return said;
};

it("ends when it is left while it waits for an event", async () => {
  const { chunks, signals } = read(hears);
  await chunks.next();
  const waiting = chunks.next();
  expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("ends when it is left while it waits for its stream", async () => {
  const { chunks, signals } = read(() => never);
  const waiting = chunks.next();
  expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("fails when its signal fires while a deaf client is asked", async () => {
  const { chunks, abort } = read(() => never);
  const waiting = chunks.next();
  abort.abort("enough");
  await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
});

it("asks nothing once its signal has fired", async () => {
  const abort = new AbortController();
  abort.abort("enough");
  const { chunks, signals } = read(hears, abort);
  await expect(chunks.next()).rejects.toMatchObject({ name: "AbortError" });
  expect(signals).toEqual([]);
});

it("asks nothing where it is left before it was read", async () => {
  const { chunks, signals } = read(hears);
  await chunks.return?.();
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
  expect(signals).toEqual([]);
});

it.for<[what: string, onReturn: () => unknown]>([
  ["never answers", () => never],
  ["fails", () => Promise.reject(new Error("no"))],
  [
    "throws",
    () => {
      throw new Error("no");
    },
  ],
])("waits for no stream whose leaving %s", async ([, onReturn]) => {
  const { chunks } = read(staysOpen(["a", "b"], onReturn));
  for await (const chunk of chunks) {
    expect(chunk).toEqual({ type: "text-delta", text: "a" });
    break;
  }
});

it("hangs up a second after the last event, and loses nothing", async () => {
  let returned = 0;
  const { chunks, clock, signals } = read(staysOpen(["a", "end"], () => (returned += 1)));
  const said = all(chunks);
  await clock.advance(999);
  expect([signals[0]?.aborted, returned]).toEqual([false, 0]);
  await clock.advance(1);
  expect(await said).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect([signals[0]?.aborted, returned, clock.pending]).toEqual([true, 1, 0]);
});

it("leaves the connection of a stream alone that ends by itself", async () => {
  const { chunks, clock, signals } = read(async () =>
    (async function* () {
      yield* ["a", "end"];
    })(),
  );
  expect(await all(chunks)).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect([signals[0]?.aborted, clock.pending]).toEqual([false, 0]);
});

it.for<[what: string, atEnd: () => unknown]>([
  ["ends, without a promise,", () => ({ done: true, value: undefined })],
  [
    "throws at once",
    () => {
      throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
    },
  ],
])("loses nothing of a stream that %s behind its last event", async ([, atEnd]) => {
  const left = ["a", "end"];
  const next = (): unknown => (left.length === 0 ? atEnd() : { done: false, value: left.shift() });
  const { chunks, clock } = read(async () => ({ [Symbol.asyncIterator]: () => ({ next }) }));
  expect(await all(chunks)).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect(clock.pending).toBe(0);
});

it("hangs up on a stream that goes on behind its last event", async () => {
  const { chunks, clock, signals } = read(staysOpen(["end", "b"]));
  expect(await all(chunks)).toEqual([finish]);
  expect([signals[0]?.aborted, clock.pending]).toEqual([true, 0]);
});

it("each event of which nothing is told is a heartbeat", async () => {
  const reading = read(staysOpen(["", "a", "", "end"]));
  const said = all(reading.chunks);
  await reading.clock.advance(1_000);
  await said;
  expect(reading.beats).toBe(3);
});
