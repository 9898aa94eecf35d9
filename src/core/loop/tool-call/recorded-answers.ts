// What the steps of a call keep besides its outcome, and which outcome that gives the call.

import type { ApprovalDecision } from "../../types/policies.ts";
import type { ShownTool, ToolChange } from "../../types/tool-change.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/assert-never.ts";
import type { Cancelled, FailedApproval } from "../../policies/approval.ts";
import type { ReadyCall } from "../run/prepared-call.ts";

/** A question that nobody could answer in the execution that asked it. */
export interface OpenQuestion {
  readonly kind: "ask";
  readonly token: string;
  /** What was shown of the tool: a decision holds for that. */
  readonly tool: ShownTool;
  /** What had changed since the question before. */
  readonly changes?: readonly ToolChange[];
  /** How many questions about the call came before; absent for none. */
  readonly earlier?: number;
  /** The decision that is not used, because it was about the question before. */
  readonly passed?: ApprovalDecision;
  /** Set if the call does not fit into `maxToolCalls`, so that no decision is taken. */
  readonly isBeyond?: true | undefined;
}

/** The name of a question in the option `decisions`: a decision about one question is never taken for another one. */
export function questionId(callId: string, earlier = 0): string {
  return earlier === 0 ? callId : `${callId}#${earlier + 1}`;
}

/** What the journal keeps: a decision, why there is none, or a question that is open. */
export type RecordedDecision =
  /** `tool` is what it is about, where that is not the tool of the iteration. */
  | (Extract<ApprovalDecision, { kind: "approve" | "modify" }> & { readonly tool?: ShownTool })
  | Extract<ApprovalDecision, { kind: "deny" }>
  | Cancelled
  | FailedApproval
  /** The call does not fit its tool as it is now. */
  | { readonly kind: "refused"; readonly outcome: ToolOutcome }
  | OpenQuestion;

/** What settles a question. */
export type FinalDecision = Exclude<RecordedDecision, OpenQuestion>;

/** What became of a call's arguments; "cut" where the run was ended meanwhile. */
export type Verdict = { readonly kind: "fits" | "cut" } | { readonly kind: "refused"; readonly outcome: ToolOutcome };

/** How a call that is a run began: the run was started, the call is over without one, or somebody has to decide about it first. */
export type BegunRecord =
  | { readonly kind: "begun" }
  | { readonly kind: "over"; readonly outcome: ToolOutcome }
  | { readonly kind: "must-ask"; readonly mustAsk: NonNullable<ReadyCall["mustAsk"]> };

/** The outcome of a call that a decision keeps from running; undefined for one that may run. */
export function refusedBy(decision: FinalDecision, call: ToolCall): ToolOutcome | undefined {
  switch (decision.kind) {
    case "approve":
    case "modify":
      return undefined;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: decision.reason };
    case "failed":
      return { call, durationMs: 0, kind: "approval-failed", error: decision.error };
    case "refused":
      return decision.outcome;
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(decision);
  }
}

/** The outcome of a call whose arguments keep it from running. What was cut off never runs. */
export function unfitBy(verdict: Verdict | undefined, call: ToolCall): ToolOutcome | undefined {
  switch (verdict?.kind) {
    case "refused":
      return verdict.outcome;
    case "cut":
      return { call, durationMs: 0, kind: "not-run" };
    case "fits":
    case undefined:
      return undefined;
    default:
      return assertNever(verdict);
  }
}
