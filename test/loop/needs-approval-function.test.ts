import { describe, expect, it } from "vitest";
import { z } from "zod";
import { approve, createToolRegistry, defineTool, type Json, type Tool } from "turnwright";
import type { NeedsApproval } from "../../src/core/types/tool.ts";
import { text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "./play.ts";

describe("needsApproval as a function", () => {
  const inputSchema = z.object({ amount: z.coerce.number().default(900), at: z.string().transform((day) => new Date(day)) });
  const call = (args: Readonly<Record<string, Json>>): ReturnType<typeof toolCall> =>
    toolCall("pay", { at: "2026-01-01", ...args });

  it("receives the same arguments as execute, and a read-only view of the call", async () => {
    const seen: unknown[] = [];
    const pay = defineTool({
      name: "pay",
      description: "pay",
      inputSchema,
      needsApproval: ({ amount, at }, { callId, name, iteration, messages, context }) => {
        seen.push([amount, at.getUTCFullYear(), callId, name, iteration, messages.length, context]);
        return amount > 50;
      },
      execute: ({ amount }) => amount,
    });
    const { result } = play([[call({ amount: "9" }), call({})], text("Done.")], {
      tools: [pay],
      middleware: [approve()],
      context: "mine",
    });
    expect((await result).reason).toMatchObject({ kind: "approval-required", calls: [{ callId: "call_i0_1" }] });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: completed", "call_i0_1: awaiting-approval"]);
    expect(seen).toEqual([
      [9, 2026, "call_i0_0", "pay", 0, 2, "mine"],
      [900, 2026, "call_i0_1", "pay", 0, 2, "mine"],
    ]);
  });

  it("receives a copy of the arguments, so edits do not change the call", async () => {
    const pay = defineTool({
      name: "pay",
      description: "pay",
      inputSchema,
      needsApproval: (args) => {
        args.amount = 0;
        return false;
      },
      execute: ({ amount }) => amount,
    });
    const plain = tool("plain", (args) => (args as { amount: number }).amount, {
      needsApproval: (args: { amount: number }) => {
        args.amount = 0;
        return false;
      },
    });
    const script = [[call({ amount: 7 }), toolCall("plain", { amount: 8 })], text("Done.")];
    const result = await play(script, { tools: [pay, plain], middleware: [approve()] }).result;
    expect(result.functionHistory.map(({ functionResponse }) => functionResponse.response.result)).toEqual([7, 8]);
  });

  it("fails its call if it takes longer than timeouts.callbackMs", async () => {
    let aborted = false;
    const pay = tool("pay", () => "paid", {
      needsApproval: (_: unknown, { signal }: { signal: AbortSignal }) => {
        signal.addEventListener("abort", () => (aborted = true));
        return new Promise<boolean>(() => {});
      },
    });
    const playing = play([toolCall("pay"), text("Done.")], {
      tools: [pay],
      middleware: [approve()],
      timeouts: { callbackMs: 2_000 },
    });
    await playing.clock.advance(1_999);
    expect(aborted).toBe(false);
    await playing.clock.advance(1);
    const result = await playing.result;
    expect([result.text, outcomesOf(result), aborted]).toEqual(["Done.", ["call_i0_0: approval-failed"], true]);
  });

  it("is not called for arguments that fail a second validation", async () => {
    let checks = 0;
    const once = inputSchema.refine(() => (checks += 1) === 1);
    const never = { name: "pay", description: "pay", inputSchema: once, needsApproval: () => false, execute: () => 1 };
    const { result } = play([call({}), text("Done.")], { tools: [defineTool(never)], middleware: [approve()] });
    expect(outcomesOf(await result)).toEqual(["call_i0_0: awaiting-approval"]);
  });

  it("decides about the tool that was shown, so the call does not run if the tool is replaced after the decision", async () => {
    const seen: unknown[] = [];
    const { registry, swap } = changingTools((args) => {
      seen.push(args);
      return args.amount > 50;
    });
    const playing = play([toolCall("pay", { amount: 7 }), text("Done.")], { tools: registry, middleware: [approve()] });
    playing.recording.emitter.once("approval-decided", swap);
    const result = await playing.result;
    expect([result.text, outcomesOf(result), seen]).toEqual(["Done.", ["call_i0_0: invalid-input"], [{ amount: 7 }]]);
    expect(JSON.stringify(answersOf(result))).toContain("the tool changed after this call was made");
  });
});

function changingTools(needsApproval: NeedsApproval<{ amount: number }>): {
  readonly registry: ReturnType<typeof createToolRegistry>;
  readonly swap: () => void;
} {
  const registry = createToolRegistry();
  const pay = (description: string, factor: number): Tool =>
    defineTool({
      name: "pay",
      description,
      inputSchema: z.object({ amount: z.number().transform((amount) => amount * factor) }),
      jsonSchema: { type: "object", properties: { amount: { type: "number" } } },
      needsApproval,
      execute: ({ amount }) => amount,
    });
  registry.register(pay("in euros", 1));
  const swap = (): void => {
    registry.unregister("pay");
    registry.register(pay("in cents", 100));
  };
  return { registry, swap };
}
