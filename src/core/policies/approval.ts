// Requests decisions about tool calls. A call that needs a decision runs only if it is approved explicitly, within the time
// limit.

import type { Json } from "../types/common.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../types/policies.ts";
import type { DenyingGuardrail } from "../types/guardrails.ts";
import type { ApprovalView } from "../types/tool.ts";
import { abortReasonOf } from "../cancellation/cancel-scope.ts";
import { isRecord } from "../utils/guards.ts";
import { Deadline, type DeadlinePorts } from "../cancellation/deadline.ts";
import { textOrNone } from "../utils/plain-error.ts";
import { promiseOrValue } from "../utils/promises.ts";
import { isPlainData, toJson } from "../utils/json.ts";

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
