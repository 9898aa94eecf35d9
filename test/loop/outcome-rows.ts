import { expect } from "vitest";
import { z } from "zod";
import {
  approve,
  contextRestart,
  defineTool,
  FatalToolError,
  gateTools,
  type Json,
  type LoopOptions,
  type Tool,
  type ToolOutcome,
  toolResult,
} from "turnwright";
import { finish, type MockPart, toolCall } from "turnwright/testing";
import { never, tool } from "./play.ts";

export interface OutcomeRow {
  readonly kind: ToolOutcome["kind"] | "restarted";
  readonly reads: Json;
  readonly part?: MockPart;
  readonly end?: MockPart;
  readonly tool?: Tool;
  readonly options?: Partial<LoopOptions>;
  readonly stopAfterMs?: number;
  readonly history?: false;
}

const city = defineTool({
  name: "work",
  description: "",
  inputSchema: z.object({ city: z.string(), days: z.number().int().max(7).optional() }),
  execute: () => 1,
});
const gate = (...allowedNames: readonly string[]): Partial<LoopOptions> => ({
  middleware: [gateTools({ active: true, allowedNames })],
});
const failed = (reason: string): Json => ({ status: "tool_execution_failed", reason, tool_name: "work" });
const notRun: Json = { status: "not_run", reason: "the run ended before this call started", tool_name: "work" };

