import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import type { Tool, ToolContext } from "../../types/loop-options.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { createTestClock, type TestClock } from "../../../testing/test-clock.ts";
import { createToolContext } from "../../../testing/run-tool.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { createToolRegistry } from "../../tools/registry.ts";
import { executeToolCall } from "./execute-tool-call.ts";
import type { ToolCallPorts } from "../run/call.ts";

const add = defineTool({
  name: "add",
  description: "Adds",
  inputSchema: z.object({ a: z.coerce.number(), b: z.number().default(10) }),
  execute: ({ a, b }) => a + b,
});
const wait = (execute: (context: ToolContext) => unknown): Tool =>
  defineTool({ name: "wait", description: "", inputSchema: { type: "object" }, execute: (_, context) => execute(context) });

function setUp(tools: readonly Tool[], more: Partial<ToolCallPorts> = {}): ToolCallPorts & { readonly clock: TestClock } {
  const registry = createToolRegistry(tools);
  return {
    registry,
    clock: createTestClock(),
    scope: new CancelScope(),
    timeouts: { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1_000, settleMs: 100, approvalMs: 1, hookMs: 50 },
    exposed: new Map(registry.definitions().map((definition) => [definition.name, definition])),
    contextFor: ({ name }, deadline) =>
      createToolContext({
        name,
        heartbeat: () => deadline.heartbeat(),
        progress: () => {},
        get signal() {
          return deadline.signal;
        },
      }),
    ...more,
  } as ToolCallPorts & { readonly clock: TestClock };
}

const call = (name: string, args: ToolCall["args"] = {}, more: Partial<ToolCall> = {}): ToolCall => ({
  callId: "c",
  name,
  args,
  ...more,
});

describe("one tool call", () => {
  it.for<[what: string, made: ToolCall, outcome: Partial<ToolOutcome> & { readonly kind: string }]>([
    ["runs with what its schema made of the arguments", call("add", { a: "1" }), { kind: "completed", data: 11 }],
    ["is refused where its arguments do not fit", call("add", { b: "x" }), { kind: "invalid-input" }],
    ["is refused where there is no such tool", call("sum"), { kind: "unknown-tool", known: ["add"] }],
    ["is refused where its name is that of every object", call("constructor"), { kind: "unknown-tool" }],
    ["is refused where it was cut off", call("add", { a: 1 }, { problem: "truncated" }), { kind: "truncated" }],
    [
      "is refused where it is no JSON",
      call("add", {}, { problem: "malformed", argsText: '{"a": tru}' }),
      { kind: "malformed", message: expect.stringContaining("JSON") },
    ],
  ])("%s", async ([, made, outcome]) => {
    expect(await executeToolCall(made, setUp([add]))).toMatchObject({ call: made, durationMs: 0, ...outcome });
  });

  it("says nothing of a parser where its arguments turn out to be JSON", async () => {
    const outcome = await executeToolCall(call("add", {}, { problem: "malformed", argsText: "[1]" }), setUp([add]));
    expect(outcome).toEqual({ call: expect.anything(), durationMs: 0, kind: "malformed", message: undefined });
  });

  it("is blocked before anything else is looked at", async () => {
    const ports = setUp([add], { allowed: new Set(["other"]) });
    for (const made of [call("add", { a: 1 }), call("sum"), call("add", "no")]) {
      expect(await executeToolCall(made, ports)).toMatchObject({ kind: "blocked", allowed: ["other"] });
    }
    expect(await executeToolCall(call("add", { a: 1 }), setUp([add], { allowed: new Set(["add"]) }))).toMatchObject({
      kind: "completed",
    });
  });

  it("is not run once the run is over", async () => {
    const ports = setUp([add]);
    ports.scope.cancel({ kind: "stop" });
    expect(await executeToolCall(call("add", { a: 1 }), ports)).toEqual({
      call: call("add", { a: 1 }),
      durationMs: 0,
      kind: "not-run",
    });
  });

  it("tells how long it took, and how long it was waited for", async () => {
    const slow = (ms: number): Promise<readonly [ToolOutcome, number]> => {
      const ports = setUp([wait(() => new Promise((resolve) => void ports.clock.setTimeout(() => resolve("done"), ms)))]);
      const running = executeToolCall(call("wait"), ports).then((outcome) => [outcome, ports.clock.now()] as const);
      return ports.clock.advance(5_000).then(() => running);
    };
    expect(await slow(700)).toMatchObject([{ kind: "completed", durationMs: 700 }, 700]);
    expect(await slow(1_500)).toMatchObject([{ kind: "timed-out", limitMs: 1_000, durationMs: 1_000 }, 1_000]);
  });

  it("takes whatever its registry does as an outcome", async () => {
    const broken = {
      ...setUp([add]).registry,
      executeTool: () => {
        throw new Error("no registry");
      },
    };
    expect(await executeToolCall(call("add", { a: 1 }), setUp([add], { registry: broken }))).toMatchObject({
      kind: "failed",
      error: { message: "no registry" },
    });
    const unsure = {
      ...broken,
      validate: () => {
        throw new Error("no idea");
      },
    };
    expect(await executeToolCall(call("add", { a: 1 }), setUp([add], { registry: unsure }))).toMatchObject({
      kind: "invalid-input",
      issues: [{ message: "no idea" }],
    });
    const rejecting = { ...broken, validate: () => Promise.reject(new Error("no idea")) };
    expect(await executeToolCall(call("add", { a: 1 }), setUp([add], { registry: rejecting }))).toMatchObject({
      kind: "invalid-input",
      issues: [{ message: "no idea" }],
    });
  });

  it("hands the arguments on as they are where nobody can check them", async () => {
    const { registry } = setUp([add]);
    const { validate: _, ...unchecked } = registry;
    const outcome = await executeToolCall(
      call("add", { a: "1", b: 2 }),
      setUp([add], { registry: { ...unchecked, executeTool: (_name, args) => args } }),
    );
    expect(outcome).toMatchObject({ kind: "completed", data: { a: "1", b: 2 } });
  });
});
