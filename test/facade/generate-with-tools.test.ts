import { describe, expect, it } from "vitest";
import {
  AbortedError,
  generateWithTools,
  isLoopError,
  IterationLimitError,
  LoopEndedError,
  toolResult,
  withFallback,
} from "turnwright";

import type { GenerateRequest, GenerateOptions, ToolExecutor } from "../../src/core/loop/generate-with-tools.ts";
import { createMockProvider, fail, finish, reasoning, text, toolCall } from "turnwright/testing";
import { endedBy, generate, recordExecutor } from "./play.ts";

describe("generateWithTools", () => {
  it("runs the tools that the model calls and returns the result", async () => {
    const { provider, executed, result } = generate([[toolCall("a", { n: 1 }), toolCall("b")], text("Done.")]);
    expect(await result).toMatchObject({ status: "completed", reason: { kind: "answered" }, text: "Done.", iterations: 2 });
    expect(executed).toEqual([
      ["a", { n: 1 }],
      ["b", {}],
    ]);
    expect(provider.requests[0]?.messages).toEqual([{ role: "user", content: "Go." }]);
    expect(provider.requests[0]?.tools.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("sends the request's messages, system text, settings and tool choice", async () => {
    const provider = createMockProvider([text("Yes.")]);
    const { executor } = recordExecutor();
    const asked: GenerateRequest = {
      messages: [{ role: "user", content: "Well?" }],
      system: "Be short.",
      modelSettings: { temperature: 0 },
      toolChoice: "none",
    };
    await generateWithTools(provider, asked, executor);
    const { messages, system, modelSettings: settings, toolChoice } = asked;
    expect(provider.requests).toMatchObject([{ messages, system, settings, toolChoice }]);
  });

  it.for<[maxIterations: number | undefined, rounds: number]>([
    [undefined, 10],
    [1, 1],
    [3, 3],
  ])("throws IterationLimitError with maxIterations: %s after %i requests", async ([maxIterations, rounds]) => {
    const { provider, executed, result } = generate(() => [text("On it."), toolCall("a")], { maxIterations });
    const error = await endedBy(result);
    expect(error).toBeInstanceOf(IterationLimitError);
    expect(error.message).toBe(`The run ended as timeout (max-iterations): the limit of ${rounds} iterations was reached.`);
    expect(error.reason).toEqual({ kind: "max-iterations", limit: rounds });
    expect([executed.length, provider.calls]).toEqual([rounds, rounds]);
  });

  it("returns an answer from the last allowed iteration", async () => {
    const { executed, result } = generate([toolCall("a"), toolCall("a"), text("Done.")], { maxIterations: 3 });
    expect((await result).text).toBe("Done.");
    expect(executed).toHaveLength(2);
  });

  it("runs any number of iterations if maxIterations is Infinity", async () => {
    const script = Array.from({ length: 150 }, (_, n) => toolCall("a", { n }));
    const { executed, result } = generate([...script, text("Done.")], { maxIterations: Number.POSITIVE_INFINITY });
    expect((await result).text).toBe("Done.");
    expect(executed).toHaveLength(150);
  });

  it.for<[how: string, execute: ToolExecutor["execute"], read: unknown]>([
    [
      "throws",
      () => {
        throw new Error("no disk");
      },
      { status: "tool_execution_failed", reason: "no disk", tool_name: "a" },
    ],
    ["rejects", () => Promise.reject(new Error("no disk")), { reason: "no disk" }],
    ["returns a failure", () => toolResult({ success: false, error: "no disk" }), { reason: "no disk" }],
    ["returns nothing", () => undefined, null],
    ["returns a promise", async () => ({ n: 1 }), { n: 1 }],
  ])("sends the model the outcome of a tool that %s", async ([, execute, read]) => {
    const provider = createMockProvider([toolCall("a"), text("I see.")]);
    const { executor } = recordExecutor();
    const result = await generateWithTools(provider, { prompt: "Go." }, { ...executor, execute });
    expect(result.text).toBe("I see.");
    const answer = provider.requests[1]?.messages.at(-1);
    const [part] = answer?.role === "tool" ? answer.results : [];
    if (typeof read === "object" && read !== null) expect(part?.result).toMatchObject(read);
    else expect(part?.result).toBe(read);
  });

  it("falls back to a different provider in any iteration without running a tool again", async () => {
    const first = createMockProvider([toolCall("a"), fail({ status: 529 }), fail({ status: 529 })]);
    const second = createMockProvider([toolCall("b"), text("Done.")]);
    const { executor, executed } = recordExecutor();
    const result = await generateWithTools(withFallback([first, second]), { prompt: "Go." }, executor);
    expect([result.text, first.calls, second.calls]).toEqual(["Done.", 3, 2]);
    expect(executed.map(([name]) => name)).toEqual(["a", "b"]);
  });

  it("calls the executor as a method, with the call's signal", async () => {
    class Tools implements ToolExecutor {
      readonly definitions = [{ name: "a", description: "", inputSchema: {} }];
      readonly seen: unknown[] = [];
      execute(...[name, args, { signal, callId }]: Parameters<ToolExecutor["execute"]>): void {
        this.seen.push([name, args, signal.aborted, callId]);
      }
    }
    const tools = new Tools();
    await generateWithTools(createMockProvider([toolCall("a"), text("Done.")]), { prompt: "Go." }, tools);
    expect(tools.seen).toEqual([["a", {}, false, "call_i0_0"]]);
  });

  it("calls onIteration after each iteration with the iteration count and the state", async () => {
    const told: unknown[] = [];
    const onIteration: GenerateOptions["onIteration"] = (count, { iteration, messageCount, lastToolCalls, cumulativeCost }) =>
      void told.push([count, iteration, messageCount, lastToolCalls.map(({ name }) => name), cumulativeCost]);
    const script = [[toolCall("a"), toolCall("b")], toolCall("b"), text("Done.")];
    await generate(script, { onIteration, pricing: () => 0.25 }).result;
    expect(told).toEqual([
      [1, 1, 3, ["a", "b"], 0.25],
      [2, 2, 5, ["b"], 0.5],
    ]);
  });

  it.for<[how: string, onIteration: GenerateOptions["onIteration"], thrown: new (result: never) => Error, reason: object]>([
    ["aborts", () => ({ abort: true, reason: "enough" }), AbortedError, { kind: "iteration-abort", reason: "enough" }],
    [
      "throws",
      () => {
        throw new Error("no");
      },
      LoopEndedError,
      { kind: "hook-failed", hook: "on-iteration.afterCalls", error: { message: "no" } },
    ],
  ])("throws with the end reason if onIteration %s", async ([, onIteration, thrown, reason]) => {
    const { provider, result } = generate(() => toolCall("a"), { onIteration });
    const error = await endedBy(result);
    expect(error.constructor).toBe(thrown);
    expect(error.reason).toMatchObject(reason);
    expect(error.result.functionHistory).toHaveLength(1);
    expect(provider.calls).toBe(1);
  });

  it("throws AbortedError before any request if the signal has already fired", async () => {
    const { provider, result } = generate([text("Hi.")], { abortSignal: AbortSignal.abort("too late") });
    const error = await endedBy(result);
    expect(error).toBeInstanceOf(AbortedError);
    expect(error.message).toBe("The run ended as stopped-by-user (aborted): the run's signal was aborted: too late.");
    expect(provider.calls).toBe(0);
  });

  it("throws AbortedError with the result if the signal fires while a tool is running", async () => {
    const abort = new AbortController();
    const provider = createMockProvider(() => [text("Wait."), toolCall("a"), toolCall("b")]);
    const { executor } = recordExecutor();
    const execute: ToolExecutor["execute"] = (name) => {
      if (name === "a") return "done";
      abort.abort();
      return new Promise(() => {});
    };
    const options = { abortSignal: abort.signal };
    const error = await endedBy(generateWithTools(provider, { prompt: "Go." }, { ...executor, execute }, options));
    expect(error).toBeInstanceOf(AbortedError);
    expect(error.result).toMatchObject({
      text: "Wait.",
      functionHistory: [{ functionCall: { name: "a" }, outcome: "completed" }],
    });
  });

  it("throws ProviderFailedError if the model fails", async () => {
    const error = await endedBy(generate([[text("Hm"), fail({ status: 529 })]]).result);
    expect(error).toMatchObject({ name: "ProviderFailedError", reason: { error: { code: "overloaded", retryable: true } } });
    expect(error.result.text).toBe("Hm");
  });

  it.for<[ending: string, turn: Parameters<typeof generate>[0], kind: string]>([
    ["a refusal", [[text("No."), finish("refusal")]], "refusal"],
    ["an incomplete answer", [[text("And th"), finish("length")]], "length"],
  ])("returns %s", async ([, turn, kind]) => {
    expect((await generate(turn).result).reason.kind).toBe(kind);
  });

  it("throws if the model sends only reasoning and no answer", async () => {
    expect((await endedBy(generate([[reasoning("Hm."), finish("stop")]]).result)).reason.kind).toBe("empty");
  });
});

describe("generateWithTools: invalid arguments", () => {
  const { executor } = recordExecutor();
  const ask = { prompt: "Go." };
  type Arguments = Partial<Record<"request" | "executor" | "options", unknown>>;

  it.for<[what: string, given: Arguments, code: string, named: string]>([
    ["maxIterations 0", { options: { maxIterations: 0 } }, "invalid-option", "maxIterations"],
    ["maxIterations 1.5", { options: { maxIterations: 1.5 } }, "invalid-option", "maxIterations"],
    ["maxCostUSD 0", { options: { maxCostUSD: 0, pricing: () => 0 } }, "invalid-option", "maxCostUSD"],
    ["maxCostUSD NaN", { options: { maxCostUSD: Number.NaN, pricing: () => 0 } }, "invalid-option", "maxCostUSD"],
    ["maxCostUSD without pricing", { options: { maxCostUSD: 1 } }, "invalid-option", "pricing"],
    ["pricing that is not a function", { options: { pricing: 1 } }, "invalid-option", "pricing"],
    ["an onIteration that is not a function", { options: { onIteration: "log" } }, "invalid-option", "onIteration"],
    ["an invalid abortSignal", { options: { abortSignal: {} } }, "invalid-option", "abortSignal"],
    ["an unknown option", { options: { maxIteration: 3 } }, "unknown-option", "maxIteration"],
    ["options that are null", { options: null }, "invalid-option", "options"],
    ["a missing request", { request: undefined }, "invalid-option", "request"],
    ["a request without fields", { request: {} }, "invalid-option", "request"],
    ["a request with prompt and messages", { request: { ...ask, messages: [] } }, "invalid-option", "request"],
    ["a prompt that is not a string", { request: { prompt: 1 } }, "invalid-option", "request.prompt"],
    ["messages that are not an array", { request: { messages: "Go." } }, "invalid-option", "request.messages"],
    ["an unknown field of the request", { request: { ...ask, systemPrompt: "" } }, "unknown-option", "request.systemPrompt"],
    ["an empty list of messages", { request: { messages: [] } }, "invalid-option", "messages"],
    ["a system prompt that is not a string", { request: { ...ask, system: 1 } }, "invalid-option", "system"],
    ["a missing executor", { executor: undefined }, "invalid-option", "toolExecutor"],
    ["definitions that are a function", { executor: { ...executor, definitions: () => [] } }, "invalid-option", "toolExecutor"],
    ["an executor without execute", { executor: { definitions: [] } }, "invalid-option", "toolExecutor.execute"],
    ["a definition that is null", { executor: { ...executor, definitions: [null] } }, "invalid-tool", ""],
    [
      "two tools with the same name",
      { executor: { ...executor, definitions: [executor.definitions[0], executor.definitions[0]] } },
      "duplicate-tool",
      '"a"',
    ],
  ])("throws before any request for %s", async ([, given, code, named]) => {
    const provider = createMockProvider([text("Hi.")]);
    const { request, executor: tools, options } = { request: ask, executor, options: {}, ...given };
    const error: unknown = await generateWithTools(provider, request as never, tools as never, options as never).catch(
      (thrown: unknown) => thrown,
    );
    if (!isLoopError(error)) throw new Error("A LoopError was to be thrown.", { cause: error });
    expect(error.code).toBe(code);
    expect(error.message).toContain(named);
    expect(provider.calls).toBe(0);
  });
});
