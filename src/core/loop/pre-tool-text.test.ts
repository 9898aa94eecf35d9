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
  ["text, and a tool after which nothing is left to say", {}, true],
  ["no text", { text: "" }, false],
  ["blanks", { text: " \n\t" }, false],
  ["no call", { calls: [] }, false],
  ["no call, of a family whose text is the answer", { calls: [], family: "novelai" }, false],
  ["another tool", { calls: [done("other")] }, false],
  ["another tool, of a family whose text is the answer", { calls: [done("other")], family: "novelai" }, true],
  ["a tool that needs no follow-up", { calls: [quiet] }, true],
  ["tools of both kinds", { calls: [memory, quiet] }, true],
  ["one tool that needs a follow-up", { calls: [memory, quiet, done("other")] }, false],
  ["a restart", { calls: [restarted] }, false],
  ["a restart of a family whose text is the answer", { calls: [memory, restarted], family: "novelai" }, false],
  ...(["interrupted", "not-run", "limit", "truncated", "denied", "malformed"] as const).map(
    (kind): [string, Partial<FinishedIteration>, boolean] => [
      `a call that ended as ${kind}`,
      { calls: [memory, ended(kind)], family: "novelai" },
      false,
    ],
  ),
  ["a family that the policy names", { calls: [done("other")], family: "x" }, true, { endAfterTextFamilies: ["x"] }],
  ["a family that it does not name", { calls: [done("other")], family: "novelai" }, false, { endAfterTextFamilies: ["x"] }],
  ["no family", { calls: [done("other")] }, false, { endAfterTextFamilies: ["undefined", ""] }],
  ["a tool that the policy names", { calls: [done("other")] }, true, { suppressFollowUpAfterText: ["other"] }],
  ["a tool that it does not name", {}, false, { suppressFollowUpAfterText: [] }],
  ["no policy", { family: "novelai" }, false, {}],
  ["no policy, and a tool that needs no follow-up", { calls: [quiet] }, true, {}],
])("%s", ([, iteration, ends, policy = named]) => {
  expect(shouldEndAfterPreToolText({ text: "Noted.", family: undefined, calls: [memory], ...iteration }, policy)).toBe(ends);
});
