// Asks whether a call may run. Only a clear yes, in time, lets it.

import type { Json } from "../types/json.ts";
import type { PlainError } from "../types/common.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../types/policies.ts";
import type { ApprovalView, NeedsApproval } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { assertNever, isRecord } from "../utils/guards.ts";
import { Deadline, type DeadlinePorts } from "../cancellation/deadline.ts";
import { textOrNone, toPlainError } from "../utils/plain-error.ts";
import { promiseOrValue, whenReady } from "../utils/promises.ts";
import { toJson } from "../utils/json.ts";

/** The run ended before anybody decided. */
export interface Cancelled {
  readonly kind: "cancelled";
}

/** Nobody could decide: whoever was asked threw, or took too long. */
export interface FailedApproval {
  readonly kind: "failed";
  readonly error: PlainError;
}

type Validated = { readonly args: unknown } | undefined;

/** The part of a run that an approval uses. */
export interface ApprovalPorts extends DeadlinePorts {
  readonly approve: Approve;
  readonly approvalMs: number;
  readonly context: Omit<ApprovalContext, "signal" | "needsApproval">;
  /** The arguments as the tool would get them, in a copy; undefined if they do not fit its schema. */
  validated(): Validated | PromiseLike<Validated>;
}

/** In place of a policy: nobody decides at once about a call whose tool wants a decision, so that it waits for one. */
export const waitWhereNeeded: Approve = (_, { needsApproval }) => ({ kind: needsApproval ? "ask" : "approve" });

/** In place of a policy, for a call that was asked about before. */
export const waitAlways: Approve = () => ({ kind: "ask" });

/** Asks about one call: first its tool whether that is needed, then the policy. */
export async function askApproval(call: ToolCall, ports: ApprovalPorts): Promise<ApprovalDecision | Cancelled | FailedApproval> {
  if (ports.scope.cause !== undefined) return { kind: "cancelled" };
  const deadline = new Deadline({ limitMs: ports.approvalMs }, ports);
  try {
    const answer = promiseOrValue(
      whenReady(needsDecision(call, ports, deadline), (needsApproval) =>
        ports.approve(copyOf(call), withSignal({ ...ports.context, needsApproval }, deadline)),
      ),
    );
    if (!(answer instanceof Promise)) return toDecision(answer);
    const raced = await deadline.race(answer);
    switch (raced.kind) {
      case "value":
        return toDecision(raced.value);
      case "thrown":
        return failed(raced.error);
      case "expired":
        return { kind: "failed", error: { name: "TimeoutError", message: `Nobody answered within ${raced.limitMs} ms.` } };
      case "cancelled":
        return { kind: "cancelled" };
      default:
        return assertNever(raced);
    }
  } catch (error) {
    return failed(error);
  }
}

/** A trait that is a function has to say a clear no. */
function needsDecision(
  call: ToolCall,
  { context, validated }: ApprovalPorts,
  deadline: Deadline,
): boolean | PromiseLike<boolean> {
  const { needsApproval = false } = context.tool;
  if (typeof needsApproval !== "function") return needsApproval;
  const { callId, name } = call;
  const decide = needsApproval as NeedsApproval<unknown>;
  return whenReady(validated(), (checked) => {
    if (checked === undefined) return true;
    const needs: unknown = decide(checked.args, withSignal({ ...context, callId, name }, deadline));
    return whenReady(needs, (answer) => answer !== false);
  });
}

/** A copy, so that editing the call in place changes nothing of what the model said. */
function copyOf(call: ToolCall): ToolCall {
  return { ...call, args: toJson(call.args) };
}

/** The signal is made when it is asked for. */
function withSignal<Fields extends object>(fields: Fields, deadline: Deadline): Fields & Pick<ApprovalView, "signal"> {
  const signal = { enumerable: true, get: () => deadline.signal };
  return Object.defineProperty(fields, "signal", signal) as Fields & Pick<ApprovalView, "signal">;
}

function failed(thrown: unknown): FailedApproval {
  return { kind: "failed", error: toPlainError(thrown) };
}

/** Takes only what is known of an answer, so that the journal holds plain data. Everything else denies. */
export function toDecision(answer: unknown): ApprovalDecision {
  const { kind, reason, args }: { readonly [field: string]: unknown } = isRecord(answer) ? answer : {};
  if (kind === "approve" || kind === "ask") return { kind };
  if (kind === "modify" && args !== undefined) return { kind: "modify", args: toJson(args) satisfies Json };
  if (kind === "deny") return { kind: "deny", reason: textOrNone(reason) };
  return { kind: "deny", reason: "The approval gave no decision." };
}
