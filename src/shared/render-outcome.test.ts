import { describe, expect, it } from "vitest";
import type { ToolOutcome } from "../core/types/tool-outcome.ts";
import { countsAsError, renderOutcome } from "./to-outcome.ts";

type Kind = ToolOutcome["kind"];
type Ending = ToolOutcome extends infer Outcome
  ? Outcome extends ToolOutcome
    ? Omit<Outcome, "call" | "durationMs">
    : never
  : never;

function outcomeOf(ending: Ending, name = "search"): ToolOutcome {
  return { ...ending, call: { callId: "c1", name, args: {} }, durationMs: 5 };
}

describe("renderOutcome", () => {
  it.for<[what: string, ending: Ending, read: unknown]>([
    ["completed with data", { kind: "completed", data: { city: "Oslo" }, endTurn: true }, { city: "Oslo" }],
    ["completed without data", { kind: "completed", data: null }, null],
    [
      "failed",
      {
        kind: "failed",
        error: { name: "TypeError", message: "no such row", cause: { name: "Error", message: "inner" } },
        fatal: true,
      },
      { status: "tool_execution_failed", reason: "no such row", tool_name: "search" },
    ],
    [
      "failed with an empty message",
      { kind: "failed", error: { name: "AbortError", message: "" } },
      { status: "tool_execution_failed", reason: "AbortError", tool_name: "search" },
    ],
    [
      "timed-out",
      { kind: "timed-out", limitMs: 5_000 },
      { status: "tool_execution_failed", reason: "timed out after 5000 ms", tool_name: "search" },
    ],
    [
      "blocked",
      { kind: "blocked", allowed: ["get_time"] },
      { status: "blocked_by_deliberate_tool_mode", functionName: "search", allowedToolNames: ["get_time"] },
    ],
    [
      "denied with a reason",
      { kind: "denied", reason: "not today" },
      { status: "denied", reason: "not today", tool_name: "search" },
    ],
    ["denied without a reason", { kind: "denied" }, { status: "denied", tool_name: "search" }],
    [
      "unknown-tool with a similar tool",
      { kind: "unknown-tool", known: ["research", "get_time"], nearest: "research" },
      {
        status: "unknown_tool",
        reason: 'There is no tool "search". Did you mean "research"?',
        tool_name: "search",
        available_tools: ["research", "get_time"],
      },
    ],
    [
      "unknown-tool without other tools",
      { kind: "unknown-tool", known: [] },
      { status: "unknown_tool", reason: 'There is no tool "search".', tool_name: "search", available_tools: [] },
    ],
    [
      "invalid-input",
      {
        kind: "invalid-input",
        issues: [
          { message: "too short", path: ["city"] },
          { message: "not whole", path: ["list", 0, "n"] },
          { message: "no object", path: [] },
        ],
      },
      { status: "invalid_input", reason: "city: too short; list.0.n: not whole; no object", tool_name: "search" },
    ],
    [
      "malformed with a message",
      { kind: "malformed", message: "Unexpected end of JSON input" },
      { status: "malformed_arguments", reason: "Unexpected end of JSON input", tool_name: "search" },
    ],
    [
      "malformed without a message",
      { kind: "malformed" },
      { status: "malformed_arguments", reason: "the arguments are not valid JSON", tool_name: "search" },
    ],
    [
      "truncated",
      { kind: "truncated" },
      { status: "truncated", reason: expect.stringContaining("was not run"), tool_name: "search" },
    ],
    [
      "interrupted",
      { kind: "interrupted" },
      { status: "interrupted", reason: expect.stringContaining("it may have run"), tool_name: "search" },
    ],
    ["not-run", { kind: "not-run" }, { status: "not_run", reason: expect.stringContaining("ended before"), tool_name: "search" }],
    [
      "limit",
      { kind: "limit" },
      { status: "limit", reason: expect.stringContaining("limit of tool calls"), tool_name: "search" },
    ],
  ])("describes the outcome to the model: %s", ([, ending, read]) => {
    expect(renderOutcome(outcomeOf(ending))).toStrictEqual(read);
  });

  it("shortens a tool name of a million characters", () => {
    const name = `${"x".repeat(1_000_000)}\n`;
    const unknown = JSON.stringify(renderOutcome(outcomeOf({ kind: "unknown-tool", known: ["search"] }, name)));
    const blocked = JSON.stringify(renderOutcome(outcomeOf({ kind: "blocked", allowed: [] }, name)));
    expect([unknown.length < 300, blocked.length < 300]).toEqual([true, true]);
  });
});

describe("countsAsError", () => {
  const counting: readonly Kind[] = ["failed", "timed-out", "blocked", "unknown-tool", "invalid-input", "malformed", "truncated"];
  const others: readonly Kind[] = ["completed", "denied", "interrupted", "not-run", "limit"];

  it.for(counting)('is true for the outcome "%s"', (kind) => {
    expect(countsAsError(kind)).toBe(true);
  });

  it.for(others)('is false for the outcome "%s"', (kind) => {
    expect(countsAsError(kind)).toBe(false);
  });
});
