import { describe, expect, it } from "vitest";
import { type LoopOptions, preToolText, type Pricing, type Provider, runToolLoop, withFallback, withRetry } from "turnwright";
import {
  createMockProvider,
  createTestClock,
  endEarly,
  fail,
  finish,
  type MockPart,
  type MockProvider,
  type MockMessage,
  providerMetadata,
  stall,
  text,
  toolCall,
  usage,
} from "turnwright/testing";
import type { MockOptions } from "../../src/testing/mock-provider.ts";
import { countListeners } from "../loop/count-listeners.ts";
import { Crash, createDurableStore } from "../loop/durable-store.ts";
import { outcomesOf, play, tool } from "../loop/play.ts";

const named = (id: string, turns: readonly MockMessage[], more: MockOptions = {}): MockProvider =>
  createMockProvider(turns, { id, model: `${id}-1`, usage: false, ...more });
const tokens = (total: number): MockPart => usage({ inputTokens: total, outputTokens: 0 });
const busy = fail({ status: 503, message: "Busy." });
const lost = fail(new TypeError("terminated"));

describe("withFallback", () => {
  it("runs tool calls once even if their results go to a different provider", async () => {
    let ran = 0;
    const a = named("a", [[text("Let me see. "), toolCall("work", { n: 1 }, { id: "c1" })], busy]);
    const b = named("b", [text("It is 1.")]);
    const { result, recording } = play([], { provider: withFallback([a, b]), tools: [tool("work", () => (ran += 1))] });
    const ended = await result;
    expect([ended.reason.kind, ended.text, ran, outcomesOf(ended)]).toEqual(["answered", "It is 1.", 1, ["c1: completed"]]);
    expect(b.requests[0]?.messages).toEqual(a.requests[1]?.messages);
    expect(ended.streamResults.map(({ provider }) => provider)).toEqual(["a", "b"]);
    expect(recording.of("tool-start")).toHaveLength(1);
  });

  it("runs only the tool calls of the attempt that it keeps", async () => {
    const ran: unknown[] = [];
    const a = named("a", [[text("Wrong "), toolCall("work", { n: 1 }), lost], text("Done.")]);
    const b = named("b", [[text("Right "), toolCall("work", { n: 2 })]]);
    const { result, recording } = play([], { provider: withFallback([a, b]), tools: [tool("work", (args) => ran.push(args))] });
    const ended = await result;
    expect([ran, ended.messages[1]]).toEqual([
      [{ n: 2 }],
      { role: "assistant", content: [{ type: "text", text: "Right " }, expect.objectContaining({ args: { n: 2 } })] },
    ]);
    expect(recording.of("text-delta").map(({ text, attempt }) => [text, attempt])).toEqual([
      ["Wrong ", 1],
      ["Right ", 2],
      ["Done.", 1],
    ]);
    expect(recording.of("attempt-discarded")).toMatchObject([{ attempt: 1, error: { code: "network" } }]);
  });
});

describe("usage of withFallback attempts", () => {
  const prices: ReadonlyMap<string, number> = new Map([
    ["a a-1", 1],
    ["b b-1", 10],
  ]);
  const pricing: Pricing = ({ totalTokens }, { provider, model }) =>
    totalTokens * (prices.get(`${provider} ${model}`) ?? Number.NaN);

  it("is counted for every attempt, at the prices of its provider", async () => {
    const a = named("a", [[tokens(3), text("Half"), lost]]);
    const b = named("b", [
      [tokens(5), lost],
      [text("Whole."), tokens(7)],
    ]);
    const provider = withFallback([a, withRetry(b)]);
    const playing = play([], { provider, pricing });
    await playing.clock.runAll();
    const { result } = playing;
    // The second attempt sent token counts but no text, so withRetry made a third attempt.
    expect(await result).toMatchObject({ text: "Whole.", usage: { totalTokens: 15 }, costUSD: 3 + 50 + 70 });
  });

  it("makes the run's cost unknown if one attempt reports no usage", async () => {
    const cost = async (turn: MockMessage): Promise<unknown> =>
      (await play([], { provider: withFallback([named("a", [turn]), named("b", [[text("Hi."), tokens(7)]])]), pricing }).result)
        .costUSD;
    expect([await cost(fail({ status: 429 })), await cost(endEarly()), await cost([text("Half"), busy])]).toEqual([
      70,
      undefined,
      undefined,
    ]);
  });

  it("counts toward limits.maxTokens even if the attempt is discarded", async () => {
    const a = named("a", [[tokens(90), toolCall("work"), lost], busy]);
    const b = named("b", [[toolCall("work"), tokens(20)], text("Hi.")]);
    const { result } = play([], { provider: withFallback([a, b]), tools: [tool("work", () => 1)], limits: { maxTokens: 100 } });
    expect((await result).reason).toEqual({ kind: "max-tokens", limit: 100, spent: 110 });
  });
});

