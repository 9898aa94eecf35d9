// Requests decisions about tool calls. A call that needs a decision runs only if it is approved explicitly, within the time
// limit.

import type { Json } from "../core/types/common.ts";
import type { ApprovalDecision, Approve } from "../core/types/policies.ts";
import type { DenyingGuardrail } from "../core/types/guardrails.ts";
import type { ApprovalView } from "../core/types/tool.ts";
import { isRecord } from "./guards.ts";
import type { Deadline } from "./cancellation/deadline.ts";
import { textOrNone } from "./plain-error.ts";
import { isPlainData, toJson } from "./json.ts";

export const waitWhereNeeded: Approve = (_, { needsApproval }) => ({ kind: needsApproval ? "ask" : "approve" });

/** Adds `signal` as a getter, so that the signal is created only when it is read. */
export function withSignal<Fields extends object>(fields: Fields, deadline: Deadline): Fields & Pick<ApprovalView, "signal"> {
  const signal = { enumerable: true, get: () => deadline.signal };
  return Object.defineProperty(fields, "signal", signal) as Fields & Pick<ApprovalView, "signal">;
}

export function isApproval(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { kind, args } = value;
  if (kind === "modify") return args !== undefined && isPlainData(args);
  return kind === "approve" || kind === "deny";
}

function readGuardrail(value: unknown): { readonly guardrail?: DenyingGuardrail } {
  if (!isRecord(value) || typeof value["name"] !== "string") return {};
  const { name, endsRun } = value;
  return { guardrail: endsRun === true ? { name, endsRun } : { name } };
}

/** Copies the known fields, so that the journal gets plain data. An invalid decision denies the call. */
export function toDecision(answer: unknown): ApprovalDecision {
  const { kind, reason, args, guardrail }: { readonly [field: string]: unknown } = isRecord(answer) ? answer : {};
  if (kind === "approve" || kind === "ask") return { kind };
  if (kind === "modify" && args !== undefined) return { kind: "modify", args: toJson(args) satisfies Json };
  if (kind === "deny") return { kind: "deny", reason: textOrNone(reason), ...readGuardrail(guardrail) };
  return { kind: "deny", reason: "The approval returned no valid decision." };
}
