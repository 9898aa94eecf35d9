// Calls the tool checks before the approval of the run.

import { type ApprovalDecision, type Approve, describeValue, isRecord, textOrNone, toJson } from "../core/entry-kit.ts";
import type { ToolCheck } from "./checks.ts";

/**
 * Returns an approval that calls the checks in order, and then `approve` with the rewritten arguments. The
 * approval throws if a call with rewritten arguments would have to wait for a decision.
 */
export function approveWithChecks(checks: readonly ToolCheck[], approve: Approve = waitIfNeeded): Approve {
  return async (call, context) => {
    let checked = call;
    let rewriter = "";
    for (const { name, check } of checks) {
      const verdict: unknown = await check({ ...checked, args: toJson(checked.args) }, context);
      const { kind, reason, args, endsRun } = isRecord(verdict) ? verdict : {};
      if (kind === "refuse") {
        const guardrail = endsRun === true ? ({ name, endsRun } as const) : { name };
        return { kind: "deny", reason: textOrNone(reason), guardrail };
      }
      if (kind === "rewrite" && args !== undefined) {
        checked = { ...checked, args: toJson(args) };
        rewriter = name;
      } else if (kind !== "pass") throw refuseVerdict(name, verdict);
    }
    const decision = await approve(checked, context);
    if (checked === call) return decision;
    // A waiting call keeps the arguments of the model, so a later approval would undo the rewrite.
    if (decision.kind === "ask") throw refuseWaiting(rewriter);
    return decision.kind === "approve" ? { kind: "modify", args: checked.args } : decision;
  };
}

const waitIfNeeded: Approve = (_, { needsApproval }): ApprovalDecision => ({ kind: needsApproval ? "ask" : "approve" });

function refuseVerdict(name: string, verdict: unknown): TypeError {
  const expected = '"pass", "refuse" or "rewrite" (with "args")';
  return new TypeError(
    `The tool check "${name}" must return an object whose "kind" is ${expected}, but returned ${describeValue(verdict)}.`,
  );
}

function refuseWaiting(name: string): Error {
  return new Error(
    `The tool check "${name}" rewrote the arguments of a call that must wait for a decision. Refuse such a call, or approve it in "policies.approve".`,
  );
}
