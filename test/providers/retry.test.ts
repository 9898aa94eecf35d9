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
  it("presents itself as the provider that it wraps", () => {
    const provider = withRetry(createMockProvider([], { id: "a", model: "m", family: "f" }));
    expect([provider.id, provider.model, provider.family]).toEqual(["a", "m", "f"]);
    expect(Object.keys(withRetry(single()))).toEqual(["id", "model", "stream"]);
  });

  it("asks nothing before its stream is read", async () => {
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
    ["that is in the stream", failInBand(providerError("server", "It broke.")), "server"],
    ["of the network", fail(new TypeError("terminated")), "network"],
    ["of a stream that ends without a finish", endEarly(), "stream-ended-early"],
    ["of a model that finishes with one", finish("error"), "finish-error"],
    ["after the first tokens are counted", [usage({ inputTokens: 5, outputTokens: 0 }), busy], "overloaded"],
    ["after an empty text", [text(""), busy], "overloaded"],
    ["after a part of the provider metadata", [providerMetadata(1), busy], "overloaded"],
  ])("asks again after an error %s", async ([, turn, code]) => {
    const lines = await outlineAll(withRetry(single(turn, text("Hi."))));
    expect(lines).toContain(`discard 1 ${code}`);
    expect(lines.slice(-4)).toEqual(["start 2 a/m", "text Hi.", "finish stop", "end"]);
  });

  it.for<[what: string, turn: MockMessage, last: string]>([
    ["a wrong key", fail({ status: 401 }), "throws auth"],
    ["a key that may not", fail({ status: 403 }), "throws auth"],
    ["a bad request", fail({ status: 400 }), "throws bad-request"],
    [
      "a bad request that the service wants again",
      fail({ status: 400, headers: { "x-should-retry": "true" } }),
      "throws bad-request",
    ],
    ["a model that is not there", fail({ status: 404 }), "throws bad-request"],
    ["a full context", fail({ status: 400, code: "context_length_exceeded" }), "throws context-too-long"],
    ["a used-up quota", fail({ status: 429, code: "insufficient_quota" }), "throws rate-limit"],
    ["a mistake in the program", fail(new RangeError("odd")), "throws server"],
    ["an error in the stream that says so", failInBand(providerError("server", "No.", { retryable: false })), "end"],
    ["a finish that nobody knows", finish("unknown"), "end"],
    ["an answer that is empty", finish("stop"), "end"],
    ["a refusal", [refusal("No."), finish("refusal")], "end"],
    ["a limit of output before the first word", finish("length"), "end"],
    ["text", [text("Hi"), busy], "throws overloaded"],
    ["text and the end of the stream", [text("Hi"), endEarly()], "end"],
    ["text and an error in the stream", [text("Hi"), failInBand(providerError("server", "No."))], "end"],
    ["a thought", [reasoning("Hm"), busy], "throws overloaded"],
    ["words of a refusal", [refusal("No"), busy], "throws overloaded"],
    ["a call", [toolCall("t"), busy], "throws overloaded"],
    ["the start of a call", [chunk({ type: "call-start", key: "k", name: "t" }), busy], "throws overloaded"],
  ])("does not ask again after %s", async ([, turn, last]) => {
    const inner = single(turn, text("Hi."));
    const lines = await outlineAll(withRetry(inner));
    expect([inner.calls, lines.at(-1)]).toEqual([1, last]);
    expect(lines.filter((line) => line.startsWith("discard"))).toEqual([]);
  });

  it("hands the last failure on as it came", async () => {
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
    ["half of each step at least", { random: () => 0 }, {}, [250, 500, 1_000, 2_000]],
    ["all of it at most", { random: () => 1 }, {}, [500, 1_000, 2_000, 4_000]],
    [
      "never longer than the longest wait",
      { random: () => 1, baseDelayMs: 1_000, maxDelayMs: 1_500 },
      {},
      [1_000, 1_500, 1_500, 1_500],
    ],
    ["not at all where it is told so", { baseDelayMs: 0 }, {}, [0, 0, 0, 0]],
    ["as long as the service asks", half, { "retry-after": "3" }, [3_000, 3_000, 3_000, 3_000]],
    ["no less than by itself", half, { "retry-after-ms": "1" }, [250, 500, 1_000, 2_000]],
    [
      "as long as the service asks at most",
      { ...half, maxRetryAfterMs: 3_000 },
      { "retry-after": "3" },
      [3_000, 3_000, 3_000, 3_000],
    ],
    ["not for a service that asks for too long", { ...half, maxRetryAfterMs: 2_999 }, { "retry-after": "3" }, []],
    ["half of it where chance is no number", { random: () => Number.NaN }, {}, [250, 500, 1_000, 2_000]],
    ["within bounds where chance has none", { random: () => 7 }, {}, [500, 1_000, 2_000, 4_000]],
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

  it("says that it is alive while it waits, and passes on that its provider is", async () => {
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
    ["no provider", () => withRetry(undefined as never), { code: "invalid-option", details: { option: "provider" } }],
    ["a provider without a model", () => withRetry({ id: "a", stream: () => {} } as never), { details: { option: "provider" } }],
    ["options that are none", () => withRetry(single(), 3 as never), { details: { option: "options" } }],
    ["an option that is not there", () => withRetry(single(), { retries: 3 } as never), { code: "unknown-option" }],
    ["no attempt", () => withRetry(single(), { maxAttempts: 0 }), { details: { option: "maxAttempts", received: "0" } }],
    ["attempts without end", () => withRetry(single(), { maxAttempts: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["a wait without end", () => withRetry(single(), { maxDelayMs: Number.POSITIVE_INFINITY }), { code: "invalid-option" }],
    ["a negative wait", () => withRetry(single(), { baseDelayMs: -1 }), { details: { option: "baseDelayMs" } }],
    [
      "a wait that is no number",
      () => withRetry(single(), { maxRetryAfterMs: "1" as never }),
      { details: { option: "maxRetryAfterMs" } },
    ],
    ["chance that is no function", () => withRetry(single(), { random: 0.5 as never }), { details: { option: "random" } }],
  ])("refuses %s", ([, make, facts]) => {
    expect(make).toThrow(expect.objectContaining({ name: "LoopError", ...toMatch(facts) }));
  });
});

function toMatch(facts: object): object {
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, typeof value === "object" ? expect.objectContaining(value) : value]),
  );
}
