import { expect, it } from "vitest";
import type { Json } from "../types/common.ts";
import type { RestartPolicy } from "../types/middleware-options.ts";
import type { ContextRestart, ToolOutcome } from "../types/tool-outcome.ts";
import { detectContextRestart } from "./context-restart.ts";

const call = { callId: "c", name: "t", args: {} };
const of = (data: Json): ToolOutcome => ({ call, durationMs: 0, kind: "completed", data, restart: true });
const effects: RestartPolicy["effects"] = { profile: ["lookup"] };

it.for<[title: string, data: Json, restart: ContextRestart | undefined]>([
  [
    "returns the suffix and the tools that contextRestarts disables for the suffix",
    { type: "context_restart_profile" },
    { suffix: "profile", item: undefined, disableTools: ["lookup"] },
  ],
  ["accepts an empty suffix", { type: "context_restart_" }, { suffix: "", item: undefined, disableTools: [] }],
  [
    "returns the item and the disabled tools, and drops tool names that are not strings",
    { type: "context_restart_x", enhanced_context_item: { a: 1 }, disable_tools: ["a", 7, "b"] },
    { suffix: "x", item: { a: 1 }, disableTools: ["a", "b"] },
  ],
  [
    "joins the disabled tools from the policy and from the data",
    { type: "context_restart_profile", enhanced_context_item: [1], disable_tools: ["a"] },
    { suffix: "profile", item: [1], disableTools: ["lookup", "a"] },
  ],
  [
    "ignores an item that is a string",
    { type: "context_restart_x", enhanced_context_item: "text" },
    { suffix: "x", item: undefined, disableTools: [] },
  ],
  [
    "accepts the suffix toString",
    { type: "context_restart_toString" },
    { suffix: "toString", item: undefined, disableTools: [] },
  ],
  ["returns undefined for data of a different type", { type: "restart" }, undefined],
  ["returns undefined for a type that is a number", { type: 7 }, undefined],
  ["returns undefined without a type", { kind: "context_restart_x" }, undefined],
  ["returns undefined for an array", ["context_restart_x"], undefined],
  ["returns undefined for a string", "context_restart_x", undefined],
  ["returns undefined for null", null, undefined],
])("detectContextRestart: %s", ([, data, restart]) => {
  expect(detectContextRestart(of(data), { effects })).toEqual(restart);
});

it("detectContextRestart: detects a restart without a policy, but not in a failed call", () => {
  const failed: ToolOutcome = { call, durationMs: 0, kind: "failed", error: { name: "E", message: "context_restart_x" } };
  expect(detectContextRestart(failed, undefined)).toBeUndefined();
  expect(detectContextRestart(of({ type: "context_restart_profile" }), undefined)?.disableTools).toEqual([]);
});

it("detectContextRestart: ignores restart data if the outcome lacks restart: true", () => {
  const outcome: ToolOutcome = { call, durationMs: 0, kind: "completed", data: { type: "context_restart_x", restart: true } };
  expect(detectContextRestart(outcome, { effects })).toBeUndefined();
});
