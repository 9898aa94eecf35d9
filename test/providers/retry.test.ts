import { describe, expect, it } from "vitest";
import { providerError, type RetryOptions, withRetry } from "turnwright";
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
  it("has the id, model and family of its provider", () => {
    const provider = withRetry(createMockProvider([], { id: "a", model: "m", family: "f" }));
    expect([provider.id, provider.model, provider.family]).toEqual(["a", "m", "f"]);
    expect(Object.keys(withRetry(single()))).toEqual(["id", "model", "stream"]);
  });

  it("does not call its provider before the stream is read", async () => {
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
    ["that is thrown", busy, "overloaded"],
    ["in the stream", failInBand(providerError("server", "It broke.")), "server"],
    ["of the network", fail(new TypeError("terminated")), "network"],
    ["caused by a stream that ends without a finish", endEarly(), "stream-ended-early"],
    ["that is the finish reason", finish("error"), "finish-error"],
    ["that follows the first token counts", [usage({ inputTokens: 5, outputTokens: 0 }), busy], "overloaded"],
    ["that follows empty text", [text(""), busy], "overloaded"],
    ["that follows provider metadata", [providerMetadata(1), busy], "overloaded"],
  ])("retries after an error %s", async ([, turn, code]) => {
    const lines = await outlineAll(withRetry(single(turn, text("Hi."))));
    expect(lines).toContain(`discard 1 ${code}`);
    expect(lines.slice(-4)).toEqual(["start 2 a/m", "text Hi.", "finish stop", "end"]);
  });

  it.for<[what: string, turn: MockMessage, last: string]>([
    ["a wrong key", fail({ status: 401 }), "throws auth"],
    ["a key without permission", fail({ status: 403 }), "throws auth"],
    ["a bad request", fail({ status: 400 }), "throws bad-request"],
    ["a bad request with x-should-retry", fail({ status: 400, headers: { "x-should-retry": "true" } }), "throws bad-request"],
    ["an unknown model", fail({ status: 404 }), "throws bad-request"],
    ["a full context", fail({ status: 400, code: "context_length_exceeded" }), "throws context-too-long"],
    ["an exhausted quota", fail({ status: 429, code: "insufficient_quota" }), "throws rate-limit"],
    ["a programming error", fail(new RangeError("odd")), "throws server"],
    ["a non-retryable error in the stream", failInBand(providerError("server", "No.", { retryable: false })), "end"],
    ["the finish reason unknown", finish("unknown"), "end"],
    ["an empty answer", finish("stop"), "end"],
    ["a refusal", [refusal("No."), finish("refusal")], "end"],
    ["an output limit before the first word", finish("length"), "end"],
    ["text and an error", [text("Hi"), busy], "throws overloaded"],
    ["text and an early end", [text("Hi"), endEarly()], "end"],
    ["text and an error in the stream", [text("Hi"), failInBand(providerError("server", "No."))], "end"],
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

  it("passes on the last failure unchanged", async () => {
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
    ["at least half of each delay", { random: () => 0 }, {}, [250, 500, 1_000, 2_000]],
    ["at most the full length of each delay", { random: () => 1 }, {}, [500, 1_000, 2_000, 4_000]],
    ["at most maxDelayMs", { random: () => 1, baseDelayMs: 1_000, maxDelayMs: 1_500 }, {}, [1_000, 1_500, 1_500, 1_500]],
    ["0 ms if baseDelayMs is 0", { baseDelayMs: 0 }, {}, [0, 0, 0, 0]],
    ["as long as retry-after requests", half, { "retry-after": "3" }, [3_000, 3_000, 3_000, 3_000]],
    ["for its own delay if retry-after is shorter", half, { "retry-after-ms": "1" }, [250, 500, 1_000, 2_000]],
    [
      "as long as a retry-after of exactly maxRetryAfterMs requests",
      { ...half, maxRetryAfterMs: 3_000 },
      { "retry-after": "3" },
      [3_000, 3_000, 3_000, 3_000],
    ],
    [
      "for nothing and gives up if retry-after exceeds maxRetryAfterMs",
      { ...half, maxRetryAfterMs: 2_999 },
      { "retry-after": "3" },
      [],
    ],
    ["half of each delay if random returns NaN", { random: () => Number.NaN }, {}, [250, 500, 1_000, 2_000]],
    ["at most the full length of each delay if random returns more than 1", { random: () => 7 }, {}, [500, 1_000, 2_000, 4_000]],
  ])("waits %s", async ([, options, headers, waits]) => {
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

  it("sends heartbeats while it waits, and passes on the heartbeats of its provider", async () => {
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
    ["invalid options", () => withRetry(single(), 3 as never), { details: { option: "options" } }],
    ["an unknown option", () => withRetry(single(), { retries: 3 } as never), { code: "unknown-option" }],
    ["zero attempts", () => withRetry(single(), { maxAttempts: 0 }), { details: { option: "maxAttempts", received: "0" } }],
    ["infinite attempts", () => withRetry(single(), { maxAttempts: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["an infinite delay", () => withRetry(single(), { maxDelayMs: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["a negative delay", () => withRetry(single(), { baseDelayMs: -1 }), { details: { option: "baseDelayMs" } }],
    [
      "a delay that is not a number",
      () => withRetry(single(), { maxRetryAfterMs: "1" as never }),
      { details: { option: "maxRetryAfterMs" } },
    ],
    [
      "a random option that is not a function",
      () => withRetry(single(), { random: 0.5 as never }),
      { details: { option: "random" } },
    ],
  ])("rejects %s as options", ([, make, facts]) => {
    expect(make).toThrow(expect.objectContaining({ name: "LoopError", ...toMatch(facts) }));
  });
});

function toMatch(facts: object): object {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, typeof value === "object" ? expect.objectContaining(value) : value]),
  );
}
