import { describe, expect, it, vi } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  type LoopOptions,
  memoryJournal,
  type Middleware,
  type ModelChunk,
  prepareIteration,
  type Provider,
  repairMessages,
  runToolLoop,
  toolResult,
} from "turnwright";
import { chunk, createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

const messages = [{ role: "user" as const, content: "Go." }];
const raw = (value: unknown): ReturnType<typeof chunk> => chunk(value as ModelChunk);
const ready = { type: "call-ready", key: "0", name: "t", args: { amount: 5 } };

describe("a chunk from a hostile provider", () => {
  it.for<[what: string, value: unknown]>([
    ["a text-delta without text", { type: "text-delta" }],
    ["a text-delta with a number as text", { type: "text-delta", text: 7 }],
    ["a call without a key", { ...ready, key: undefined }],
    ["usage that is not an object", { type: "usage", usage: "many", mode: "snapshot" }],
    ["a finish without a reason", { type: "finish" }],
    ["a finish whose reason is a symbol", { type: "finish", reason: Symbol("x") }],
    ["an attempt-start with a BigInt as provider", { type: "attempt-start", attempt: 1, provider: 1n, model: "m" }],
  ])('ends the run with "provider-error" and keeps the text (chunk: %s)', async ([, value]) => {
    const { result } = play([[text("Hi"), raw(value)]]);
    const ended = await result;
    expect([ended.status, ended.reason.kind, ended.text]).toEqual(["error", "provider-error", "Hi"]);
    expect(JSON.parse(JSON.stringify(ended))).toMatchObject({ reason: { kind: "provider-error" }, text: "Hi" });
  });

  it.for<[what: string, more: object, args: unknown, outcome: string]>([
    ["problem: null", { problem: null }, { amount: 5 }, "completed"],
    ["an unknown value of problem", { problem: "odd" }, undefined, "malformed"],
    ["a number as id", { id: 5 }, { amount: 5 }, "completed"],
    ["a BigInt as argsText", { argsText: 1n }, { amount: 5 }, "completed"],
  ])("with a call that has %s leads to messages that the next run accepts", async ([, more, args, outcome]) => {
    const ran: unknown[] = [];
    const { result } = play([raw({ ...ready, ...more }), text("Done.")], { tools: [tool("t", (given) => ran.push(given))] });
    const ended = await result;
    expect([ran, outcomesOf(ended)]).toEqual([args === undefined ? [] : [args], [`call_i0_0: ${outcome}`]]);
    const next = await runToolLoop({ provider: createMockProvider([text("Yes.")]), messages: [...ended.messages, ...messages] });
    expect(next.text).toBe("Yes.");
    expect(() => JSON.stringify(ended)).not.toThrow();
  });

  it("that adds to a complete call has no effect", async () => {
    const ran: unknown[] = [];
    const late = [
      { type: "call-start", key: "0", name: "other" },
      { type: "call-args-delta", key: "0", text: "x" },
      { ...ready, args: { amount: 6 } },
    ];
    const { result } = play([[raw(ready), ...late.map(raw)], text("Done.")], { tools: [tool("t", (given) => ran.push(given))] });
    await result;
    expect(ran).toEqual([{ amount: 5 }]);
  });

  it.for<[what: string, usage: object, total: number]>([
    ["no total", { inputTokens: 60, outputTokens: 1 }, 61],
    ["NaN as total", { inputTokens: 60, outputTokens: 1, totalTokens: Number.NaN }, 61],
    ["a negative total", { inputTokens: 60, outputTokens: 1, totalTokens: -5 }, 61],
    ["a total below the sum of input and output", { inputTokens: 60, outputTokens: 1, totalTokens: 10 }, 61],
    ["a string and a BigInt", { inputTokens: "60", outputTokens: 1n, totalTokens: 61 }, 61],
  ])("counts toward limits.maxTokens if its usage has %s", async ([, usage, total]) => {
    const turn = [toolCall("t"), raw({ type: "usage", usage, mode: "snapshot" })];
    const { result } = play(() => turn, { tools: [tool("t", () => 1)], limits: { maxTokens: 100 } });
    expect((await result).reason).toMatchObject({ kind: "max-tokens", spent: 2 * total });
  });

  it("with an error ends the stream even if the provider does not close the stream", async () => {
    const provider: Provider = {
      id: "p",
      model: "m",
      async *stream() {
        yield { type: "error", error: { name: "E", message: "Busy.", code: "overloaded", retryable: true, status: 1n } as never };
        await new Promise(() => {});
      },
    };
    const { result } = play([], { provider });
    const ended = await result;
    expect(ended.reason).toMatchObject({ kind: "provider-error", error: { code: "overloaded" } });
    expect(() => JSON.stringify(ended)).not.toThrow();
  });
});

describe("an async function instead of a synchronous function", () => {
  it.for<[what: string, more: Partial<LoopOptions>, said: string]>([
    [
      "stream()",
      { provider: { id: "p", model: "m", stream: (async () => Promise.reject(new Error("no"))) as never } },
      "async generator",
    ],
    [
      "pricing",
      { pricing: (() => Promise.reject(new Error("no"))) as never },
      "pricing must return the cost in USD (0 or more) or undefined, but returned a promise.",
    ],
  ])("is reported and leaves no unhandled rejection (function: %s)", async ([, more, said]) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { result, recording } = play([text("Hi")], more);
    const ended = await result;
    await createTestClock().flush();
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(JSON.stringify([ended.reason, recording.of("listener-error")])).toContain(said);
    expect(ended.costUSD).toBeUndefined();
  });
});

