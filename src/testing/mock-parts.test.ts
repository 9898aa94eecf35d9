import { describe, expect, it } from "vitest";
import { play, request, setUp } from "../../test/testing/play.ts";
import type { ModelCall, ModelChunk } from "../core/types/provider.ts";
import {
  chunk,
  details,
  endEarly,
  fail,
  failInBand,
  finish,
  heartbeat,
  type MockMessage,
  providerMetadata,
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

const playMessage = (turn: MockMessage): Promise<ModelChunk[]> => play(createMockProvider([turn], { usage: false }));

const stopped: ModelChunk = { type: "finish", reason: "stop" };
const called: ModelChunk = { type: "finish", reason: "tool-calls" };
const overloaded = { name: "Error", code: "overloaded", message: "Busy.", retryable: true } as const;

describe("createMockProvider with scripted parts", () => {
  it.for<[what: string, turn: MockMessage, chunks: ModelChunk[]]>([
    ["a text part", text("Hi"), [{ type: "text-delta", text: "Hi" }, stopped]],
    ["an empty text part", text(""), [{ type: "text-delta", text: "" }, stopped]],
    [
      "text in pieces of whole characters",
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
    ["provider metadata", providerMetadata({ sig: "x" }), [{ type: "provider-metadata", item: { sig: "x" } }, stopped]],
    [
      "usage",
      usage({ inputTokens: 3, outputTokens: 2, reasoningTokens: 1 }, "delta"),
      [{ type: "usage", usage: { inputTokens: 3, outputTokens: 2, reasoningTokens: 1, totalTokens: 5 }, mode: "delta" }, stopped],
    ],
    [
      "the finish chunk of a finish() part",
      [text("H"), finish("continue", { token: "t" })],
      [
        { type: "text-delta", text: "H" },
        { type: "finish", reason: "continue", token: "t" },
      ],
    ],
    ["the chunk of a chunk() part", chunk({ type: "finish", reason: "length" }), [{ type: "finish", reason: "length" }]],
    [
      "an error chunk without a finish",
      [text("H"), failInBand(overloaded)],
      [
        { type: "text-delta", text: "H" },
        { type: "error", error: overloaded },
      ],
    ],
    ["nothing after an endEarly() part", [text("H"), endEarly(), text("i")], [{ type: "text-delta", text: "H" }]],
    ["parts that follow a finish() part", [finish("stop"), text("late")], [stopped, { type: "text-delta", text: "late" }]],
    ["an empty message as a finish chunk only", [], [stopped]],
  ])("streams %s", async ([, turn, chunks]) => {
    expect(await playMessage(turn)).toEqual(chunks);
  });

  it.for<[what: string, turn: MockMessage, chunks: ModelChunk[]]>([
    [
      "with its arguments in fragments",
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
      "without call-start and argument fragments",
      toolCall("f", { a: 1 }, { fragments: 0 }),
      [{ type: "call-ready", key: "call-0", id: undefined, name: "f", args: { a: 1 }, argsText: '{"a":1}' }, called],
    ],
    [
      "with invalid JSON as malformed",
      toolCall("f", {}, { rawArgs: '{"a', fragments: 0 }),
      [
        { type: "call-ready", key: "call-0", id: undefined, name: "f", args: '{"a', argsText: '{"a', problem: "malformed" },
        called,
      ],
    ],
    [
      "with empty argument text as an empty object",
      toolCall("f", {}, { rawArgs: "", fragments: 0 }),
      [{ type: "call-ready", key: "call-0", id: undefined, name: "f", args: {}, argsText: "" }, called],
    ],
  ])("streams a tool call %s", async ([, turn, chunks]) => {
    expect(await playMessage(turn)).toEqual(chunks);
  });

  it("gives tool calls different keys, even if their ids are equal", async () => {
    const chunks = await playMessage([toolCall("f", {}, { id: "same" }), text("and"), toolCall("f", {}, { id: "same" })]);
    const keys = chunks.flatMap((played) => (played.type === "call-ready" ? [played.key] : []));
    expect(new Set(keys).size).toBe(2);
  });

  it("parses the arguments anew for each tool call, so that calls share no objects", async () => {
    const call = toolCall("f", { list: [1] }, { fragments: 0 });
    const provider = createMockProvider([call, call], { usage: false });
    const [first] = await play(provider);
    if (first?.type === "call-ready") Object.assign(Object(first.args), { list: "changed" });
    expect((await play(provider))[0]).toMatchObject({ args: { list: [1] } });
  });

  it("keeps a key named __proto__ as data", async () => {
    const [ready] = await playMessage(toolCall("f", {}, { rawArgs: '{"__proto__":{"admin":true}}', fragments: 0 }));
    expect(ready?.type === "call-ready" && Object.keys(Object(ready.args))).toEqual(["__proto__"]);
  });

  it("rejects a number of pieces that is below 1 or not whole", () => {
    expect(() => text("Hi", { chunks: 0 })).toThrow(RangeError);
    expect(() => toolCall("f", {}, { fragments: 1.5 })).toThrow(RangeError);
  });
});

describe("fail()", () => {
  it("throws the given error itself after the preceding parts", async () => {
    const error = new TypeError("terminated");
    const stream = createMockProvider([[text("H"), fail(error)]]).stream(request, setUp().call);
    const iterator = stream[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual({ type: "text-delta", text: "H" });
    await expect(iterator.next()).rejects.toBe(error);
  });

  it("throws an error with the given fields", async () => {
    const error: unknown = await playMessage(fail({ status: 429, message: "Slow down", headers: { "retry-after": "2" } })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ status: 429, message: "Slow down", headers: { "retry-after": "2" } });
  });
});

describe("createMockProvider: timed parts", () => {
  it("wait() uses the clock of the model call", async () => {
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

  it.for<[what: string, turn: MockMessage]>([
    ["wait", wait(50)],
    ["stall", stall()],
  ])("%s() rejects with the signal's reason when the signal fires", async ([, turn]) => {
    const { clock, abort, call } = setUp();
    const provider = createMockProvider([turn, turn]);
    const reason = new Error("enough");
    const thrown = play(provider, request, call).catch((error: unknown) => error);
    await clock.flush();
    expect(provider.active).toBe(1);
    abort.abort(reason);
    expect(await thrown).toBe(reason);
    await expect(play(provider, request, call)).rejects.toBe(reason);
    expect([clock.pending, provider.active]).toEqual([0, 0]);
  });

  it("wait() leaves no listener on the signal", async () => {
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

  it("stall() with ignoreSignal continues after the signal fires", async () => {
    const { clock, abort, call } = setUp();
    const provider = createMockProvider([stall({ ignoreSignal: true })]);
    let settled = false;
    void play(provider, request, call).finally(() => (settled = true));
    abort.abort();
    await clock.flush();
    expect([settled, provider.active]).toEqual([false, 1]);
  });

  it("wait() reads the signal, unlike text(), toolCall(), heartbeat() and usage()", async () => {
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

  it("heartbeat() calls the heartbeat function of the model call", async () => {
    const { clock, call, heartbeats } = setUp();
    const reading = play(createMockProvider([[wait(5), heartbeat(), wait(5), heartbeat()]]), request, call);
    await clock.advance(10);
    await reading;
    expect(heartbeats).toEqual([5, 10]);
  });
});
