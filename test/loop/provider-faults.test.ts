import { describe, expect, it } from "vitest";
import type { LoopOptions, ModelCall, ModelChunk, Provider } from "turnwright";
import { chunk, fail, failInBand, finish, type MockPart, text, toolCall, usage } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const of = (stream: (call: ModelCall) => unknown): Provider => ({
  id: "p",
  model: "m",
  stream: (_, call) => stream(call) as AsyncIterable<ModelChunk>,
});
const said = (...parts: readonly unknown[]): readonly MockPart[] => parts.map((part) => chunk(part as ModelChunk));
const iterable = (next: () => unknown): unknown => ({ [Symbol.asyncIterator]: () => ({ next }) });
const overloaded = { name: "E", message: "busy", code: "overloaded", retryable: true } as const;

describe("runToolLoop with a faulty provider", () => {
  it.for<[how: string, stream: (call: ModelCall) => unknown]>([
    [
      "throws from stream()",
      () => {
        throw new Error("no");
      },
    ],
    ["returns undefined from stream()", () => undefined],
    ["returns a promise from stream()", async () => []],
    ["returns an array from stream()", () => [1]],
    ["returns undefined for its iterator", () => ({ [Symbol.asyncIterator]: () => undefined })],
    [
      "throws from next()",
      () =>
        iterable(() => {
          throw new Error("no");
        }),
    ],
    ["rejects from next()", () => iterable(() => Promise.reject(new Error("no")))],
    ["returns null from next()", () => iterable(() => null)],
    ["streams a number", () => iterable(() => ({ done: false, value: 7 }))],
    ["streams a chunk of an unknown type", () => iterable(() => ({ done: false, value: { type: "weird" } }))],
    ["ends without a chunk", () => iterable(() => ({ done: true }))],
    ["returns undefined from next()", () => iterable(() => undefined)],
    ["rejects with undefined", () => iterable(() => Promise.reject(undefined))],
    [
      "rejects from next() and throws from return()",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => Promise.reject(new Error("no")),
          return: () => {
            throw new Error("never");
          },
        }),
      }),
    ],
    [
      "rejects from next() and return()",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => Promise.reject(new Error("no")),
          return: () => Promise.reject(new Error("never")),
        }),
      }),
    ],
  ])('ends the run with "provider-error" if the provider %s', async ([, stream]) => {
    const playing = play([], { provider: of(stream) });
    const result = await playing.result;
    expect([result.status, result.reason.kind, result.error?.name]).toEqual(["error", "provider-error", "ProviderError"]);
    expect(playing.clock.pending).toBe(0);
  });

  it.for<[what: string, parts: readonly MockPart[], code: string]>([
    ["throws after text", [text("Half"), fail({ status: 429 })], "rate-limit"],
    ["reports an error in its stream", [text("Half"), failInBand(overloaded)], "overloaded"],
    ["reports an error in its stream and then finishes", [text("Half"), failInBand(overloaded), finish("stop")], "overloaded"],
    ["finishes with an unknown reason", [text("Half"), finish("end_turn" as "stop")], "finish-unknown"],
    ['finishes with the reason "constructor"', [text("Half"), finish("constructor" as "stop")], "finish-unknown"],
  ])("keeps the streamed text if the provider %s", async ([, parts, code]) => {
    const playing = play([[...parts.slice(0, 1), toolCall("t"), ...parts.slice(1)]], { tools: [tool("t", () => 1)] });
    const result = await playing.result;
    expect(result).toMatchObject({ status: "error", text: "Half", reason: { kind: "provider-error", error: { code } } });
    expect(outcomesOf(result)).toEqual(["call_i0_0: not-run"]);
  });

  it.for<[what: string, call: object]>([
    ["no name", { type: "call-ready", key: "k", args: {} }],
    ["a number as its name", { type: "call-ready", key: "k", name: 7, args: {} }],
    ["an empty name", { type: "call-ready", key: "k", name: "", args: {} }],
    ["a blank name", { type: "call-ready", key: "k", name: " \n", args: {} }],
  ])("ends the run before any call runs if a call has %s", async ([, call]) => {
    let ran = 0;
    const playing = play([[text("Hm."), toolCall("t"), ...said(call)]], { tools: [tool("t", () => (ran += 1))] });
    const result = await playing.result;
    expect([result.status, result.reason, ran]).toEqual(["error", { kind: "malformed-call" }, 0]);
    expect([outcomesOf(result), result.messages.length]).toEqual([["call_i0_0: not-run"], 3]);
  });

  it.for<[what: string, args: unknown]>([
    [
      "cyclic",
      (() => {
        const list: unknown[] = [];
        return (list.push(list), list);
      })(),
    ],
    ["an object with a BigInt", { n: 7n }],
    ["undefined", undefined],
  ])('gives a call the outcome "malformed" if its arguments are %s', async ([, args]) => {
    const playing = play([[...said({ type: "call-ready", key: "k", name: "t", args }), finish("tool-calls")], text("Done.")], {
      tools: [tool("t", () => 1)],
    });
    expect(outcomesOf(await playing.result)).toEqual(["call_i0_0: malformed"]);
  });

  it("runs only the first of two calls with the same key", async () => {
    const ready = { type: "call-ready", key: "k", name: "t", args: { n: 1 } };
    const playing = play([[...said(ready, { ...ready, args: { n: 2 } }), finish("tool-calls")], text("Done.")], {
      tools: [tool("t", (args) => args)],
    });
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([{ n: 1 }]);
  });

  it("lets the provider destructure heartbeat and signal from its second argument", async () => {
    const provider = of(async function* ({ heartbeat, signal }): AsyncIterable<ModelChunk> {
      heartbeat();
      yield { type: "text-delta", text: String(signal.aborted) };
      yield { type: "finish", reason: "stop" };
    });
    expect((await play([], { provider }).result).text).toBe("false");
  });
});

