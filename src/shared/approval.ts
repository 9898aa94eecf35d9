// Requests decisions about tool calls. A call that needs one runs only if it is approved explicitly within the time limit.

import type { Approve } from "../core/types/middleware-options.ts";
import type { ApprovalView } from "../core/types/tool.ts";
import { isRecord } from "./guards.ts";
import type { Deadline } from "./cancellation/deadline.ts";
import { isPlainData } from "./json.ts";

export const waitWhereNeeded: Approve = (_, { needsApproval }) => ({ kind: needsApproval ? "ask" : "approve" });

/** Adds a `signal` getter that creates the signal only when it is read. */
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
