// Providers that were written without types, and callers' code that breaks its contract.

import { describe, expect, it, vi } from "vitest";
import {
  contextRestart,
  type LoopOptions,
  type ModelChunk,
  memoryJournal,
  type Provider,
  runToolLoop,
  toolResult,
} from "turnwright";
import { chunk, createMockProvider, createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";
import { thenable } from "./thenable.ts";

const messages = [{ role: "user" as const, content: "Go." }];
const raw = (value: unknown): ReturnType<typeof chunk> => chunk(value as ModelChunk);
const ready = { type: "call-ready", key: "0", name: "t", args: { amount: 5 } };

describe("a chunk", () => {
  it.for<[what: string, value: unknown]>([
    ["a text without text", { type: "text-delta" }],
    ["a text that is a number", { type: "text-delta", text: 7 }],
    ["a call without a key", { ...ready, key: undefined }],
    ["usage that is no object", { type: "usage", usage: "many", mode: "snapshot" }],
    ["a finish without a reason", { type: "finish" }],
    ["a finish whose reason is a symbol", { type: "finish", reason: Symbol("x") }],
    ["an attempt of nobody", { type: "attempt-start", attempt: 1, provider: 1n, model: "m" }],
  ])("that is %s ends the iteration as the provider's error, and the result can be saved", async ([, value]) => {
    const { result } = play([[text("Hi"), raw(value)]]);
    const { status, reason, text: said } = await result;
    expect([status, reason.kind, said]).toEqual(["error", "provider-error", "Hi"]);
    expect(() => JSON.stringify(result)).not.toThrow();
  });

  it.for<[what: string, more: object, args: unknown, outcome: string]>([
    ["no problem, as null", { problem: null }, { amount: 5 }, "completed"],
    ["a problem that nobody knows", { problem: "odd" }, undefined, "malformed"],
    ["an id that is a number", { id: 5 }, { amount: 5 }, "completed"],
    ["a text of arguments that is a BigInt", { argsText: 1n }, { amount: 5 }, "completed"],
  ])("of a call with %s gives a call that can be sent back", async ([, more, args, outcome]) => {
    const ran: unknown[] = [];
    const { result } = play([raw({ ...ready, ...more }), text("Done.")], { tools: [tool("t", (given) => ran.push(given))] });
    const ended = await result;
    expect([ran, outcomesOf(ended)]).toEqual([args === undefined ? [] : [args], [`call_i0_0: ${outcome}`]]);
    const next = await runToolLoop({ provider: createMockProvider([text("Yes.")]), messages: [...ended.messages, ...messages] });
    expect(next.text).toBe("Yes.");
    expect(() => JSON.stringify(ended)).not.toThrow();
  });

  it("that comes after its call is complete changes nothing", async () => {
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
    ["a total that is no number", { inputTokens: 60, outputTokens: 1, totalTokens: Number.NaN }, 61],
    ["a negative total", { inputTokens: 60, outputTokens: 1, totalTokens: -5 }, 61],
    ["a total below the sum of both", { inputTokens: 60, outputTokens: 1, totalTokens: 10 }, 61],
    ["texts and a BigInt", { inputTokens: "60", outputTokens: 1n, totalTokens: 61 }, 61],
  ])("of usage with %s counts towards the limit", async ([, usage, total]) => {
    const turn = [toolCall("t"), raw({ type: "usage", usage, mode: "snapshot" })];
    const { result } = play(() => turn, { tools: [tool("t", () => 1)], limits: { maxTokens: 100 } });
    expect((await result).reason).toMatchObject({ kind: "max-tokens", spent: 2 * total });
  });

  it("of an error ends the stream, also where the provider does not close it", async () => {
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

describe("what is asynchronous by mistake", () => {
  it.for<[what: string, more: Partial<LoopOptions>, said: string]>([
    [
      "stream()",
      { provider: { id: "p", model: "m", stream: (async () => Promise.reject(new Error("no"))) as never } },
      "async generator",
    ],
    ["pricing", { pricing: (() => Promise.reject(new Error("no"))) as never }, "pricing must answer at once"],
  ])("%s is told, and leaves no rejection behind", async ([, more, said]) => {
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

describe("a tool's result", () => {
  const fail = (): never => {
    throw new Error("no");
  };

  it.for<[what: string, value: () => unknown]>([
    ["whose error is an Error", () => ({ ...toolResult({ success: false }), error: new Error("x") })],
    ["whose message is a number", () => ({ ...toolResult({ success: false }), message: 42 })],
    ["whose content is null", () => ({ ...toolResult({ data: 1 }), content: null })],
    ["whose data throws when it is awaited", () => toolResult({ data: thenable({ get: fail }) })],
    ["that throws when it is looked at", () => new Proxy({}, { has: fail })],
    ["that is a promise whose then throws", () => thenable({ value: fail }, Promise.resolve(1))],
  ])("%s is a failure, and its siblings are kept", async ([, value]) => {
    const { result } = play([[toolCall("ok"), toolCall("odd")], text("Done.")], {
      tools: [tool("ok", () => 1), tool("odd", value)],
    });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: completed", "call_i0_1: failed"]);
  });
});

describe("what a caller changes", () => {
  it("during the run does not lift its policies", async () => {
    const policies: { approve?: () => { kind: "deny" } } = { approve: () => ({ kind: "deny" }) };
    const { result } = play([[text("Hm. "), toolCall("t")], text("Done.")], (stage) => {
      stage.clock.setTimeout(() => {}, 0);
      return { policies, hooks: { prepareIteration: () => void delete policies.approve }, tools: [tool("t", () => 1)] };
    });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: denied"]);
  });

  it("or gets wrong in its clock does not hold the run's control", async () => {
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

  it("is told of an abort without what looks like a credential", async () => {
    const { result, abort } = play([text("Hi")]);
    abort.abort("token sk-abc123def456ghi789");
    expect(JSON.stringify((await result).reason)).not.toContain("sk-abc");
  });
});

describe("hundreds of made-up names", () => {
  it("get a hint each only while there are few", async () => {
    const calls = Array.from({ length: 40 }, (_, index) => toolCall(`serch_${index % 10}`));
    const { result } = play([calls, text("Done.")], {
      tools: [tool("search_0", () => 1)],
      limits: { maxConsecutiveToolErrors: 100 },
    });
    const hinted = answersOf(await result).filter((part) => JSON.stringify(part.result).includes("Did you mean"));
    expect(hinted.length).toBe(16);
  });
});

describe("a repaired history", () => {
  it("keeps the results that came in messages of their own", async () => {
    const call = (callId: string): object => ({ type: "tool-call", callId, name: "t", args: {} });
    const answer = (callId: string): object => ({
      role: "tool",
      results: [{ callId, name: "t", outcome: "completed", result: callId }],
    });
    const history = [...messages, { role: "assistant", content: [call("a"), call("b")] }, answer("a"), answer("b")] as never;
    const { result } = play([text("Hi")], { messages: history, repair: true });
    expect(answersOf(await result).map((part) => part.result)).toEqual(["a", "b"]);
  });

  it("of which nothing is left is refused", async () => {
    const history = [{ role: "tool", results: [{ callId: "a", name: "t", outcome: "completed", result: 1 }] }] as never;
    await expect(play([], { messages: history, repair: true }).result).rejects.toThrow("hold nothing that can be sent");
  });
});

it("goes on behind a cap that had been reached, with the cap anew", async () => {
  const restart = tool("again", () => contextRestart({ type: "context_restart_x" }));
  const limits = { maxRestarts: 0 };
  const tools = [restart, tool("plain", () => 1)];
  const first = await play([toolCall("again")], { tools, limits, runId: "cap" }).result;
  expect(first.reason.kind).toBe("restart-cap");
  const journal = memoryJournal(JSON.parse(JSON.stringify(first.journal)));
  const more = { tools, limits, runId: "cap", journal, resume: "retry-last" as const };
  const second = await play([toolCall("plain"), text("Done.")], more).result;
  expect([second.status, second.text]).toEqual(["completed", "Done."]);
});
