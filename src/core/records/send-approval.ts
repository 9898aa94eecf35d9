// Sends the approval events of a recorded call.

import type { ToolCall } from "../types/tool-outcome.ts";
import { type Decided, sendDecision, toDecision } from "../middleware/decide-call.ts";
import type { Run } from "../loop/run.ts";
import type { CallRecorder, Outcome } from "../types/middleware.ts";
import { isRecord } from "../../shared/guards.ts";
import type { RecordedWait } from "../loop/replay/read-waits.ts";

interface Approval {
  /** The policy's decision. */
  readonly decision: unknown;
  readonly waits: readonly RecordedWait[];
  /** The call's outcome, if it has ended. */
  readonly ended?: Outcome | undefined;
}

/** Sends the approval events for a call. Sends none if a `guardrails` check denied the call before anybody was asked. */
export function sendApproval(run: Run, call: ToolCall, { decision, waits, ended }: Approval): void {
  const wait = waits.find(({ what }) => what === "approval");
  const emit: CallRecorder["emit"] = (type, fields) => run.send(type, run.aboutCall(call, fields) as never, true);
  if (ended?.kind === "denied" && ended.guardrail !== undefined)
    return sendDecision({ emit }, { kind: "deny", reason: ended.reason, guardrail: ended.guardrail }, wait?.id);
  if (wait === undefined && !isRecord(decision)) return;
  emit("approval-asked", { args: call.args });
  const decided = wait === undefined ? (decision as Decided) : wait.answer && toDecision(wait.answer.value);
  if (decided !== undefined && decided.kind !== "ask") sendDecision({ emit }, decided, wait?.id);
}
