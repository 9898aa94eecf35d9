import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, type LoopHooks, toolResult } from "turnwright";
import type { IterationState } from "turnwright/parts";
import { createTestClock, text, toolCall } from "turnwright/testing";
import { answersOf, never, outcomesOf, play, tool } from "./play.ts";

const tools = ["a", "b"].map((name) => tool(name, () => name));
const failedBy = (message: string): object => ({
  status: "error",
  reason: { kind: "hook-failed", hook: "onIteration", error: { message } },
});

describe("onIteration", () => {
  it("is asked after each batch, with what it needs to judge", async () => {
    const seen: (readonly [number, IterationState])[] = [];
    const playing = play([[text("So. "), toolCall("a"), toolCall("b")], toolCall("nope"), text("Done.")], {
      tools,
      pricing: () => 0.5,
      hooks: { onIteration: (iteration, state) => void seen.push([iteration, state]) },
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

  it("is told of a cost that nobody knows", async () => {
    const costs: unknown[] = [];
    await play([toolCall("a"), text("Done.")], {
      tools,
      hooks: { onIteration: (_, state) => void costs.push(state.cumulativeCost) },
    }).result;
    expect(costs).toEqual([undefined]);
  });

  it.for<[how: string, hook: NonNullable<LoopHooks["onIteration"]>, ending: object]>([
    [
      "aborts",
      () => ({ abort: true, reason: "enough" }),
      { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: "enough" } },
    ],
    [
      "aborts later",
      async () => ({ abort: true }),
      { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "aborts for a reason that is no text",
      () => ({ abort: true, reason: 7n as never }),
      { reason: { kind: "iteration-abort", reason: undefined } },
    ],
    [
      "throws",
      () => {
        throw new Error("no");
      },
      failedBy("no"),
    ],
    ["rejects", () => Promise.reject(new Error("no")), failedBy("no")],
    ["says nothing", () => undefined, { status: "completed" }],
    ["says something else", () => ({ abort: false }) as never, { status: "completed" }],
    ["says yes", () => "abort" as never, { status: "completed" }],
    ["says null", () => null as never, { status: "completed" }],
  ])("that %s", async ([, onIteration, ending]) => {
    const result = await play([toolCall("a"), text("Done.")], { tools, hooks: { onIteration } }).result;
    expect(result).toMatchObject(ending);
    expect(() => JSON.stringify(result)).not.toThrow();
    expect(outcomesOf(result)).toEqual(["call_i0_0: completed"]);
  });

  it("that takes too long has failed", async () => {
    const playing = play([toolCall("a")], { tools, hooks: { onIteration: () => never }, timeouts: { hookMs: 50 } });
    await playing.clock.advance(1_000);
    expect(await playing.result).toMatchObject(failedBy("The hook took longer than 50 ms."));
    expect(playing.endedAt()).toBe(50);
  });

  it.for<[before: string, script: Parameters<typeof play>[0], asked: number, ending: string]>([
    ["the end of the turn", [toolCall("over")], 1, "iteration-abort"],
    ["the last iteration", [toolCall("a")], 1, "iteration-abort"],
    ["no tool error cap", [[toolCall("nope"), toolCall("nope")]], 0, "tool-error-cap"],
    ["no answer", [text("Done.")], 0, "answered"],
  ])("comes before %s", async ([, script, asked, ending]) => {
    let count = 0;
    const onIteration = (): { readonly abort: true } => ((count += 1), { abort: true });
    const over = tool("over", () => toolResult({ endTurn: true }));
    const { result } = play(script, {
      tools: [...tools, over],
      hooks: { onIteration },
      limits: { maxIterations: 1, maxConsecutiveToolErrors: 2 },
    });
    expect([(await result).reason.kind, count]).toEqual([ending, asked]);
  });

  it("is not asked once the run is being ended", async () => {
    let asked = 0;
    const playing = play([toolCall("stopper")], ({ control }) => ({
      tools: [tool("stopper", () => void control.stop())],
      hooks: { onIteration: () => void (asked += 1) },
    }));
    expect([(await playing.result).reason.kind, asked]).toEqual(["stopped", 0]);
  });
});

describe("a validation that waits", () => {
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

  it("is waited for", async () => {
    const setUp = slow(1_000);
    const playing = play([[toolCall("check", { n: 1 }), toolCall("check", { n: 2 })], text("Done.")], setUp);
    await setUp.clock.advance(1_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "must be more than one", tool_name: "check" },
      2,
    ]);
  });

  it("too long reads as invalid input", async () => {
    const setUp = slow(31_000);
    const playing = play([toolCall("check", { n: 2 }), text("Done.")], setUp);
    await setUp.clock.advance(40_000);
    expect(answersOf(await playing.result).map((part) => part.result)).toEqual([
      { status: "invalid_input", reason: "The validation took longer than 30000 ms.", tool_name: "check" },
    ]);
    expect(playing.endedAt()).toBe(30_000);
  });
});
