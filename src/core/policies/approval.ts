// Requests decisions about tool calls. A call that needs a decision runs only if it is approved explicitly, within the time
// limit.

import type { Json, PlainError } from "../types/common.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../types/policies.ts";
import type { DenyingGuardrail } from "../types/guardrails.ts";
import type { ApprovalView, NeedsApproval } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { abortReasonOf } from "../cancellation/cancel-scope.ts";
import { assertNever, isRecord } from "../utils/guards.ts";
import { Deadline, type DeadlinePorts } from "../cancellation/deadline.ts";
import { textOrNone, toPlainError } from "../utils/plain-error.ts";
import { promiseOrValue, whenReady } from "../utils/promises.ts";
import { isPlainData, toJson } from "../utils/json.ts";

export interface Cancelled {
  readonly kind: "cancelled";
}

export interface FailedApproval {
  readonly kind: "failed";
  readonly error: PlainError;
}

type Validated = { readonly args: unknown } | undefined;

export interface ApprovalPorts extends DeadlinePorts {
  readonly approve: Approve;
  readonly approvalMs: number;
  /** The time limit of one check, in milliseconds: of a `needsApproval` function, or of a tool check of `guardrails`. */
  readonly hookMs: number;
  readonly context: Omit<ApprovalContext, "signal" | "needsApproval">;
  /** Returns a copy of the arguments as the tool would get them, or undefined if they do not match the tool's schema. */
  validated(): Validated | PromiseLike<Validated>;
}

export const waitWhereNeeded: Approve = (_, { needsApproval }) => ({ kind: needsApproval ? "ask" : "approve" });

/**
 * The approval policy for a recorded call that needed a decision, if the run has no `policies.approve`. The call needs a
 * decision again, even if its tool no longer requires one.
 */
export const waitAlways: Approve = () => ({ kind: "ask" });

export type CheckPorts = DeadlinePorts & Pick<ApprovalPorts, "hookMs">;

/** The ports of the run for each context that an approval gets. The tool checks of `guardrails` take their time limit from here. */
const portsOf = new WeakMap<object, CheckPorts>();

export function checkPortsOf(context: ApprovalContext): CheckPorts | undefined {
  return portsOf.get(context);
}

/**
 * Calls a check that decides about a call. Waits for at most `hookMs`, because such a check is code and not a person. Rejects with
 * the error of the check, or with a TimeoutError.
 */
export function askCallCheck<T>(check: (deadline: Deadline) => T | PromiseLike<T>, ports: CheckPorts): T | Promise<T> {
  const deadline = new Deadline({ limitMs: ports.hookMs }, ports);
  const answer = promiseOrValue(check(deadline));
  if (!(answer instanceof Promise)) return answer;
  return deadline.race(answer).then((raced) => {
    if (raced.kind === "value") return raced.value;
    if (raced.kind === "thrown") throw raced.error;
    if (raced.kind === "cancelled") throw abortReasonOf(raced.cause);
    throw new DOMException(`The check took longer than ${raced.limitMs} ms ("timeouts.hookMs").`, "TimeoutError");
  });
}

export async function askApproval(call: ToolCall, ports: ApprovalPorts): Promise<ApprovalDecision | Cancelled | FailedApproval> {
  if (ports.scope.cause !== undefined) return { kind: "cancelled" };
  const deadline = new Deadline({ limitMs: ports.approvalMs }, ports);
  try {
    const answer = promiseOrValue(
      whenReady(needsDecision(call, ports), (needsApproval) => {
        const context = withSignal({ ...ports.context, needsApproval }, deadline);
        portsOf.set(context, ports);
        return ports.approve(copyOf(call), context);
      }),
    );
    if (!(answer instanceof Promise)) return toDecision(answer);
    const raced = await deadline.race(answer);
    switch (raced.kind) {
      case "value":
        return toDecision(raced.value);
      case "thrown":
        return failed(raced.error);
      case "expired":
        return {
          kind: "failed",
          error: { name: "TimeoutError", message: `No decision was made within ${raced.limitMs} ms.` },
        };
      case "cancelled":
        return { kind: "cancelled" };
      default:
        return assertNever(raced);
    }
  } catch (error) {
    return failed(error);
  }
}

/**
 * If `needsApproval` is a function, only the return value `false` means that the call needs no decision. Any other value, such
 * as undefined, requires a decision.
 */
function needsDecision(call: ToolCall, ports: ApprovalPorts): boolean | PromiseLike<boolean> {
  const { context, validated } = ports;
  const { needsApproval = false } = context.tool;
  if (typeof needsApproval !== "function") return needsApproval;
  const { callId, name } = call;
  const decide = needsApproval as NeedsApproval<unknown>;
  return whenReady(validated(), (checked) => {
    if (checked === undefined) return true;
    const needs: unknown = askCallCheck<unknown>(
      (deadline) => decide(checked.args, withSignal({ ...context, callId, name }, deadline)),
      ports,
    );
    return whenReady(needs, (answer) => answer !== false);
  });
}

function copyOf(call: ToolCall): ToolCall {
  return { ...call, args: toJson(call.args) };
}

/** Adds `signal` as a getter, so that the signal is created only when it is read. */
export function withSignal<Fields extends object>(fields: Fields, deadline: Deadline): Fields & Pick<ApprovalView, "signal"> {
  const signal = { enumerable: true, get: () => deadline.signal };
  return Object.defineProperty(fields, "signal", signal) as Fields & Pick<ApprovalView, "signal">;
}

function failed(thrown: unknown): FailedApproval {
  return { kind: "failed", error: toPlainError(thrown) };
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
