import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import type { Tool, ToolContext } from "../types/loop-options.ts";
import { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { createTestClock, type TestClock } from "../../testing/test-clock.ts";
import { createToolContext } from "../../testing/run-tool.ts";
import { defineTool } from "../tools/define-tool.ts";
import { createToolRegistry } from "../tools/registry.ts";
import { executeToolCall, type ToolCallPorts } from "./execute-tool-call.ts";

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
    timeouts: { streamIdleMs: 1, firstChunkMs: 1, toolMs: 1_000, toolCleanupMs: 100, approvalMs: 1, callbackMs: 50 },
    advice: { given: 0, listed: 0 },
    shown: new Map(registry.definitions().map((definition) => [definition.name, definition])),
    contextFor: ({ name }, deadline) =>
      createToolContext({
        name,
        heartbeat: () => deadline.heartbeat(),
        progress: () => {},
        emit: () => {},
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

describe("executeToolCall", () => {
  it.for<[what: string, made: ToolCall, outcome: Partial<ToolOutcome> & { readonly kind: string }]>([
    ["runs the tool with the arguments that the tool's schema returns", call("add", { a: "1" }), { kind: "completed", data: 11 }],
    [
      "runs a call with an additional field",
      Object.assign(call("add", { a: 1 }), { kind: "function" }),
      { kind: "completed", data: 11 },
    ],
    ["rejects arguments that do not match the schema", call("add", { b: "x" }), { kind: "invalid-input" }],
    ["rejects an unknown tool", call("sum"), { kind: "unknown-tool", known: ["add"] }],
    ["rejects an unknown tool named constructor", call("constructor"), { kind: "unknown-tool" }],
    ["rejects a cut-off call", call("add", { a: 1 }, { problem: "truncated" }), { kind: "truncated" }],
    [
      "rejects arguments that are not JSON",
      call("add", {}, { problem: "malformed", argsText: '{"a": tru}' }),
      { kind: "malformed", message: expect.stringContaining("JSON") },
    ],
  ])("%s", async ([, made, outcome]) => {
    expect(await executeToolCall(made, setUp([add]))).toMatchObject({ call: made, durationMs: 0, ...outcome });
  });

  it("reports malformed arguments without the parser's message if the text is valid JSON", async () => {
    const outcome = await executeToolCall(call("add", {}, { problem: "malformed", argsText: "[1]" }), setUp([add]));
    expect(outcome).toEqual({ call: expect.anything(), durationMs: 0, kind: "malformed", message: undefined });
  });

  it("blocks a call to a forbidden tool, even if the tool is unknown or the arguments are invalid", async () => {
    const ports = setUp([add], { allowed: new Set(["other"]) });
    for (const made of [call("add", { a: 1 }), call("sum"), call("add", "no")]) {
      expect(await executeToolCall(made, ports)).toMatchObject({ kind: "blocked", allowed: ["other"] });
    }
    expect(await executeToolCall(call("add", { a: 1 }), setUp([add], { allowed: new Set(["add"]) }))).toMatchObject({
      kind: "completed",
    });
  });

  it("does not run the tool after the run was stopped", async () => {
    const ports = setUp([add]);
    ports.scope.cancel({ kind: "stop" });
    expect(await executeToolCall(call("add", { a: 1 }), ports)).toEqual({
      call: call("add", { a: 1 }),
      durationMs: 0,
      kind: "not-run",
    });
  });

  it("reports the duration of every call, even of a call that timed out", async () => {
    const slow = (ms: number): Promise<readonly [ToolOutcome, number]> => {
      const ports = setUp([wait(() => new Promise((resolve) => void ports.clock.setTimeout(() => resolve("done"), ms)))]);
      const running = executeToolCall(call("wait"), ports).then((outcome) => [outcome, ports.clock.now()] as const);
      return ports.clock.advance(5_000).then(() => running);
    };
    expect(await slow(700)).toMatchObject([{ kind: "completed", durationMs: 700 }, 700]);
    expect(await slow(1_500)).toMatchObject([{ kind: "timed-out", limitMs: 1_000, durationMs: 1_000 }, 1_000]);
  });

  it("turns errors that the registry throws into outcomes", async () => {
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

  it("passes the arguments on unchanged if the registry has no validate()", async () => {
    const { registry } = setUp([add]);
    const { validate: _, ...unchecked } = registry;
    const outcome = await executeToolCall(
      call("add", { a: "1", b: 2 }),
      setUp([add], { registry: { ...unchecked, executeTool: (_name, args) => args } }),
    );
    expect(outcome).toMatchObject({ kind: "completed", data: { a: "1", b: 2 } });
  });
});
