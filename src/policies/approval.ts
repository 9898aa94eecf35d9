// Asks whether a call may run. Whoever does not say yes in time and in form says no.

import type { Json } from "../contract/json.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../contract/policies.ts";
import type { ToolCall } from "../contract/tool-outcome.ts";
import { assertNever } from "../kit/assert-never.ts";
import { Deadline, type DeadlinePorts } from "../kit/deadline.ts";
import { isRecord } from "../kit/is-record.ts";
import { toPlainError } from "../kit/plain-error.ts";
import { promiseOrValue } from "../kit/promise-or-value.ts";
import { textOrNone } from "../kit/read-foreign.ts";
import { toJson } from "../kit/to-json.ts";

/** The run ended before anybody decided. */
export interface Cancelled {
  readonly kind: "cancelled";
}

/** What asking uses of a run. */
export interface ApprovalPorts extends DeadlinePorts {
  readonly approve: Approve;
  readonly approvalMs: number;
  readonly context: Omit<ApprovalContext, "signal">;
}

/** In place of a policy: nobody decides at once about a call whose tool wants a decision, so that it waits for one. */
export const waitWhereNeeded: Approve = (call, context) => {
  const { needsApproval } = context.tool;
  const needs: unknown = promiseOrValue(typeof needsApproval === "function" ? needsApproval(call, context) : needsApproval);
  return needs instanceof Promise ? needs.then(toAnswer) : toAnswer(needs);
};

/** Only a clear no lets a call pass. */
function toAnswer(needs: unknown): ApprovalDecision {
  return { kind: needs === false ? "approve" : "ask" };
}

/** Asks about one call. A throw, a timeout or an answer of another form denies. */
export async function askApproval(call: ToolCall, ports: ApprovalPorts): Promise<ApprovalDecision | Cancelled> {
  if (ports.scope.cause !== undefined) return { kind: "cancelled" };
  const deadline = new Deadline({ limitMs: ports.approvalMs }, ports);
  const context: ApprovalContext = {
    ...ports.context,
    get signal() {
      return deadline.signal;
    },
  };
  try {
    // A copy, so that whoever edits the call in place changes nothing of what the model said.
    const answer = promiseOrValue(ports.approve({ ...call, args: toJson(call.args) }, context));
    if (!(answer instanceof Promise)) return toDecision(answer);
    const raced = await deadline.race(answer);
    switch (raced.kind) {
      case "value":
        return toDecision(raced.value);
      case "thrown":
        return { kind: "deny", reason: `The approval failed: ${toPlainError(raced.error).message}` };
      case "expired":
        return { kind: "deny", reason: `Nobody answered within ${raced.limitMs} ms.` };
      case "cancelled":
        return { kind: "cancelled" };
      default:
        return assertNever(raced);
    }
  } catch (error) {
    return { kind: "deny", reason: `The approval failed: ${toPlainError(error).message}` };
  }
}

/** Takes only what is known of an answer, so that the journal holds plain data. Everything else denies. */
export function toDecision(answer: unknown): ApprovalDecision {
  const { kind, reason, args }: { readonly [field: string]: unknown } = isRecord(answer) ? answer : {};
  if (kind === "approve" || kind === "ask") return { kind };
  if (kind === "modify" && args !== undefined) return { kind: "modify", args: toJson(args) satisfies Json };
  if (kind === "deny") return { kind: "deny", reason: textOrNone(reason) };
  return { kind: "deny", reason: "The approval gave no decision." };
}
