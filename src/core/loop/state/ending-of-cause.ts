// What being ended from outside makes of a run.

import type { PlainError } from "../../types/common.ts";
import type { Json } from "../../types/json.ts";
import type { EndReason } from "../../types/termination.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { tidyMessage, toPlainError } from "../../utils/plain-error.ts";
import type { CancelReason } from "../../cancellation/cancel-scope.ts";
import { toJson } from "../../utils/json.ts";

/** The ending that a cause leads to; plain data. */
export function endingOfReason(cause: CancelReason): {
  readonly status: "stopped-by-user" | "timeout" | "follow-up-interrupt";
  readonly reason: EndReason;
} {
  switch (cause.kind) {
    case "stop":
      return { status: "stopped-by-user", reason: { kind: "stopped", requester: cause.requester, note: cause.note } };
    case "kill":
      return { status: "stopped-by-user", reason: { kind: "killed" } };
    case "abort":
      return { status: "stopped-by-user", reason: { kind: "aborted", reason: toAbortReason(cause.reason) } };
    case "interrupt":
      return { status: "follow-up-interrupt", reason: { kind: "interrupted", message: cause.message } };
    case "wall-clock":
      return { status: "timeout", reason: { kind: "wall-clock", limitMs: cause.limitMs } };
    default:
      return assertNever(cause);
  }
}

/** A signal's own reason as plain data: errors as PlainError, anything else as JSON. */
function toAbortReason(reason: unknown): PlainError | Json {
  try {
    if (reason instanceof Error) return toPlainError(reason);
    if (typeof reason === "string") return tidyMessage(reason);
    return toJson(reason);
  } catch (error) {
    return toPlainError(error);
  }
}
