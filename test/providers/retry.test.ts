import { describe, expect, it } from "vitest";
import { providerError, withRetry } from "turnwright";
import type { RetryOptions } from "../../src/core/providers/with-retry.ts";
import {
  chunk,
  createMockProvider,
  endEarly,
  fail,
  failInBand,
  finish,
  type MockMessage,
  providerMetadata,
  reasoning,
  refusal,
  text,
  toolCall,
  usage,
  wait,
} from "turnwright/testing";
import { busy, single } from "./models.ts";
import { callOf, goRequest, outline, outlineAll } from "./outline.ts";

const half: RetryOptions = { random: () => 0 };

describe("withRetry", () => {
  it("has the wrapped provider's id, model and family", () => {
    const provider = withRetry(createMockProvider([], { id: "a", model: "m", family: "f" }));
    expect([provider.id, provider.model, provider.family]).toEqual(["a", "m", "f"]);
    expect(withRetry(single()).family).toBeUndefined();
  });

  it("does not call the wrapped provider before the stream is read", async () => {
    const inner = single(text("Hi."));
    const { lines, ended } = outline(withRetry(inner));
    expect(inner.calls).toBe(1);
    await ended;
    expect(lines).toEqual(["start 1 a/m", "text Hi.", "finish stop", "end"]);
    const unread = single(text("Hi."));
    const iterator = withRetry(unread).stream(goRequest, callOf())[Symbol.asyncIterator]();
    await iterator.return?.();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(unread.calls).toBe(0);
  });

  it.for<[what: string, turn: MockMessage, discard: string]>([
    ["a thrown error", busy, "overloaded"],
    ["an error chunk", failInBand(providerError("server", "It broke.")), "server"],
    ["a network error", fail(new TypeError("terminated")), "network"],
    ["a stream that ends without a finish chunk", endEarly(), "stream-ended-early"],
    ['the finish reason "error"', finish("error"), "finish-error"],
    ["token counts and an error", [usage({ inputTokens: 5, outputTokens: 0 }), busy], "overloaded"],
    ["empty text and an error", [text(""), busy], "overloaded"],
    ["provider metadata and an error", [providerMetadata(1), busy], "overloaded"],
  ])("retries after %s", async ([, turn, code]) => {
    const lines = await outlineAll(withRetry(single(turn, text("Hi."))));
    expect(lines).toContain(`discard 1 ${code}`);
    expect(lines.slice(-4)).toEqual(["start 2 a/m", "text Hi.", "finish stop", "end"]);
  });

  it.for<[what: string, turn: MockMessage, last: string]>([
    ["a rejected API key", fail({ status: 401 }), "throws auth"],
    ["an API key without permission", fail({ status: 403 }), "throws auth"],
    ["a bad request", fail({ status: 400 }), "throws bad-request"],
    [
      "a bad request with an x-should-retry header",
      fail({ status: 400, headers: { "x-should-retry": "true" } }),
      "throws bad-request",
    ],
    ["an unknown model", fail({ status: 404 }), "throws bad-request"],
    ["an error that reports a full context", fail({ status: 400, code: "context_length_exceeded" }), "throws context-too-long"],
    ["an exhausted quota", fail({ status: 429, code: "insufficient_quota" }), "throws rate-limit"],
    ["a programming error", fail(new RangeError("odd")), "throws server"],
    ["a non-retryable error chunk", failInBand(providerError("server", "No.", { retryable: false })), "end"],
    ['the finish reason "unknown"', finish("unknown"), "end"],
    ["an empty answer", finish("stop"), "end"],
    ["a refusal", [refusal("No."), finish("refusal")], "end"],
    ["an output limit that is reached before any text", finish("length"), "end"],
    ["text and an error", [text("Hi"), busy], "throws overloaded"],
    ["text without a finish chunk", [text("Hi"), endEarly()], "end"],
    ["text and an error chunk", [text("Hi"), failInBand(providerError("server", "No."))], "end"],
    ["reasoning and an error", [reasoning("Hm"), busy], "throws overloaded"],
    ["refusal text and an error", [refusal("No"), busy], "throws overloaded"],
    ["a call and an error", [toolCall("t"), busy], "throws overloaded"],
    ["the start of a call and an error", [chunk({ type: "call-start", key: "k", name: "t" }), busy], "throws overloaded"],
  ])("does not retry after %s", async ([, turn, last]) => {
    const inner = single(turn, text("Hi."));
    const lines = await outlineAll(withRetry(inner));
    expect([inner.calls, lines.at(-1)]).toEqual([1, last]);
    expect(lines.filter((line) => line.startsWith("discard"))).toEqual([]);
  });

  it("passes on the last attempt's failure unchanged", async () => {
    const inBand = failInBand(providerError("server", "It broke."));
    expect(await outlineAll(withRetry(single(busy, inBand), { maxAttempts: 2 }))).toEqual([
      "start 1 a/m",
      "discard 1 overloaded",
      "start 2 a/m",
      "error server: It broke.",
      "end",
    ]);
    expect((await outlineAll(withRetry(single(busy, busy, busy, busy)))).slice(-2)).toEqual(["start 3 a/m", "throws overloaded"]);
    expect((await outlineAll(withRetry(single(busy), { maxAttempts: 1 }))).slice(-2)).toEqual([
      "start 1 a/m",
      "throws overloaded",
    ]);
    expect((await outlineAll(withRetry(single(finish("error")), { maxAttempts: 1 }))).slice(-2)).toEqual(["finish error", "end"]);
  });

  it.for<[what: string, options: RetryOptions, headers: Record<string, string>, waits: readonly number[]]>([
    ["waits half of each delay if random returns 0", { random: () => 0 }, {}, [250, 500, 1_000, 2_000]],
    ["waits the full length of each delay if random returns 1", { random: () => 1 }, {}, [500, 1_000, 2_000, 4_000]],
    [
      "waits at most maxDelayMs before an attempt",
      { random: () => 1, baseDelayMs: 1_000, maxDelayMs: 1_500 },
      {},
      [1_000, 1_500, 1_500, 1_500],
    ],
    ["waits 0 ms if baseDelayMs is 0", { baseDelayMs: 0 }, {}, [0, 0, 0, 0]],
    ["waits for the time in the retry-after header", half, { "retry-after": "3" }, [3_000, 3_000, 3_000, 3_000]],
    ["waits for its own delay if the time in retry-after is shorter", half, { "retry-after-ms": "1" }, [250, 500, 1_000, 2_000]],
    [
      "waits for the time in retry-after if this time equals maxRetryAfterMs",
      { ...half, maxRetryAfterMs: 3_000 },
      { "retry-after": "3" },
      [3_000, 3_000, 3_000, 3_000],
    ],
    [
      "gives up without waiting if the time in retry-after exceeds maxRetryAfterMs",
      { ...half, maxRetryAfterMs: 2_999 },
      { "retry-after": "3" },
      [],
    ],
    ["waits half of each delay if random returns NaN", { random: () => Number.NaN }, {}, [250, 500, 1_000, 2_000]],
    ["waits the full length of each delay if random returns more than 1", { random: () => 7 }, {}, [500, 1_000, 2_000, 4_000]],
  ])("%s", async ([, options, headers, waits]) => {
    const askedAt: number[] = [];
    const inner = createMockProvider(() => fail({ status: 429, headers }));
    const { clock, ended } = outline(
      withRetry(
        {
          ...inner,
          stream: (request, call) => {
            askedAt.push(call.clock.now());
            return inner.stream(request, call);
          },
        },
        { maxAttempts: 5, ...options },
      ),
    );
    await clock.runAll();
    await ended;
    expect(askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0))).toEqual(waits);
    expect(clock.pending).toBe(0);
  });

  it("sends heartbeats during its delays, and passes on the wrapped provider's heartbeats", async () => {
    const provider = withRetry(single(busy, [wait(10), { kind: "heartbeat" }, text("Hi.")]), {
      baseDelayMs: 2_000,
      random: () => 0,
    });
    const { clock, beats, ended } = outline(provider);
    await clock.runAll();
    await ended;
    expect(beats).toEqual([0, 500, 1_010]);
  });

  it.for<[what: string, make: () => unknown, facts: object]>([
    ["a missing provider", () => withRetry(undefined as never), { code: "invalid-option", details: { option: "provider" } }],
    ["a provider without a model", () => withRetry({ id: "a", stream: () => {} } as never), { details: { option: "provider" } }],
    ["a number as options", () => withRetry(single(), 3 as never), { details: { option: "options" } }],
    ["an unknown option", () => withRetry(single(), { retries: 3 } as never), { code: "unknown-option" }],
    ["a maxAttempts of 0", () => withRetry(single(), { maxAttempts: 0 }), { details: { option: "maxAttempts", received: "0" } }],
    ["an infinite maxAttempts", () => withRetry(single(), { maxAttempts: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["an infinite maxDelayMs", () => withRetry(single(), { maxDelayMs: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["a negative baseDelayMs", () => withRetry(single(), { baseDelayMs: -1 }), { details: { option: "baseDelayMs" } }],
    [
      "a maxRetryAfterMs that is not a number",
      () => withRetry(single(), { maxRetryAfterMs: "1" as never }),
      { details: { option: "maxRetryAfterMs" } },
    ],
    [
      "a random option that is not a function",
      () => withRetry(single(), { random: 0.5 as never }),
      { details: { option: "random" } },
    ],
  ])("rejects %s", ([, make, facts]) => {
    expect(make).toThrow(expect.objectContaining({ name: "LoopError", ...toMatch(facts) }));
  });
});

function toMatch(facts: object): object {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, typeof value === "object" ? expect.objectContaining(value) : value]),
  );
}
