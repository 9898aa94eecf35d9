// Reading SDK streams that are closed early, ignore their signal, go silent, or are never closed.

import { expect, it } from "vitest";
import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { readSdkStream } from "./read-sdk-stream.ts";

const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, settleMs: 1, approvalMs: 1, hookMs: 1 };
const finish: ModelChunk = { type: "finish", reason: "stop" };
const counts: ModelChunk = {
  type: "usage",
  mode: "snapshot",
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
};
const never = new Promise<never>(() => {});

interface Reading {
  readonly chunks: AsyncIterableIterator<ModelChunk>;
  readonly abort: AbortController;
  readonly clock: TestClock;
  /** The signals that were passed to `open`. */
  readonly signals: readonly AbortSignal[];
  readonly beats: number;
}

interface Given {
  readonly abort?: AbortController;
  readonly mayGoOn?: boolean;
}

/** Reads texts as deltas, "" as nothing, "count" as usage, "finish" as a finish reason, and "end" as the last event. */
function read(
  open: (signal: AbortSignal) => Promise<unknown>,
  { abort = new AbortController(), mayGoOn = false }: Given = {},
): Reading {
  const clock = createTestClock();
  const signals: AbortSignal[] = [];
  let beats = 0;
  const call: ModelCall = { signal: abort.signal, heartbeat: () => void (beats += 1), iteration: 0, clock, timeouts };
  const out: ModelChunk[] = [];
  let isOver = false;
  let finished = false;
  const reader = {
    failed: false,
    mayGoOn,
    get finished() {
      return finished;
    },
    get isOver() {
      return isOver;
    },
    read(event: unknown) {
      isOver ||= event === "end";
      finished ||= isOver || event === "finish";
      if (event === "count") out.push(counts);
      else if (event !== "end" && event !== "finish" && event !== "") out.push({ type: "text-delta", text: String(event) });
    },
    end: () => void (finished && out.push(finish)),
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

/** Yields the events, then nothing, and never ends. `onReturn` runs when it is closed. */
function staysOpen(events: readonly string[], onReturn: () => unknown = () => undefined): () => Promise<unknown> {
  const left = [...events];
  return async () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => (left.length === 0 ? never : Promise.resolve({ done: false, value: left.shift() })),
      return: onReturn,
    }),
  });
}

/** Like SDK streams: the signal ends it. */
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
  const { chunks, signals } = read(hears, { abort });
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

/** Yields an event every 400 ms and never ends. */
function repeats(clock: TestClock, before: readonly string[], event: string): () => Promise<unknown> {
  return async () =>
    (async function* () {
      yield* before;
      for (;;) {
        await new Promise<void>((resolve) => void clock.setTimeout(resolve, 400));
        yield event;
      }
    })();
}

it.for<[what: string, before: readonly string[], event: string, afterMs: number]>([
  ["finishes and sends pings", ["a", "finish"], "", 5_000],
  ["finishes and counts over and over", ["a", "finish"], "count", 5_000],
  ["is over and sends pings", ["a", "end"], "", 1_000],
  ["is over after it finished", ["a", "finish", "end"], "", 1_000],
])("ends soon after the last content if the stream %s", async ([, before, event, afterMs]) => {
  const outer = createTestClock();
  const { chunks, clock } = read(repeats(outer, before, event));
  const ended = all(chunks).then((said) => [said.at(-1), clock.now()]);
  for (let at = 0; at < 6_000; at += 200) await Promise.all([clock.advance(200), outer.advance(200)]);
  expect(await ended).toEqual([finish, afterMs]);
});

it("goes on with content after a finish, for as long as it comes", async () => {
  const outer = createTestClock();
  const { chunks, clock } = read(repeats(outer, ["finish"], "a"));
  let heard = 0;
  const reading = (async () => {
    for await (const { type } of chunks) if (type === "text-delta") heard += 1;
  })();
  for (let at = 0; at < 20_000; at += 200) await Promise.all([clock.advance(200), outer.advance(200)]);
  expect(heard).toBe(50);
  void chunks.return?.();
  await outer.advance(400);
  await reading;
});

it.for<[what: string, events: readonly string[], mayGoOn: boolean, isLost: boolean]>([
  ["before the finish", ["a"], false, true],
  ["after the finish", ["a", "finish"], false, false],
  ["after the finish of an answer that may go on", ["a", "finish"], true, true],
  ["after the last event", ["a", "end"], false, false],
])("an error %s is thrown only if something may be missing", async ([, events, mayGoOn, isLost]) => {
  for (const error of [new TypeError("terminated"), new SyntaxError("Unexpected token"), new Error("It broke.")]) {
    const { chunks } = read(
      async () =>
        (async function* () {
          yield* events;
          throw error;
        })(),
      { mayGoOn },
    );
    if (isLost) await expect(all(chunks)).rejects.toBe(error);
    else expect((await all(chunks)).at(-1)).toEqual(finish);
  }
});

it.for(["return", "abort"] as const)("a stream of pings that never waits ends by %s", async (how) => {
  const { chunks, abort } = read(async () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: false, value: "" }) }),
  }));
  const waiting = chunks.next().then(({ done }) => done, String);
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (how === "abort") abort.abort();
  else await chunks.return?.();
  expect(await waiting).toEqual(how === "abort" ? "AbortError: This operation was aborted" : true);
});

it("each event without content is a heartbeat", async () => {
  const reading = read(staysOpen(["", "a", "count", "", "end"]));
  const said = all(reading.chunks);
  await reading.clock.advance(1_000);
  await said;
  expect(reading.beats).toBe(4);
});
