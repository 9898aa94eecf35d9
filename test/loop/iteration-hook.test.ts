import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, onIteration, toolResult } from "turnwright";
import type { IterationState } from "../../src/core/types/loop-options.ts";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

const tools = ["a", "b"].map((name) => tool(name, () => name));
const failedBy = (message: string): object => ({
  status: "error",
  reason: { kind: "hook-failed", hook: "on-iteration.afterCalls", error: { message } },
});

describe("onIteration", () => {
  it("is called after each batch of tool calls with the run's state", async () => {
    const seen: (readonly [number, IterationState])[] = [];
    const playing = play([[text("So. "), toolCall("a"), toolCall("b")], toolCall("nope"), text("Done.")], {
      tools,
      pricing: () => 0.5,
      middleware: [onIteration((iteration, state) => void seen.push([iteration, state]))],
    });
    await playing.result;
    const call = (callId: string, name: string): object => expect.objectContaining({ callId, name, args: {} });
    expect(seen).toEqual([
      [
        1,
        { iteration: 1, cumulativeCost: 0.5, messageCount: 3, lastToolCalls: [call("call_i0_0", "a"), call("call_i0_1", "b")] },
      ],
      [2, { iteration: 2, cumulativeCost: 1, messageCount: 5, lastToolCalls: [call("call_i1_0", "nope")] }],
    ]);
  });

  it("receives undefined as the cost if no pricing is set", async () => {
    const costs: unknown[] = [];
    await play([toolCall("a"), text("Done.")], {
      tools,
      middleware: [onIteration((_, state) => void costs.push(state.cumulativeCost))],
    }).result;
    expect(costs).toEqual([undefined]);
  });

  it.for<[how: string, hook: NonNullable<Parameters<typeof onIteration>[0]>, ending: object]>([
    [
      "ends the run with the given reason if the hook returns abort: true",
      () => ({ abort: true, reason: "enough" }),
      { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: "enough" } },
    ],
    [
      "ends the run if the hook resolves with abort: true",
      async () => ({ abort: true }),
      { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "drops an abort reason that is not a string",
      () => ({ abort: true, reason: 7n as never }),
      { reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "fails the run if the hook throws",
      () => {
        throw new Error("no");
      },
      failedBy("no"),
    ],
    ["fails the run if the hook rejects", () => Promise.reject(new Error("no")), failedBy("no")],
    ["continues the run if the hook returns undefined", () => undefined, { status: "completed" }],
    ["continues the run if the hook returns abort: false", () => ({ abort: false }) as never, { status: "completed" }],
    ["continues the run if the hook returns a string", () => "abort" as never, { status: "completed" }],
    ["continues the run if the hook returns null", () => null as never, { status: "completed" }],
  ])("%s", async ([, afterIteration, ending]) => {
    const result = await play([toolCall("a"), text("Done.")], { tools, middleware: [onIteration(afterIteration)] }).result;
    expect(result).toMatchObject(ending);
    expect(() => JSON.stringify(result)).not.toThrow();
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed"]);
  });

  it("fails the run if the hook takes longer than timeouts.callbackMs", async () => {
    const playing = play([toolCall("a")], { tools, middleware: [onIteration(() => never)], timeouts: { callbackMs: 50 } });
    await playing.clock.advance(1_000);
    expect(await playing.result).toMatchObject(failedBy("The hook took longer than 50 ms."));
    expect(playing.endedAt()).toBe(50);
  });

  it.for<[before: string, script: Parameters<typeof play>[0], asked: number, ending: string]>([
    ["is called before a tool ends the run", [toolCall("over")], 1, "iteration-abort"],
    ["is called before limits.maxIterations ends the run", [toolCall("a")], 1, "iteration-abort"],
    ["is not called before limits.maxConsecutiveToolErrors ends the run", [toolCall("nope")], 0, "tool-error-cap"],
    ["is not called before an answer ends the run", [text("Done.")], 0, "answered"],
  ])("%s", async ([, script, asked, ending]) => {
    let count = 0;
    const afterIteration = (): { readonly abort: true } => ((count += 1), { abort: true });
    const over = tool("over", () => toolResult({ endTurn: true }));
    const { result } = play(script, {
      tools: [...tools, over],
      middleware: [onIteration(afterIteration)],
      limits: { maxIterations: 1, maxConsecutiveToolErrors: 1 },
    });
    expect([(await result).reason.kind, count]).toEqual([ending, asked]);
  });

  it("is not called after control.stop()", async () => {
    let asked = 0;
    const playing = play([toolCall("stopper")], ({ control }) => ({
      tools: [tool("stopper", () => void control.stop())],
      middleware: [onIteration(() => void (asked += 1))],
    }));
    expect([(await playing.result).reason.kind, asked]).toEqual(["stopped", 0]);
  });
});

describe("asynchronous input validation", () => {
  const slow = (ms: number) => {
    const clock = createTestClock();
    const inputSchema = z
      .object({ n: z.number() })
      .refine(({ n }) => new Promise((resolve) => void clock.setTimeout(() => resolve(n > 1), ms)), "must be more than one");
    const check = defineTool({
      name: "check",
      description: "",
      inputSchema,
      jsonSchema: { type: "object" },
      execute: ({ n }) => n,
    });
    return { clock, tools: [check] };
  };

  it("is awaited before the call runs or fails", async () => {
    const setUp = slow(1_000);
    const playing = play([[toolCall("check", { n: 1 }), toolCall("check", { n: 2 })], text("Done.")], setUp);
    await setUp.clock.advance(1_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "must be more than one", tool_name: "check" },
      2,
    ]);
  });

  it("fails the call as invalid input after 30 seconds", async () => {
    const setUp = slow(31_000);
    const playing = play([toolCall("check", { n: 2 }), text("Done.")], setUp);
    await setUp.clock.advance(40_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "The validation took longer than 30000 ms.", tool_name: "check" },
    ]);
    expect(playing.endedAt()).toBe(30_000);
  });
});
