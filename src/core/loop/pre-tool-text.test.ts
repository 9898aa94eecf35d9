import { expect, it } from "vitest";
import type { PreToolTextPolicy } from "../types/policies.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";
import { type FinishedIteration, shouldEndAfterPreToolText } from "./next-step.ts";

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
  ["is true for text and a tool of suppressFollowUpAfterText", {}, true],
  ["is false without text", { text: "" }, false],
  ["is false for blank text", { text: " \n\t" }, false],
  ["is false without a call", { calls: [] }, false],
  ["is false without a call for a family of endAfterTextFamilies", { calls: [], family: "novelai" }, false],
  ["is false for another tool", { calls: [done("other")] }, false],
  ["is true for another tool and a family of endAfterTextFamilies", { calls: [done("other")], family: "novelai" }, true],
  ["is true for a tool that needs no follow-up", { calls: [quiet] }, true],
  ["is true if all tools are listed or need no follow-up", { calls: [memory, quiet] }, true],
  ["is false if one tool needs a follow-up", { calls: [memory, quiet, done("other")] }, false],
  ["is false for a context restart", { calls: [restarted] }, false],
  [
    "is false for a context restart in a family of endAfterTextFamilies",
    { calls: [memory, restarted], family: "novelai" },
    false,
  ],
  ...(["interrupted", "not-run", "limit", "truncated", "denied", "malformed"] as const).map(
    (kind): [string, Partial<FinishedIteration>, boolean] => [
      `is false for a call that ended as ${kind}`,
      { calls: [memory, ended(kind)], family: "novelai" },
      false,
    ],
  ),
  ["is true for a family that the policy names", { calls: [done("other")], family: "x" }, true, { endAfterTextFamilies: ["x"] }],
  [
    "is false for a family that the policy does not name",
    { calls: [done("other")], family: "novelai" },
    false,
    { endAfterTextFamilies: ["x"] },
  ],
  ["is false for a provider without a family", { calls: [done("other")] }, false, { endAfterTextFamilies: ["undefined", ""] }],
  ["is true for a tool that the policy names", { calls: [done("other")] }, true, { suppressFollowUpAfterText: ["other"] }],
  ["is false for a tool that the policy does not name", {}, false, { suppressFollowUpAfterText: [] }],
  ["is false without a policy", { family: "novelai" }, false, {}],
  ["is true without a policy if the tool needs no follow-up", { calls: [quiet] }, true, {}],
])("shouldEndAfterPreToolText: %s", ([, iteration, ends, policy = named]) => {
  expect(shouldEndAfterPreToolText({ text: "Noted.", family: undefined, calls: [memory], ...iteration }, policy)).toBe(ends);
});
