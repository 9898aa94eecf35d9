// The mock provider: what each part plays, how a turn ends by itself, what is recorded and what is counted.

import { describe, expect, it } from "vitest";
import type { Message } from "../contract/message.ts";
import type { ModelCall, ModelChunk, ModelRequest, Provider } from "../contract/provider.ts";
import {
  chunk,
  details,
  endEarly,
  fail,
  failInBand,
  finish,
  heartbeat,
  type MockTurn,
  native,
  reasoning,
  refusal,
  stall,
  text,
  thoughtLog,
  toolCall,
  usage,
  wait,
} from "./mock-parts.ts";
import { createMockProvider } from "./mock-provider.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

const request: ModelRequest = { messages: [{ role: "user", content: "Hi" }], tools: [], iteration: 0 };

function setUp(): {
  readonly clock: TestClock;
  readonly abort: AbortController;
  readonly call: ModelCall;
  readonly heartbeats: number[];
} {
  const clock = createTestClock();
  const abort = new AbortController();
  const heartbeats: number[] = [];
  const timeouts = { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1, settleMs: 1, approvalMs: 1, hookMs: 1 };
  const call = { signal: abort.signal, heartbeat: () => void heartbeats.push(clock.now()), iteration: 0, clock, timeouts };
  return { clock, abort, call, heartbeats };
}

async function play(provider: Provider, asked: ModelRequest = request, call: ModelCall = setUp().call): Promise<ModelChunk[]> {
  const chunks: ModelChunk[] = [];
  for await (const played of provider.stream(asked, call)) chunks.push(played);
  return chunks;
}

const playTurn = (turn: MockTurn): Promise<ModelChunk[]> => play(createMockProvider([turn], { usage: false }));

const stopped: ModelChunk = { type: "finish", reason: "stop" };
const called: ModelChunk = { type: "finish", reason: "tool-calls" };
const overloaded = { name: "Error", code: "overloaded", message: "Busy.", retryable: true } as const;

describe("a scripted turn", () => {
  it.for<[what: string, turn: MockTurn, chunks: ModelChunk[]]>([
    ["a text", text("Hi"), [{ type: "text-delta", text: "Hi" }, stopped]],
    ["an empty text", text(""), [{ type: "text-delta", text: "" }, stopped]],
    [
      "a text in pieces, whole characters each",
      text("a😀bc😀", { chunks: 3 }),
      [{ type: "text-delta", text: "a" }, { type: "text-delta", text: "😀b" }, { type: "text-delta", text: "c😀" }, stopped],
    ],
    [
      "no more pieces than characters",
      text("ab", { chunks: 9 }),
      [{ type: "text-delta", text: "a" }, { type: "text-delta", text: "b" }, stopped],
    ],
    ["reasoning", reasoning("Hm"), [{ type: "reasoning-delta", text: "Hm" }, stopped]],
    ["a refusal", refusal("No"), [{ type: "refusal-delta", text: "No" }, stopped]],
    ["details", details("d"), [{ type: "details", text: "d" }, stopped]],
    ["a thought log", thoughtLog({ a: 1 }), [{ type: "thought-log", payload: { a: 1 } }, stopped]],
    ["a native part", native({ sig: "x" }), [{ type: "native", item: { sig: "x" } }, stopped]],
    [
      "usage",
      usage({ inputTokens: 3, outputTokens: 2, reasoningTokens: 1 }, "delta"),
      [{ type: "usage", usage: { inputTokens: 3, outputTokens: 2, reasoningTokens: 1, totalTokens: 5 }, mode: "delta" }, stopped],
    ],
    [
      "a finish of its own",
      [text("H"), finish("continue", { token: "t" })],
      [
        { type: "text-delta", text: "H" },
        { type: "finish", reason: "continue", token: "t" },
      ],
    ],
    ["a raw chunk", chunk({ type: "finish", reason: "length" }), [{ type: "finish", reason: "length" }]],
    [
      "an error in band, and no finish",
      [text("H"), failInBand(overloaded)],
      [
        { type: "text-delta", text: "H" },
        { type: "error", error: overloaded },
      ],
    ],
    ["an early end, and nothing after it", [text("H"), endEarly(), text("i")], [{ type: "text-delta", text: "H" }]],
    ["what follows a finish", [finish("stop"), text("late")], [stopped, { type: "text-delta", text: "late" }]],
    ["nothing but a finish", [], [stopped]],
  ])("plays %s", async ([, turn, chunks]) => {
    expect(await playTurn(turn)).toEqual(chunks);
  });

  it.for<[what: string, turn: MockTurn, chunks: ModelChunk[]]>([
    [
      "its arguments in fragments",
      toolCall("f", { a: 1 }, { id: "x", fragments: 2 }),
      [
        { type: "call-start", key: "call-0", id: "x", name: "f" },
        { type: "call-args-delta", key: "call-0", text: '{"a' },
        { type: "call-args-delta", key: "call-0", text: '":1}' },
        { type: "call-ready", key: "call-0", id: "x", name: "f", args: { a: 1 }, argsText: '{"a":1}' },
        called,
      ],
    ],
    [
      "the finished call alone",
      toolCall("f", { a: 1 }, { fragments: 0 }),
      [{ type: "call-ready", key: "call-0", id: undefined, name: "f", args: { a: 1 }, argsText: '{"a":1}' }, called],
    ],
    [
      "arguments that are not JSON as malformed",
      toolCall("f", {}, { rawArgs: '{"a', fragments: 0 }),
      [
        { type: "call-ready", key: "call-0", id: undefined, name: "f", args: '{"a', argsText: '{"a', problem: "malformed" },
        called,
      ],
    ],
    [
      "no arguments as an empty object",
      toolCall("f", {}, { rawArgs: "", fragments: 0 }),
      [{ type: "call-ready", key: "call-0", id: undefined, name: "f", args: {}, argsText: "" }, called],
    ],
  ])("plays a call: %s", async ([, turn, chunks]) => {
    expect(await playTurn(turn)).toEqual(chunks);
  });

  it("keeps the keys of its calls apart, also where their ids are equal", async () => {
    const chunks = await playTurn([toolCall("f", {}, { id: "same" }), text("and"), toolCall("f", {}, { id: "same" })]);
    const keys = chunks.flatMap((played) => (played.type === "call-ready" ? [played.key] : []));
    expect(new Set(keys).size).toBe(2);
  });

  it("parses the arguments anew each time, so that a changed object does not come back", async () => {
    const call = toolCall("f", { list: [1] }, { fragments: 0 });
    const provider = createMockProvider([call, call], { usage: false });
    const [first] = await play(provider);
    if (first?.type === "call-ready") Object.assign(Object(first.args), { list: "changed" });
    expect((await play(provider))[0]).toMatchObject({ args: { list: [1] } });
  });

  it("keeps a key named __proto__ as data", async () => {
    const [ready] = await playTurn(toolCall("f", {}, { rawArgs: '{"__proto__":{"admin":true}}', fragments: 0 }));
    expect(ready?.type === "call-ready" && Object.keys(Object(ready.args))).toEqual(["__proto__"]);
  });

  it("refuses to come in less than one piece", () => {
    expect(() => text("Hi", { chunks: 0 })).toThrow(RangeError);
    expect(() => toolCall("f", {}, { fragments: 1.5 })).toThrow(RangeError);
  });
});

