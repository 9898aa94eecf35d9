// Calls the tool checks before the approval of the run.

import {
  type ApprovalContext,
  type ApprovalDecision,
  type Approve,
  describeValue,
  isRecord,
  isSameJson,
  type Json,
  textOrNone,
  toJson,
  type ToolCall,
  waitWhereNeeded,
} from "../core/entry-kit.ts";
import type { ToolCheck } from "./checks.ts";

/**
 * Returns an approval that asks the checks in order, and then `approve` with the arguments that the checks have rewritten. Arguments
 * that `approve` has edited are checked again. The approval throws if a call with rewritten arguments would have to wait for a
 * decision.
 */
export function approveWithChecks(checks: readonly ToolCheck[], approve: Approve = waitWhereNeeded): Approve {
  return async (call, context) => {
    const checked = await checkCall(checks, call, context);
    if (checked.denial !== undefined) return checked.denial;
    const { args, rewriter } = checked;
    const decision = await approve(rewriter === undefined ? call : { ...call, args }, context);
    if (decision.kind === "modify" && !isSameJson(toJson(decision.args), args)) {
      const edited = await checkCall(checks, { ...call, args: toJson(decision.args) }, context);
      return edited.denial ?? { kind: "modify", args: edited.args };
    }
    if (rewriter === undefined) return decision;
    // A waiting call shows and keeps the arguments of the model, so a later approval would undo the rewrite.
    if (decision.kind === "ask") throw refuseWaiting(rewriter);
    return decision.kind === "approve" ? { kind: "modify", args } : decision;
  };
}

interface CheckedCall {
  readonly args: Json;
  /** The last check that has rewritten the arguments. */
  readonly rewriter: string | undefined;
  readonly denial?: Extract<ApprovalDecision, { readonly kind: "deny" }>;
}

/** Returns the arguments that the checks have left, or the denial of the first check that refuses them. */
async function checkCall(checks: readonly ToolCheck[], call: ToolCall, context: ApprovalContext): Promise<CheckedCall> {
  let { args } = call;
  let rewriter: string | undefined;
  for (const { name, check } of checks) {
    const verdict: unknown = await check({ ...call, args: toJson(args) }, context);
    const { kind, reason, args: written, endsRun } = isRecord(verdict) ? verdict : {};
    if (kind === "refuse") {
      const guardrail = endsRun === true ? ({ name, endsRun } as const) : { name };
      return { args, rewriter, denial: { kind: "deny", reason: textOrNone(reason), guardrail } };
    }
    if (kind === "rewrite" && written !== undefined) {
      args = toJson(written);
      rewriter = name;
    } else if (kind !== "pass") throw refuseVerdict(name, verdict);
  }
  return { args, rewriter };
}

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
