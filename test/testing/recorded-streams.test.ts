import { describe, expect, it } from "vitest";
import { toProviderError } from "../../src/shared/errors/read-sdk-error.ts";
import { isLoopError, type ModelChunk, type Provider, providerError } from "turnwright";
import { type Cassette, fail, memoryCassette, recordTo, replayFrom, stall, text } from "turnwright/testing";
import { says, script, linesOf, failureOf, complaintOf } from "./cassette-kit.ts";
import { play, request, setUp } from "./play.ts";

describe("recordTo and replayFrom: a stream", () => {
  it.for<[how: string, thrown: unknown]>([
    [
      "SDK error",
      Object.assign(new Error("Too many"), {
        status: 429,
        headers: { "retry-after": "2", authorization: "Bearer abcdef123456" },
      }),
    ],
    ["network error", new TypeError("terminated", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) })],
    ["provider error", providerError("overloaded", "Busy.", { retryAfterMs: 5 })],
    ["string", "just a text"],
  ])("throws the same %s in the recording and in the replay", async ([, thrown]) => {
    const thrower: Provider = {
      id: "p",
      model: "m",
      async *stream() {
        yield { type: "text-delta", text: "Half" };
        throw thrown;
      },
    };
    const cassette = memoryCassette();
    expect(await failureOf(recordTo(cassette, thrower))).toBe(thrown);
    const failure = await failureOf(replayFrom(cassette));
    expect(failure).toBeInstanceOf(Error);
    expect(toProviderError(failure)).toEqual(toProviderError(thrown));
    expect(cassette.read()).not.toContain("abcdef");
  });

  it("throws in a replay if the recorded stream() returned no async iterable", async () => {
    const broken: Provider = { id: "p", model: "m", stream: () => JSON.parse("{}") };
    const cassette = memoryCassette();
    expect(await complaintOf(recordTo(cassette, broken))).toBe(
      "The provider's stream() did not return an async iterable. Make it an async generator.",
    );
    expect(await complaintOf(replayFrom(cassette))).toBe(
      "The provider's stream() did not return an async iterable. Make it an async generator.",
    );
  });

  it("throws in a replay that reads beyond the end of the recording", async () => {
    const cassette = memoryCassette();
    for await (const _ of recordTo(cassette, script([text("ab", { chunks: 2 })])).stream(request, setUp().call)) break;
    expect(linesOf(cassette).at(-1)).toEqual({ type: "left", waiting: false, stream: 0, atMs: 0 });
    const [chunk] = [(await replayFrom(cassette).stream(request, setUp().call)[Symbol.asyncIterator]().next()).value];
    expect(chunk).toEqual({ type: "text-delta", text: "a" });
    expect(await complaintOf(replayFrom(cassette))).toBe(
      "The recording of this stream ends here because its reader stopped reading. Record it again.",
    );
  });

  it("replays a silence until the signal fires if the recording ended during the silence", async () => {
    const cassette = memoryCassette();
    const stream = recordTo(cassette, script([stall({ ignoreSignal: true })])).stream(request, setUp().call);
    const reader = stream[Symbol.asyncIterator]();
    void reader.next();
    void reader.return?.();
    await Promise.resolve();
    expect(linesOf(cassette).at(-1)).toEqual({ type: "left", waiting: true, stream: 0, atMs: 0 });
    const { call, abort, clock } = setUp();
    const playing = failureOf(replayFrom(cassette), request, call);
    await clock.advance(1_000_000);
    abort.abort("enough");
    expect(await playing).toBe("enough");
  });

  it("replays chunks that followed a recorded abort only when the signal fires", async () => {
    const usage: ModelChunk = { type: "usage", mode: "snapshot", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
    const lastWords: Provider = {
      id: "p",
      model: "m",
      async *stream(_request, { signal }) {
        yield { type: "text-delta", text: "Half" };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield usage;
        signal.throwIfAborted();
      },
    };
    const readTo = async (provider: Provider, timing: number): Promise<unknown[]> => {
      const { call, abort, clock } = setUp();
      const seen: unknown[] = [];
      const reading = (async () => {
        try {
          for await (const chunk of provider.stream(request, call)) seen.push(chunk.type);
        } catch {
          seen.push("threw");
        }
      })();
      await clock.advance(timing);
      seen.push("abort");
      abort.abort(new Error("Enough."));
      await reading;
      expect(clock.pending).toBe(0);
      return seen;
    };
    const cassette = memoryCassette();
    expect(await readTo(recordTo(cassette, lastWords), 50)).toEqual(["text-delta", "abort", "usage", "threw"]);
    expect(await readTo(replayFrom(cassette), 7)).toEqual(["text-delta", "abort", "usage", "threw"]);
    expect(await readTo(replayFrom(cassette, { timing: true }), 7)).toEqual(["text-delta", "abort", "usage", "threw"]);
  });

  it("rejects in a replay when the signal fires during the stream", async () => {
    const cassette = memoryCassette();
    await play(recordTo(cassette, script([text("abc", { chunks: 3 })])));
    const { call, abort } = setUp();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of replayFrom(cassette).stream(request, call)) {
        seen.push(chunk.type);
        abort.abort("enough");
      }
    })();
    await expect(reading).rejects.toBe("enough");
    expect(seen).toEqual(["text-delta"]);
  });

  it("with timing: true, replays times and heartbeats until the signal fires", async () => {
    const cassette = memoryCassette();
    const slow: Provider = {
      id: "p",
      model: "m",
      async *stream(_request, { clock, heartbeat }) {
        const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimeout(resolve, ms));
        heartbeat();
        yield { type: "text-delta", text: "a" };
        await sleep(100);
        heartbeat();
        heartbeat();
        await sleep(50.4);
        yield { type: "text-delta", text: "b" };
      },
    };
    const timesOf = async (provider: Provider): Promise<unknown> => {
      const { call, clock, heartbeats } = setUp();
      const times: number[] = [];
      const reading = (async () => {
        for await (const _ of provider.stream(request, call)) times.push(Math.round(clock.now()));
      })();
      await clock.runAll();
      await reading;
      return { times, heartbeats };
    };
    expect(await timesOf(recordTo(cassette, slow))).toEqual({ times: [0, 150], heartbeats: [0, 100, 100] });
    expect(await timesOf(replayFrom(cassette, { timing: true }))).toEqual({ times: [0, 150], heartbeats: [100] });
    expect(await timesOf(replayFrom(cassette))).toEqual({ times: [0, 0], heartbeats: [0] });
    const { call, clock, abort } = setUp();
    const cut = failureOf(replayFrom(cassette, { timing: true }), request, call);
    await clock.advance(120);
    abort.abort("enough");
    expect([await cut, clock.pending]).toEqual(["enough", 0]);
  });

  it.for<[what: string, chunk: unknown]>([
    ["null", null],
    ["undefined", undefined],
    ["an object without a type", {}],
    ["not JSON", { type: "thought-log", payload: 1n }],
  ])("throws for a chunk that is %s", async ([, chunk]) => {
    let active = 0;
    const hostile: Provider = {
      id: "p",
      model: "m",
      async *stream() {
        active += 1;
        try {
          yield chunk as ModelChunk;
          yield { type: "finish", reason: "stop" };
        } finally {
          active -= 1;
        }
      },
    };
    const cassette = memoryCassette();
    expect(await failureOf(recordTo(cassette, hostile))).toBeInstanceOf(TypeError);
    await Promise.resolve();
    expect(active).toBe(0);
    expect(await complaintOf(replayFrom(cassette))).toContain("is incomplete");
  });

  it("ends when the signal fires, even if a full disk prevents the recording", async () => {
    const kept = memoryCassette();
    let room = 3;
    const full: Cassette = {
      ...kept,
      append(added) {
        if ((room -= 1) < 0) throw new Error("No space left.");
        kept.append(added);
      },
    };
    const { call, abort } = setUp();
    const recorder = recordTo(full, script([text("a"), text("b")], [text("c")]));
    const stream = recorder.stream(request, call)[Symbol.asyncIterator]();
    expect((await stream.next()).value).toEqual({ type: "text-delta", text: "a" });
    abort.abort();
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    room = 4;
    expect(await complaintOf(recordTo(full, script([text("a"), text("b"), text("c")])))).toBe("No space left.");
  });
});