describe("a turn that fails", () => {
  it("throws an error as it is, after what came before", async () => {
    const error = new TypeError("terminated");
    const stream = createMockProvider([[text("H"), fail(error)]])
      .stream(request, setUp().call)
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toEqual({ type: "text-delta", text: "H" });
    await expect(stream.next()).rejects.toBe(error);
  });

  it("throws facts as an error that carries them", async () => {
    const error: unknown = await playTurn(fail({ status: 429, message: "Slow down", headers: { "retry-after": "2" } })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ status: 429, message: "Slow down", headers: { "retry-after": "2" } });
  });
});

describe("default usage", () => {
  it("is the same estimate each time and comes before the finish", async () => {
    const provider = createMockProvider([
      [text("12345678"), toolCall("abcd", {})],
      [text("x"), finish("length")],
    ]);
    expect((await play(provider)).slice(-2)).toEqual([
      { type: "usage", mode: "snapshot", usage: { inputTokens: 8, outputTokens: 4, totalTokens: 12 } },
      called,
    ]);
    expect((await play(provider)).map((played) => played.type)).toEqual(["text-delta", "usage", "finish"]);
  });

  it("grows with messages, tools and system text", async () => {
    const provider = createMockProvider(() => text("x"));
    const inputOf = async (asked: ModelRequest): Promise<number> => {
      const counted = (await play(provider, asked)).find((played) => played.type === "usage");
      return counted?.type === "usage" ? counted.usage.inputTokens : 0;
    };
    expect(await inputOf(request)).toBe(8);
    expect(await inputOf({ ...request, system: "x".repeat(40) })).toBe(18);
    expect(await inputOf({ ...request, tools: [{ name: "f", description: "d", inputSchema: {} }] })).toBe(20);
    expect(await inputOf({ ...request, messages: [...request.messages, ...request.messages] })).toBe(15);
  });

  it.for<[when: string, turn: MockTurn]>([
    ["the turn reports its own", [usage({ inputTokens: 1, outputTokens: 1 }), text("x")]],
    ["the turn fails in band", [text("x"), failInBand(overloaded)]],
    ["the turn ends early", [text("x"), endEarly()]],
  ])("is left out when %s", async ([, turn]) => {
    const estimates = (await play(createMockProvider([turn]))).filter(
      (played) => played.type === "usage" && played.usage.inputTokens !== 1,
    );
    expect(estimates).toEqual([]);
  });
});