describe("preToolText in a run with withFallback", () => {
  it("applies if the provider that answers belongs to the listed family", async () => {
    const b = named("b", [[text("Noted."), toolCall("work")]], { family: "novelai" });
    const middleware = [preToolText({ endAfterTextFamilies: ["novelai"] })];
    const { result } = play([], { provider: withFallback([named("a", [busy]), b]), tools: [tool("work", () => 1)], middleware });
    expect((await result).reason.kind).toBe("pre-tool-text");
  });
});

describe("provider metadata from withFallback", () => {
  it("names the provider and model that sent the metadata, even if two clients share a model", async () => {
    const a1 = named("a", [[providerMetadata(1), toolCall("work")], busy, text("Done.")]);
    const a2 = createMockProvider([[providerMetadata(2), toolCall("work")]], { id: "a", model: "a-1" });
    const b = named("b", []);
    const { result } = play([], { provider: withFallback([a1, a2, b]), tools: [tool("work", () => 1)] });
    const parts = [1, 2].map((item) => ({ provider: "a", model: "a-1", item }));
    expect((await result).accumulatedModelParts).toEqual(parts);
    expect(a2.requests[0]?.messages[1]).toMatchObject({ providerMetadata: [parts[0]] });
  });

  it("is dropped if the attempt is discarded", async () => {
    const provider = withFallback([named("a", [[providerMetadata(1), lost]]), named("b", [[providerMetadata(2), text("Hi.")]])]);
    expect((await play([], { provider }).result).accumulatedModelParts).toEqual([{ provider: "b", model: "b-1", item: 2 }]);
  });
});

describe("withFallback", () => {
  it("ends the run with the last error and the number of providers if all providers fail", async () => {
    const provider = withFallback([named("a", [[text("Half"), busy]]), named("b", [[text("No"), endEarly()]])]);
    const { result, recording } = play([], { provider });
    const ended = await result;
    expect(ended.reason).toMatchObject({ kind: "provider-error", error: { code: "stream-ended-early" } });
    expect([ended.error?.message, ended.text]).toEqual([
      "All 2 providers failed; the last error: The stream ended without a finish reason.",
      "No",
    ]);
    expect(recording.of("attempt-discarded").map(({ attempt, error }) => [attempt, error?.message])).toEqual([[1, "Busy."]]);
  });
});

type Act = (stage: { readonly control: NonNullable<LoopOptions["control"]>; readonly abort: AbortController }) => void;
const verbs: readonly [verb: string, act: Act, kind: string][] = [
  ["control.stop()", ({ control }) => void control.stop(), "stopped"],
  ["control.kill()", ({ control }) => void control.kill(), "killed"],
  ["an aborted signal", ({ abort }) => abort.abort(new Error("Gone.")), "aborted"],
  ["control.interrupt()", ({ control }) => void control.interrupt("Wait."), "interrupted"],
];

