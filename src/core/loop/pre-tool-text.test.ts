import { expect, it } from "vitest";
import type { PreToolTextPolicy } from "../types/policies.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { type FinishedIteration, shouldEndAfterPreToolText } from "./state/apply-call.ts";

type Calls = FinishedIteration["calls"];

const call = (name: string) => ({ callId: name, name, args: {} });
const done = (name: string): Calls[number] => ({ outcome: { call: call(name), durationMs: 0, kind: "completed", data: null } });
const ended = (kind: "interrupted" | "not-run" | "limit" | "truncated" | "denied" | "malformed"): Calls[number] => {
  const outcome: ToolOutcome = { call: call("update_short_term_memory"), durationMs: 0, kind };
  return { outcome };
};
const memory = done("update_short_term_memory");
const restarted = { ...memory, restart: { suffix: "x", disableTools: [] } };
const quiet = { ...done("other"), needsNoFollowUp: true };

const named: PreToolTextPolicy = {
  endAfterTextFamilies: ["novelai"],
  suppressFollowUpAfterText: ["update_short_term_memory"],
};

it.for<[title: string, iteration: Partial<FinishedIteration>, ends: boolean, policy?: PreToolTextPolicy]>([
  ["returns true for text and a call of a tool in suppressFollowUpAfterText", {}, true],
  ["returns false without text", { text: "" }, false],
  ["returns false for blank text", { text: " \n\t" }, false],
  ["returns false if there are no tool calls", { calls: [] }, false],
  [
    "returns false if there are no tool calls, even for a family in endAfterTextFamilies",
    { calls: [], family: "novelai" },
    false,
  ],
  ["returns false for a tool that is not in suppressFollowUpAfterText", { calls: [done("other")] }, false],
  ["returns true for any tool if the family is in endAfterTextFamilies", { calls: [done("other")], family: "novelai" }, true],
  ["returns true for a tool that needs no follow-up", { calls: [quiet] }, true],
  ["returns true if each tool is in suppressFollowUpAfterText or needs no follow-up", { calls: [memory, quiet] }, true],
  ["returns false if one of the tools needs a follow-up", { calls: [memory, quiet, done("other")] }, false],
  ["returns false if a call restarted the context", { calls: [restarted] }, false],
  [
    "returns false if a call restarted the context, even for a family in endAfterTextFamilies",
    { calls: [memory, restarted], family: "novelai" },
    false,
  ],
  ...(["interrupted", "not-run", "limit", "truncated", "denied", "malformed"] as const).map(
    (kind): [string, Partial<FinishedIteration>, boolean] => [
      `returns false for a call with the outcome "${kind}"`,
      { calls: [memory, ended(kind)], family: "novelai" },
      false,
    ],
  ),
  [
    "returns true if the policy lists only the family of the provider",
    { calls: [done("other")], family: "x" },
    true,
    { endAfterTextFamilies: ["x"] },
  ],
  [
    "returns false if the policy lists only another family",
    { calls: [done("other")], family: "novelai" },
    false,
    { endAfterTextFamilies: ["x"] },
  ],
  [
    "returns false for a provider without a family",
    { calls: [done("other")] },
    false,
    { endAfterTextFamilies: ["undefined", ""] },
  ],
  [
    "returns true if the policy lists only the called tool",
    { calls: [done("other")] },
    true,
    { suppressFollowUpAfterText: ["other"] },
  ],
  ["returns false if the policy lists no tool", {}, false, { suppressFollowUpAfterText: [] }],
  ["returns false if the policy is empty", { family: "novelai" }, false, {}],
  ["returns true if the policy is empty and the tool needs no follow-up", { calls: [quiet] }, true, {}],
])("shouldEndAfterPreToolText: %s", ([, iteration, ends, policy = named]) => {
  expect(shouldEndAfterPreToolText({ text: "Noted.", family: undefined, calls: [memory], ...iteration }, policy)).toBe(ends);
});