describe("time and cancelling", () => {
  it("waits on the clock of the call", async () => {
    const { clock, call } = setUp();
    const played: number[] = [];
    const reading = (async () => {
      for await (const _ of createMockProvider([[text("a"), wait(50), text("b")]], { usage: false }).stream(request, call))
        played.push(clock.now());
    })();
    await clock.advance(50);
    await reading;
    expect(played).toEqual([0, 50, 50]);
  });

  it.for<[what: string, turn: MockTurn]>([
    ["wait", wait(50)],
    ["stall", stall()],
  ])("%s rejects with the signal's reason, and leaves no timer", async ([, turn]) => {
    const { clock, abort, call } = setUp();
    const provider = createMockProvider([turn, turn]);
    const reading = play(provider, request, call);
    const rejected = expect(reading).rejects.toThrow("enough");
    await clock.flush();
    expect(provider.active).toBe(1);
    abort.abort(new Error("enough"));
    await rejected;
    await expect(play(provider, request, call)).rejects.toThrow("enough");
    expect([clock.pending, provider.active]).toEqual([0, 0]);
  });

  it("a wait that runs out takes its listener off the signal", async () => {
    const { clock, abort, call } = setUp();
    const listeners = new Set<unknown>();
    abort.signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
    abort.signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    const reading = play(createMockProvider([wait(5)]), request, call);
    await clock.flush();
    expect(listeners.size).toBe(1);
    await clock.advance(5);
    await reading;
    expect(listeners.size).toBe(0);
  });

  it("a stall that ignores the signal outlasts it", async () => {
    const { clock, abort, call } = setUp();
    const provider = createMockProvider([stall({ ignoreSignal: true })]);
    let settled = false;
    void play(provider, request, call).finally(() => (settled = true));
    abort.abort();
    await clock.flush();
    expect([settled, provider.active]).toEqual([false, 1]);
  });

  it("asks for the signal only to wait or to stall", async () => {
    const { call } = setUp();
    const untouchable: ModelCall = {
      ...call,
      get signal(): AbortSignal {
        throw new Error("touched");
      },
    };
    const provider = createMockProvider([
      [text("a"), toolCall("f"), heartbeat(), usage({ inputTokens: 1, outputTokens: 1 })],
      wait(1),
    ]);
    await expect(play(provider, request, untouchable)).resolves.toHaveLength(6);
    await expect(play(provider, request, untouchable)).rejects.toThrow("touched");
  });

  it("passes heartbeats on", async () => {
    const { clock, call, heartbeats } = setUp();
    const reading = play(createMockProvider([[wait(5), heartbeat(), wait(5), heartbeat()]]), request, call);
    await clock.advance(10);
    await reading;
    expect(heartbeats).toEqual([5, 10]);
  });
});

describe("records", () => {
  it("keep each request as it was when it came", async () => {
    const messages: Message[] = [...request.messages];
    const provider = createMockProvider([text("a"), text("b")]);
    const asked: ModelRequest = {
      ...request,
      messages,
      system: "s",
      toolChoice: "required",
      settings: { seed: 1 },
      continuationToken: "t",
    };
    await play(provider, asked);
    messages.push({ role: "assistant", content: [{ type: "text", text: "a" }] });
    await play(provider, { ...asked, iteration: 1 });
    expect(provider.requests.map(({ messages: sent, iteration }) => [sent.length, iteration])).toEqual([
      [1, 0],
      [2, 1],
    ]);
    expect(provider.requests[0]).toEqual({ ...asked, messages: request.messages });
    expect(Object.isFrozen(provider.requests[0])).toBe(true);
  });

  it("are counted but not kept with `record: false`", async () => {
    const provider = createMockProvider(() => text("a"), { record: false });
    await play(provider);
    await play(provider);
    expect([provider.calls, provider.requests.length]).toEqual([2, 0]);
  });

  it("show how many streams are open, also after one is left early", async () => {
    const provider = createMockProvider(() => text("abc", { chunks: 3 }));
    const streams = [provider.stream(request, setUp().call), provider.stream(request, setUp().call)];
    const [first, second] = streams.map((stream) => stream[Symbol.asyncIterator]());
    expect(provider.active).toBe(0);
    await first?.next();
    await second?.next();
    expect(provider.active).toBe(2);
    await first?.return?.();
    expect(provider.active).toBe(1);
    while ((await second?.next())?.done === false);
    expect(provider.active).toBe(0);
  });
});

describe("scripts", () => {
  it("may be a function of request and index", async () => {
    const provider = createMockProvider((asked, index) => text(`${index} of ${asked.messages.length}`), { usage: false });
    await play(provider);
    expect((await play(provider))[0]).toEqual({ type: "text-delta", text: "1 of 1" });
  });

  it.for<[script: string, provider: Provider, message: string]>([
    ["list", createMockProvider([]), "asked for turn 0 (counted from 0), but the script has 0"],
    ["function", createMockProvider(() => undefined), "asked for turn 0 (counted from 0), but the script has none for it"],
  ])("name the turn that a %s lacks", ([, provider, message]) => {
    expect(() => provider.stream(request, setUp().call)).toThrow(message);
  });

  it("present themselves as told", () => {
    expect(createMockProvider([])).toMatchObject({ id: "mock", model: "mock-model", family: undefined });
    expect(createMockProvider([], { id: "a", model: "b", family: "c" })).toMatchObject({ id: "a", model: "b", family: "c" });
  });
});
