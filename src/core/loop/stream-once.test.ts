import { describe, expect, it } from "vitest";
import type { LoopEvent } from "../types/loop-event.ts";
import type { Pricing, ProviderError } from "../types/common.ts";
import type { ModelChunk, ModelRequest } from "../types/provider.ts";
import { providerError } from "../../shared/errors/provider-error.ts";
import { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import {
  chunk,
  endEarly,
  fail,
  failInBand,
  finish,
  type MockPart,
  type MockMessage,
  providerMetadata,
  reasoning,
  stall,
  text,
  toolCall,
  usage,
  wait,
} from "../../testing/mock-parts.ts";
import { createMockProvider } from "../../testing/mock-provider.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { streamOnce, type StreamPorts } from "./stream-once.ts";

const request: ModelRequest = {
  messages: [{ role: "user", content: "Go." }],
  tools: [{ name: "t", description: "", inputSchema: {} }],
  iteration: 3,
};

function setUp(
  turn: MockMessage,
  more: Partial<StreamPorts> = {},
): StreamPorts & { readonly clock: TestClock; readonly heard: LoopEvent[] } {
  const heard: LoopEvent[] = [];
  return {
    provider: createMockProvider([turn], { usage: false }),
    clock: createTestClock(),
    scope: new CancelScope(),
    timeouts: { streamIdleMs: 100, firstChunkMs: 200, toolMs: 1, toolCleanupMs: 50, approvalMs: 1, callbackMs: 1 },
    events: { runId: "r", wants: () => true, send: (event: LoopEvent) => heard.push(event), room: () => undefined },
    heldIds: new Set(),
    heard,
    ...more,
  } as StreamPorts & { readonly clock: TestClock; readonly heard: LoopEvent[] };
}

const begun: ModelChunk = { type: "call-start", key: "a", id: "x", name: "t" };

const argsDelta = (argsText: string): MockMessage => [
  { kind: "chunks", chunks: [begun, { type: "call-args-delta", key: "a", text: argsText }] },
  endEarly(),
];

const toldCut = (argsText: string): MockMessage => {
  const ready = { type: "call-ready", key: "a", id: "x", name: "t", args: "?", argsText, problem: "truncated" } as const;
  return [{ kind: "chunks", chunks: [begun, ready] }, finish("stop")];
};

describe("streamOnce", () => {
  it("returns the whole message as plain data", async () => {
    const tokens = usage({ inputTokens: 5, outputTokens: 2 });
    const ports = setUp([text("Hi. "), wait(10), providerMetadata({ sign: 1 }), toolCall("t", { n: 1 }, { id: "x" }), tokens], {
      pricing: ({ totalTokens }) => totalTokens,
    });
    const running = streamOnce(request, ports);
    await ports.clock.advance(10);
    const result = await running;
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      status: "tool-calls",
      text: "Hi. ",
      reasoning: "",
      details: "",
      calls: [{ callId: "x", providerCallId: "x", name: "t", args: { n: 1 }, argsText: '{"n":1}' }],
      finish: "tool-calls",
      providerMetadata: [{ sign: 1 }],
      usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
      costUSD: 7,
      provider: "mock",
      model: "mock-model",
      visibleTools: ["t"],
      durationMs: 10,
    });
    expect(ports.heard.map((event) => [event.type, event.iteration])).toEqual([
      ["text-delta", 3],
      ["tool-args-delta", 3],
      ["tool-args-end", 3],
    ]);
  });

  it("creates and stops an idle timer if the caller passes none", async () => {
    const ports = setUp([text("Hi"), stall()]);
    const running = streamOnce(request, ports);
    await ports.clock.flush();
    expect([ports.clock.pending, ports.scope.size]).toEqual([1, 1]);
    await ports.clock.advance(100);
    expect((await running).reason).toEqual({ kind: "stream-idle", limitMs: 100 });
    expect([ports.clock.pending, ports.scope.size]).toEqual([0, 0]);
  });

  it("counts earlier continuations' text and calls when it sets the status and the call ids", async () => {
    const judged = async (turn: MockMessage, carried: StreamPorts["carried"]): Promise<unknown> => {
      const { status, reason, calls } = await streamOnce(request, setUp(turn, { carried }));
      return [status, reason?.kind, calls.map(({ callId }) => callId)];
    };
    expect(await judged(finish("stop"), { text: true, callCount: 0 })).toEqual(["completed", "answered", []]);
    expect(await judged(finish("stop"), undefined)).toEqual(["empty-response", "empty", []]);
    expect(await judged(finish("tool-calls"), { text: false, callCount: 2 })).toEqual(["tool-calls", undefined, []]);
    expect(await judged(toolCall("t"), { text: false, callCount: 2 })).toEqual(["tool-calls", undefined, ["call_i3_2"]]);
  });

  it('returns the status "error" with redacted secrets after an error chunk', async () => {
    const error = { name: "E", message: "Bearer abcdefgh12345678 is busy", code: "overloaded" as const, retryable: true };
    const result = await streamOnce(request, setUp([text("Half"), failInBand(error)]));
    expect(result).toMatchObject({
      status: "error",
      text: "Half",
      error: { code: "overloaded", message: "Bearer [redacted] is busy" },
    });
  });

  it.for<[what: string, script: MockMessage, args: unknown]>([
    ["keeps its complete arguments if call-ready is missing", argsDelta('{"n":1}'), { n: 1 }],
    ["drops its cut-off arguments if call-ready is missing", argsDelta('{"n":'), {}],
    ["gives the call empty arguments if no arguments have arrived", argsDelta(""), {}],
    ["drops its arguments if the arguments are not an object", argsDelta("12"), {}],
    [
      "drops its arguments if the arguments are nested too deeply",
      argsDelta(`{"n":${"[".repeat(2_000)}${"]".repeat(2_000)}}`),
      {},
    ],
    ["keeps its complete arguments if the provider reports a truncated call", toldCut('{"n":1}'), { n: 1 }],
    ["drops its cut-off arguments if the provider reports a truncated call", toldCut('{"n":'), {}],
    ["keeps its arguments if the message was cut off by length", [toolCall("t", { n: 1 }), finish("length")], { n: 1 }],
  ])("marks a call as truncated and %s", async ([, script, args]) => {
    const { calls } = await streamOnce(request, setUp(script));
    expect(calls).toMatchObject([{ name: "t", problem: "truncated" }]);
    expect(calls[0]?.args).toEqual(args);
  });

  it("keeps the argument __proto__ of a cut-off call as data", async () => {
    const { calls } = await streamOnce(request, setUp(argsDelta('{"__proto__":{"polluted":true}}')));
    expect(JSON.stringify(calls[0]?.args)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(calls[0]?.args)).toBe(Object.prototype);
  });

  const began = (model: string): MockPart => chunk({ type: "attempt-start", attempt: 1, provider: "p", model });
  const took = (error: ProviderError): MockPart => chunk({ type: "attempt-discarded", attempt: 1, error });
  const tokens = (total: number): MockPart => usage({ inputTokens: total, outputTokens: 0 });
  const refused = took(providerError("rate-limit", "Slow down."));
  const lost = took(providerError("network", "Gone."));
  const done = [began("b"), text("Hi."), tokens(10)] as const;

  it.for<[what: string, turn: MockMessage, total: number | undefined, cost: number | undefined]>([
    ["there is a single attempt", done, 10, 20],
    ["two attempts use different models", [began("a"), tokens(7), lost, ...done], 17, 27],
    ["there are three attempts", [began("a"), tokens(7), lost, began("a"), tokens(1), lost, ...done], 18, 28],
    ["the price of an attempt is unknown", [began("x"), tokens(7), lost, ...done], 17, undefined],
    ["an attempt is rejected", [began("a"), refused, ...done], 10, 20],
    [
      "an attempt is rejected with an HTTP status",
      [began("a"), took(providerError("server", "Down.", { status: 502 })), ...done],
      10,
      20,
    ],
    ["an attempt is rejected after text", [began("a"), text("H"), refused, ...done], 10, undefined],
    ["an attempt is rejected after reasoning", [began("a"), reasoning("H"), refused, ...done], 10, undefined],
    ["an attempt is rejected after a tool call", [began("a"), toolCall("t"), refused, ...done], 10, undefined],
    ["an attempt is rejected after provider metadata", [began("a"), providerMetadata(1), refused, ...done], 10, undefined],
    ["a lost attempt reports no usage", [began("a"), lost, ...done], 10, undefined],
    [
      "the retry of a lost attempt reports no usage",
      [began("a"), tokens(7), lost, began("b"), text("Hi."), endEarly()],
      7,
      undefined,
    ],
    ["a lost attempt is not retried", [began("a"), tokens(7), lost, fail({ status: 500 })], 7, 7],
    ["a rejected attempt is not retried", [began("a"), refused, endEarly()], undefined, 0],
    ["there is no attempt", endEarly(), undefined, undefined],
  ])("computes the usage and cost of all attempts if %s", async ([, turn, total, cost]) => {
    const prices = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    const pricing: Pricing = ({ totalTokens }, { model }) => {
      const price = prices.get(model);
      return price === undefined ? undefined : totalTokens * price;
    };
    const priced = await streamOnce(request, setUp(turn, { pricing }));
    expect([priced.usage?.totalTokens, priced.costUSD]).toEqual([total, cost]);
    expect((await streamOnce(request, setUp(turn))).costUSD).toBeUndefined();
  });

  it("does not call the provider if the run has already ended", async () => {
    const provider = createMockProvider([text("Hi")]);
    const ports = setUp([], { provider });
    ports.scope.cancel({ kind: "kill" });
    const { status, reason } = await streamOnce(request, ports);
    expect([status, reason, provider.calls]).toEqual(["stopped-by-user", { kind: "killed" }, 0]);
  });
});