describe("the attempt-discarded chunk before a second attempt", () => {
  const script = [
    [
      ...said({ type: "attempt-start", attempt: 1, provider: "first", model: "m1" }),
      ...[text("Wrong"), toolCall("t", { n: 1 }), usage({ inputTokens: 5, outputTokens: 5 })],
      ...said(
        { type: "attempt-discarded", attempt: 1, error: overloaded },
        { type: "attempt-start", attempt: 2, provider: "second", model: "m2", family: "f" },
      ),
      ...[text("Right. "), toolCall("t", { n: 2 }), usage({ inputTokens: 3, outputTokens: 1 })],
    ],
    text("Done."),
  ];

  it("drops the text and calls of the first attempt, but not the usage", async () => {
    const ran: unknown[] = [];
    const playing = play(script, {
      tools: [tool("t", (args) => ran.push(args))],
      pricing: ({ totalTokens }, { provider, model }) => totalTokens * (`${provider} ${model}` === "first m1" ? 100 : 1),
    });
    const [first] = (await playing.result).streamResults;
    expect(first).toMatchObject({
      text: "Right. ",
      provider: "second",
      model: "m2",
      family: "f",
      usage: { totalTokens: 14 },
      costUSD: 1_004,
    });
    expect(ran).toEqual([{ n: 2 }]);
    expect(playing.recording.of("attempt-discarded")).toMatchObject([
      { attempt: 1, error: { code: "overloaded", message: "busy", retryable: true } },
    ]);
    expect(playing.recording.of("text-delta").slice(0, 2)).toMatchObject([
      { text: "Wrong", attempt: 1 },
      { text: "Right. ", attempt: 2 },
    ]);
  });
});