describe.for(verbs)("%s in a run with withRetry or withFallback", ([, act, kind]) => {
  it.for<[when: string, make: (a: MockProvider, b: MockProvider) => Provider, first: MockMessage, calls: readonly number[]]>([
    ["withRetry waits before a retry", (a) => withRetry(a), busy, [1, 0]],
    ["withRetry inside withFallback waits before a retry", (a, b) => withFallback([withRetry(a), b]), busy, [1, 0]],
    ["the first provider of withFallback is silent", (a, b) => withFallback([a, b]), stall(), [1, 0]],
    [
      "the first provider of withFallback ignores its signal",
      (a, b) => withFallback([a, b]),
      stall({ ignoreSignal: true }),
      [1, 0],
    ],
    ["the first provider of withFallback has sent text", (a, b) => withFallback([a, b]), [text("Half"), stall()], [1, 0]],
    ["the second provider of withFallback is silent", (a, b) => withFallback([b, a]), stall(), [1, 1]],
  ])("ends the run immediately and without another attempt while %s", async ([, make, first, calls]) => {
    const listeners = countListeners();
    const [a, b] = [named("a", [first, text("Never.")]), named("b", [busy, text("Never.")])];
    const playing = play([], { provider: make(a, b) });
    await playing.clock.advance(200);
    act(playing);
    const ended = await playing.result;
    expect([ended.reason.kind, playing.endedAt()]).toEqual([kind, 200]);
    expect([a.calls, b.calls, playing.clock.pending]).toEqual([...calls, 0]);
    await playing.clock.advance(1_000_000);
    expect([a.calls, b.calls]).toEqual(calls);
    listeners.stop();
    const says = (fact: string): number => (JSON.stringify(first).includes(fact) ? 1 : 0);
    // `stall()` adds a listener with `once`, and `countListeners` still counts it after the signal has fired.
    expect([listeners.on(playing.abort.signal), listeners.total()]).toEqual([0, says('"ignoreSignal":false')]);
    expect(a.active + b.active).toBe(says('"ignoreSignal":true'));
  });
});

describe("runToolLoop with withRetry and withFallback", () => {
  it("leaves no listeners and no timers", async () => {
    const listeners = countListeners();
    let ran = 0;
    const a = createMockProvider((_, index) => (index % 2 === 0 ? busy : [toolCall("work"), lost]), { id: "a" });
    const b = createMockProvider((_, index) => (index === 50 ? text("Done.") : toolCall("work")), { id: "b" });
    const playing = play([], {
      provider: withFallback([withRetry(a, { maxAttempts: 2 }), b]),
      tools: [tool("work", () => (ran += 1))],
    });
    await playing.clock.runAll();
    expect((await playing.result).iterations).toBe(51);
    listeners.stop();
    expect([listeners.total(), playing.clock.pending, a.active, b.active]).toEqual([0, 0, 0, 0]);
  });

  it("sends a paused message after a crash to the provider that paused it", async () => {
    const store = createDurableStore();
    const options = (): LoopOptions & { readonly made: readonly MockProvider[] } => {
      // Before the crash, the run had got only the first half of the message.
      const made = [named("a", [busy, text("Wrong.")]), named("b", [[text("Half "), finish("paused")], text("whole.")])];
      return {
        provider: withFallback(made),
        messages: [{ role: "user", content: "Go." }],
        runId: "r",
        clock: createTestClock(),
        made,
      };
    };
    const { made: first, ...before } = options();
    await expect(runToolLoop({ ...before, journal: store.open({ afterRecords: 3 }) })).rejects.toThrow(Crash);
    expect(first.map(({ calls }) => calls)).toEqual([1, 1]);
    const made = [named("a", [text("Wrong.")]), named("b", [text("whole.")])];
    const { made: _, ...after } = options();
    const ended = await runToolLoop({ ...after, provider: withFallback(made), journal: store.open() });
    expect([ended.text, made.map(({ calls }) => calls)]).toEqual(["Half whole.", [0, 1]]);
    const untouched = named("a", []);
    const replayed = await runToolLoop({ ...after, provider: withFallback([untouched]), journal: store.open() });
    expect([replayed.text, replayed.usage, untouched.calls]).toEqual(["Half whole.", ended.usage, 0]);
  });
});
