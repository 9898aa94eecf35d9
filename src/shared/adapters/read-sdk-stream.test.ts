import { expect, it } from "vitest";
import type { ModelCall, ModelChunk } from "../../core/types/provider.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { readSdkStream } from "./read-sdk-stream.ts";

const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, toolCleanupMs: 1, approvalMs: 1, callbackMs: 1 };
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
  readonly signals: readonly AbortSignal[];
  readonly beats: number;
}

interface Given {
  readonly abort?: AbortController;
  readonly mayGoOn?: boolean;
}

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

function staysOpen(events: readonly string[], onReturn: () => unknown = () => undefined): () => Promise<unknown> {
  const left = [...events];
  return async () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => (left.length === 0 ? never : Promise.resolve({ done: false, value: left.shift() })),
      return: onReturn,
    }),
  });
}

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

it("readSdkStream: ends when the consumer calls return() before the next event", async () => {
  const { chunks, signals } = read(hears);
  await chunks.next();
  const waiting = chunks.next();
  expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("readSdkStream: ends when the consumer calls return() before the stream opens", async () => {
  const { chunks, signals } = read(() => never);
  const waiting = chunks.next();
  expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("readSdkStream: throws when the signal fires, even if the SDK client ignores the signal", async () => {
  const { chunks, abort } = read(() => never);
  const waiting = chunks.next();
  abort.abort("enough");
  await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
});

it("readSdkStream: opens no stream if the signal has already fired", async () => {
  const abort = new AbortController();
  abort.abort("enough");
  const { chunks, signals } = read(hears, { abort });
  await expect(chunks.next()).rejects.toMatchObject({ name: "AbortError" });
  expect(signals).toEqual([]);
});

it("readSdkStream: opens no stream if the consumer calls return() before the first read", async () => {
  const { chunks, signals } = read(hears);
  await chunks.return?.();
  expect(await chunks.next()).toEqual({ done: true, value: undefined });
  expect(signals).toEqual([]);
});

it.for<[what: string, onReturn: () => unknown]>([
  ["never settles", () => never],
  ["rejects", () => Promise.reject(new Error("no"))],
  [
    "throws",
    () => {
      throw new Error("no");
    },
  ],
])("readSdkStream: ends without waiting for a stream whose return() %s", async ([, onReturn]) => {
  const { chunks } = read(staysOpen(["a", "b"], onReturn));
  for await (const chunk of chunks) {
    expect(chunk).toEqual({ type: "text-delta", text: "a" });
    break;
  }
});

it("readSdkStream: closes an open stream 1 second after its last event", async () => {
  let returned = 0;
  const { chunks, clock, signals } = read(staysOpen(["a", "end"], () => (returned += 1)));
  const said = all(chunks);
  await clock.advance(999);
  expect([signals[0]?.aborted, returned]).toEqual([false, 0]);
  await clock.advance(1);
  expect(await said).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect([signals[0]?.aborted, returned, clock.pending]).toEqual([true, 1, 0]);
});

it("readSdkStream: does not abort a stream that ends on its own", async () => {
  const { chunks, clock, signals } = read(async () =>
    (async function* () {
      yield* ["a", "end"];
    })(),
  );
  expect(await all(chunks)).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect([signals[0]?.aborted, clock.pending]).toEqual([false, 0]);
});

it.for<[what: string, atEnd: () => unknown]>([
  ["ends synchronously", () => ({ done: true, value: undefined })],
  [
    "throws synchronously",
    () => {
      throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
    },
  ],
])("readSdkStream: keeps all chunks of a stream that %s after its last event", async ([, atEnd]) => {
  const left = ["a", "end"];
  const next = (): unknown => (left.length === 0 ? atEnd() : { done: false, value: left.shift() });
  const { chunks, clock } = read(async () => ({ [Symbol.asyncIterator]: () => ({ next }) }));
  expect(await all(chunks)).toEqual([{ type: "text-delta", text: "a" }, finish]);
  expect(clock.pending).toBe(0);
});

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
  ["sends pings after its finish", ["a", "finish"], "", 5_000],
  ["repeats its usage after its finish", ["a", "finish"], "count", 5_000],
  ["sends pings after its last event", ["a", "end"], "", 1_000],
  ["sends its last event and pings after its finish", ["a", "finish", "end"], "", 1_000],
])("readSdkStream: ends soon after the last content if the stream %s", async ([, before, event, afterMs]) => {
  const outer = createTestClock();
  const { chunks, clock } = read(repeats(outer, before, event));
  const ended = all(chunks).then((said) => [said.at(-1), clock.now()]);
  for (let at = 0; at < 6_000; at += 200) await Promise.all([clock.advance(200), outer.advance(200)]);
  expect(await ended).toEqual([finish, afterMs]);
});

it("readSdkStream: continues as long as content follows the finish reason", async () => {
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
  ["throws a stream error that comes before the finish", ["a"], false, true],
  ["ignores a stream error after the finish", ["a", "finish"], false, false],
  ["throws a stream error that comes after a finish, if content may follow the finish", ["a", "finish"], true, true],
  ["ignores a stream error after the last event", ["a", "end"], false, false],
])("readSdkStream: %s", async ([, events, mayGoOn, isLost]) => {
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

it.for(["return", "abort"] as const)("readSdkStream: ends a stream of continuous pings after %s", async (how) => {
  const { chunks, abort } = read(async () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: false, value: "" }) }),
  }));
  const waiting = chunks.next().then(({ done }) => done, String);
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (how === "abort") abort.abort();
  else await chunks.return?.();
  expect(await waiting).toEqual(how === "abort" ? "AbortError: This operation was aborted" : true);
});

it("readSdkStream: calls heartbeat() for each event without content", async () => {
  const reading = read(staysOpen(["", "a", "count", "", "end"]));
  const said = all(reading.chunks);
  await reading.clock.advance(1_000);
  await said;
  expect(reading.beats).toBe(4);
});