describe("a hostile tool result", () => {
  it.for<[what: string, value: () => unknown]>([
    ["a failure with an Error as error", () => ({ ...toolResult({ success: false }), error: new Error("x") })],
    ["a failure with a number as message", () => ({ ...toolResult({ success: false }), message: 42 })],
    ["a toolResult with null as content", () => ({ ...toolResult({ data: 1 }), content: null })],
  ])("fails only its own call: %s", async ([, value]) => {
    const { result } = play([[toolCall("ok"), toolCall("odd")], text("Done.")], {
      tools: [tool("ok", () => 1), tool("odd", value)],
    });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: completed", "call_i0_1: failed"]);
  });
});

describe("runToolLoop", () => {
  it("keeps its middleware if the middleware list is emptied during the run", async () => {
    const middleware: Middleware[] = [];
    middleware.push(
      prepareIteration(() => void middleware.splice(0)),
      approve(() => ({ kind: "deny" })),
    );
    const { result } = play([[text("Hm. "), toolCall("t")], text("Done.")], (stage) => {
      stage.clock.setTimeout(() => {}, 0);
      return { middleware, tools: [tool("t", () => 1)] };
    });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: denied"]);
  });

  it("rejects and releases its control if the clock throws", async () => {
    const clock = createTestClock();
    const broken = {
      ...clock,
      now: clock.now,
      setTimeout: clock.setTimeout,
      clearTimeout: () => {
        throw new Error("clock");
      },
    };
    const playing = play([text("Hi")], { clock: broken });
    await expect(playing.result).rejects.toThrow("clock");
    expect(playing.control.stop()).toBe("finished");
  });

  it("reports an abort reason without its credentials", async () => {
    const { result, abort } = play([text("Hi")]);
    abort.abort("token sk-abc123def456ghi789");
    expect(JSON.stringify((await result).reason)).not.toContain("sk-abc");
  });
});

describe("calls to unknown tools", () => {
  it("receive a similar name as a suggestion, but only in the first 16 results", async () => {
    const calls = Array.from({ length: 40 }, (_, index) => toolCall(`serch_${index % 10}`));
    const { result } = play([calls, text("Done.")], {
      tools: [tool("search_0", () => 1)],
      limits: { maxConsecutiveToolErrors: 100 },
    });
    const hinted = answersOf(await result).filter((part) => JSON.stringify(part.result).includes("Did you mean"));
    expect(hinted.length).toBe(16);
  });
});

describe("repairMessages", () => {
  it("keeps results that were in separate messages", async () => {
    const call = (callId: string): object => ({ type: "tool-call", callId, name: "t", args: {} });
    const answer = (callId: string): object => ({
      role: "tool",
      results: [{ callId, name: "t", outcome: "completed", result: callId }],
    });
    const history = [...messages, { role: "assistant", content: [call("a"), call("b")] }, answer("a"), answer("b")] as never;
    const { result } = play([text("Hi")], { messages: repairMessages(history) });
    expect(answersOf(await result).map((part) => part.result)).toEqual(["a", "b"]);
  });

  it("rejects messages if none can be repaired", () => {
    const history = [{ role: "tool", results: [{ callId: "a", name: "t", outcome: "completed", result: 1 }] }] as never;
    expect(() => repairMessages(history)).toThrow("contain nothing that can be sent");
  });
});

it('resume: "retry-last" continues a run that ended with the reason "restart-cap"', async () => {
  const restart = tool("again", () => contextRestart({ type: "context_restart_x" }));
  const middleware = [contextRestarts({ maxRestarts: 0 })];
  const tools = [restart, tool("plain", () => 1)];
  const first = await play([toolCall("again")], { tools, middleware, runId: "cap" }).result;
  expect(first.reason.kind).toBe("restart-cap");
  const journal = memoryJournal(JSON.parse(JSON.stringify(first.journal)));
  const more = { tools, middleware, runId: "cap", journal, resume: "retry-last" as const };
  const { result, provider } = play([toolCall("plain"), text("Done.")], more);
  const second = await result;
  expect([second.status, second.text, provider.calls, outcomesOf(second)]).toEqual([
    "completed",
    "Done.",
    2,
    ["call_i0_0: restarted", "call_i1_0: completed"],
  ]);
  expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
});