export const outcomeRows: { readonly [title: string]: OutcomeRow } = {
  "a returned value": { kind: "completed", tool: tool("work", () => ({ celsius: 7 })), reads: { celsius: 7 } },
  "a result with content": {
    kind: "completed",
    tool: tool("work", () => toolResult({ data: "seen", content: [{ type: "text", text: "below" }] })),
    reads: "seen",
  },
  "a result with a message but no data": {
    kind: "completed",
    tool: tool("work", () => toolResult({ message: "Sent." })),
    reads: "Sent.",
  },
  "a context restart": {
    kind: "restarted",
    tool: tool("work", () => contextRestart({ type: "context_restart_x" })),
    reads: { status: "context_restarted" },
    history: false,
  },
  "a thrown error": {
    kind: "failed",
    tool: tool("work", () => Promise.reject(new Error("out of order"))),
    reads: failed("out of order"),
  },
  "a thrown string": { kind: "failed", tool: tool("work", () => Promise.reject("no more")), reads: failed("no more") },
  "an error without a message": {
    kind: "failed",
    tool: tool("work", () => Promise.reject(new TypeError())),
    reads: failed("TypeError"),
  },
  "a failed result": {
    kind: "failed",
    tool: tool("work", () => toolResult({ success: false, error: "E7" })),
    reads: failed("E7"),
  },
  "a failed result with a message": {
    kind: "failed",
    tool: tool("work", () => toolResult({ success: false, error: "E7", message: "The inbox is full." })),
    reads: failed("The inbox is full."),
  },
  "a FatalToolError": {
    kind: "failed",
    tool: tool("work", () => Promise.reject(new FatalToolError("gone"))),
    reads: failed("gone"),
  },
  "a result that is not JSON": {
    kind: "failed",
    tool: tool("work", () => 7n),
    reads: failed("The tool's result cannot be written as JSON: a BigInt."),
  },
  "a tool that takes too long": {
    kind: "timed-out",
    tool: tool("work", () => never, { timeoutMs: 30 }),
    reads: failed("timed out after 30 ms"),
  },
  "a blocked tool": {
    kind: "blocked",
    options: gate("other", "third"),
    reads: { status: "blocked_by_deliberate_tool_mode", functionName: "work", allowedToolNames: ["other", "third"] },
  },
  "a tool blocked by an empty allowlist": {
    kind: "blocked",
    options: gate(),
    reads: { status: "blocked_by_deliberate_tool_mode", functionName: "work", allowedToolNames: [] },
  },
  "a blocked tool that does not exist": {
    kind: "blocked",
    part: toolCall("wrok", {}),
    options: gate("other"),
    reads: { status: "blocked_by_deliberate_tool_mode", functionName: "wrok", allowedToolNames: ["other"] },
  },
  "a blocked tool with wrong arguments": {
    kind: "blocked",
    tool: city,
    part: toolCall("work", { city: 7 }),
    options: gate("other"),
    reads: { status: "blocked_by_deliberate_tool_mode", functionName: "work", allowedToolNames: ["other"] },
  },
  "a denial": {
    kind: "denied",
    options: { middleware: [approve(() => ({ kind: "deny", reason: "not on Sundays" }))] },
    reads: { status: "denied", reason: "not on Sundays", tool_name: "work" },
  },
  "a denial without a reason": {
    kind: "denied",
    options: { middleware: [approve(() => ({ kind: "deny" }))] },
    reads: { status: "denied", tool_name: "work" },
  },
  "a mistyped tool name": {
    kind: "unknown-tool",
    part: toolCall("wrok"),
    reads: {
      status: "unknown_tool",
      reason: 'There is no tool "wrok". Did you mean "work"?',
      tool_name: "wrok",
      available_tools: ["work", "later"],
    },
  },
  "an unknown tool name": {
    kind: "unknown-tool",
    part: toolCall("buy_a_ship"),
    reads: {
      status: "unknown_tool",
      reason: 'There is no tool "buy_a_ship".',
      tool_name: "buy_a_ship",
      available_tools: ["work", "later"],
    },
  },
  "the tool name __proto__": {
    kind: "unknown-tool",
    part: toolCall("__proto__"),
    reads: {
      status: "unknown_tool",
      reason: 'There is no tool "__proto__".',
      tool_name: "__proto__",
      available_tools: ["work", "later"],
    },
  },
  "arguments of a wrong type": {
    kind: "invalid-input",
    tool: city,
    part: toolCall("work", { city: 7, days: 8.5 }),
    reads: {
      status: "invalid_input",
      reason: "city: Invalid input: expected string, received number; days: Invalid input: expected int, received number",
      tool_name: "work",
    },
  },
  "arguments that are an array": {
    kind: "invalid-input",
    tool: city,
    part: toolCall("work", ["Oslo"]),
    reads: { status: "invalid_input", reason: "Invalid input: expected object, received array", tool_name: "work" },
  },
  "arguments that are an empty string": {
    kind: "invalid-input",
    tool: city,
    part: toolCall("work", {}, { rawArgs: "" }),
    reads: { status: "invalid_input", reason: "city: Invalid input: expected string, received undefined", tool_name: "work" },
  },
  "arguments that are not JSON": {
    kind: "malformed",
    part: toolCall("work", {}, { rawArgs: '{"a": tru}' }),
    reads: expect.objectContaining({ status: "malformed_arguments", reason: expect.stringMatching(/JSON/), tool_name: "work" }),
  },
  "a call in a truncated message": {
    kind: "truncated",
    end: finish("length"),
    reads: {
      status: "truncated",
      reason: "the call was cut off before it was complete, so it was not run; send a shorter call",
      tool_name: "work",
    },
  },
  "a call beyond maxToolCalls": {
    kind: "limit",
    part: toolCall("work"),
    options: { limits: { maxToolCalls: 1 } },
    reads: {
      status: "limit",
      reason: "the limit of tool calls was reached, so the call was not run; answer with the results you have",
      tool_name: "work",
    },
  },
  "a call that is running when the run is stopped": {
    kind: "interrupted",
    tool: tool("work", () => never),
    stopAfterMs: 10,
    reads: { status: "interrupted", reason: "the call was cut off before it ended, so it may have run", tool_name: "work" },
    history: false,
  },
  "a call in a refused message": { kind: "not-run", end: finish("refusal"), reads: notRun, history: false },
  "a call in a message that ends with an error": { kind: "not-run", end: finish("error"), reads: notRun, history: false },
};