describe("recordTo: options.redact", () => {
  it("receives a copy of each chunk and the number of its stream", async () => {
    const given: ModelChunk = { type: "provider-metadata", item: { key: "sk" } };
    const seen: unknown[] = [];
    const provider = recordTo(
      memoryCassette(),
      { ...says(given), stream: says(given).stream },
      {
        redact: ({ stream, chunk }) => {
          seen.push([stream, chunk.type]);
          if (chunk.type === "provider-metadata") Object.assign(chunk, { item: "gone" });
          return chunk;
        },
      },
    );
    expect(await play(provider)).toEqual([{ type: "provider-metadata", item: "gone" }]);
    await play(provider);
    expect(given.item).toEqual({ key: "sk" });
    expect(seen).toEqual([
      [0, "provider-metadata"],
      [1, "provider-metadata"],
    ]);
  });

  it.for<[what: string, redact: () => unknown]>([
    ["undefined", () => undefined],
    ["a promise", () => Promise.resolve({ type: "text-delta", text: "" })],
    ["a rejected promise", () => Promise.reject(new Error("later"))],
    ["an object that is not a chunk", () => ({ text: "" })],
  ])('makes the stream throw "invalid-option" if redact returns %s', async ([, redact]) => {
    const cassette = memoryCassette();
    const provider = recordTo(cassette, says({ type: "text-delta", text: "secret" }), { redact: redact as () => ModelChunk });
    expect(isLoopError(await failureOf(provider), "invalid-option")).toBe(true);
    expect(cassette.read()).not.toContain("secret");
  });

  it('makes the stream throw "invalid-option" if redact turns an error into a chunk', async () => {
    const redact = (): ModelChunk => ({ type: "text-delta", text: "" });
    const failure = await failureOf(recordTo(memoryCassette(), script([fail(new Error("x"))]), { redact }));
    expect(isLoopError(failure, "invalid-option")).toBe(true);
  });

  it("omits an error from the recording if redact throws for it", async () => {
    const cassette = memoryCassette();
    const redact = ({ chunk }: { readonly chunk: ModelChunk }): ModelChunk => {
      if (chunk.type === "error") throw new Error("not this one");
      return chunk;
    };
    const provider = recordTo(cassette, script([text("a"), fail(new Error("x"))]), { redact });
    const stream = provider.stream(request, setUp().call)[Symbol.asyncIterator]();
    await stream.next();
    await expect(stream.next()).rejects.toThrow("not this one");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(linesOf(cassette).slice(2)).toMatchObject([{ type: "chunk" }]);
  });
});