describe("the attempt-discarded chunk", () => {
  it("leads to an event whose error has its secrets redacted", async () => {
    const secret = "sk-ant-abc12345678";
    const thrown = Object.assign(new Error(`Bad key ${secret}`), { headers: { authorization: secret }, status: 401 });
    const [discarded] = said({ type: "attempt-discarded", attempt: 1, error: thrown });
    if (discarded === undefined) throw new Error("There is one.");
    const playing = play([[discarded, text("Hi."), finish("stop")]]);
    await playing.result;
    expect(playing.recording.of("attempt-discarded")).toMatchObject([{ attempt: 1, error: { message: "Bad key [redacted]" } }]);
    expect(JSON.stringify(playing.recording.events)).not.toContain(secret);
  });

  it.for<[how: string, end: MockPart]>([
    ["a finish", finish("refusal")],
    ["a pause", finish("continue", { token: "t" })],
  ])("makes the run use the next attempt even if the discarded attempt ended with %s", async ([, end]) => {
    const discarded = chunk({ type: "attempt-discarded", attempt: 1, error: overloaded });
    const playing = play([[text("Wrong"), end, discarded, text("Right."), finish("stop")]]);
    expect(await playing.result).toMatchObject({
      text: "Right.",
      reason: { kind: "answered" },
      streamResults: [{ token: undefined }],
    });
  });

  it('ends the run as "stream-ended-early" if no attempt follows', async () => {
    const discarded = chunk({ type: "attempt-discarded", attempt: 1, error: overloaded });
    const playing = play([[text("Wrong"), finish("stop"), discarded]]);
    expect(await playing.result).toMatchObject({
      text: "",
      reason: { kind: "provider-error", error: { code: "stream-ended-early" } },
    });
  });
});

describe("the result of runToolLoop", () => {
  const tokens = (
    inputTokens: number,
    outputTokens: number,
  ): { inputTokens: number; outputTokens: number; totalTokens: number } => ({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
  });

  it("contains the usage of all iterations, taken from each iteration's last snapshot or deltas", async () => {
    const snapshots = [text("So. "), toolCall("t"), usage(tokens(10, 1)), usage({ ...tokens(10, 5), cachedInputTokens: 4 })];
    const deltas = [text("Done."), usage(tokens(7, 0), "delta"), usage({ ...tokens(0, 3), reasoningTokens: 2 }, "delta")];
    const result = await play([snapshots, deltas], { tools: [tool("t", () => 1)] }).result;
    expect(result.usage).toEqual({
      inputTokens: 17,
      outputTokens: 8,
      totalTokens: 25,
      cachedInputTokens: 4,
      cacheWriteTokens: undefined,
      reasoningTokens: 2,
    });
  });

  const costOf = async (pricing: LoopOptions["pricing"]): Promise<unknown> => {
    const iterations = [
      [text("So. "), toolCall("t"), usage(tokens(10, 1))],
      [text("Done."), usage(tokens(5, 1))],
    ];
    const playing = play(iterations, { tools: [tool("t", () => 1)], pricing });
    const result = await playing.result;
    const troubles = playing.recording.of("listener-error").map(({ event, error }) => `${event}: ${error.message}`);
    return [result.costUSD, result.streamResults.map((iteration) => iteration.costUSD), troubles];
  };

  it("contains the total cost of all iterations in costUSD, unless pricing fails for one iteration", async () => {
    expect(await costOf(({ totalTokens }) => totalTokens / 4)).toEqual([4.25, [2.75, 1.5], []]);
    expect(await costOf(() => 0)).toEqual([0, [0, 0], []]);
    expect(await costOf(({ inputTokens }) => (inputTokens === 10 ? undefined : 1))).toEqual([undefined, [undefined, 1], []]);
    const told = "pricing: pricing must return the cost in USD (0 or more) or undefined, but returned NaN.";
    expect(await costOf(() => Number.NaN)).toEqual([undefined, [undefined, undefined], [told, told]]);
    expect(await costOf(undefined)).toEqual([undefined, [undefined, undefined], []]);
    const broken = (): never => {
      throw new Error("no list");
    };
    expect(await costOf(broken)).toEqual([undefined, [undefined, undefined], ["pricing: no list", "pricing: no list"]]);
  });

  it("has an undefined costUSD if the provider reports no usage", async () => {
    const provider = of(async function* (): AsyncIterable<ModelChunk> {
      yield { type: "text-delta", text: "Hi" };
      yield { type: "finish", reason: "stop" };
    });
    const result = await play([], { provider, pricing: () => 1 }).result;
    expect([result.costUSD, result.usage.totalTokens, result.streamResults[0]?.usage]).toEqual([undefined, 0, undefined]);
  });
});
