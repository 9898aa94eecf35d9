// The calls that a suspended run waits for, as interrupts.

import type { EndReason, PendingApproval } from "../core/entry-kit.ts";
import type { AGUIInterrupt } from "./ag-ui-event.ts";
import { toPrefix } from "./page-ids.ts";

/** A call that waits, and for what. Without `waitsFor` it waits for a decision. */
type WaitingCall = PendingApproval & { readonly waitsFor?: string };

/** Returns the calls that a run waits for, if it does. */
export function waitingCallsOf(reason: EndReason | undefined): readonly WaitingCall[] {
  return reason !== undefined && "calls" in reason ? reason.calls : [];
}

/** Describes one call that waits. */
export function toInterrupt(call: WaitingCall, runId: string): AGUIInterrupt {
  const prefix = toPrefix(runId);
  const facts = {
    id: prefix + call.id,
    toolCallId: prefix + toCallPath(call),
    metadata: { kind: "approval", toolName: call.name, input: call.args },
  };
  if (call.waitsFor !== "result")
    return { ...facts, reason: "approval_required", message: `May "${call.name}" run?`, responseSchema: decisionSchema };
  const message = `"${call.name}" waits for a result.`;
  const metadata = { ...facts.metadata, kind: "result" };
  return { ...facts, metadata, reason: "client_tool_input", message, responseSchema: resultSchema };
}

/** Returns the ids of the calls around a call and its own. The `id` may end with the number of the question. */
function toCallPath({ id, callId }: WaitingCall): string {
  const bare = id.replace(/#\d+$/, "");
  return bare === callId || bare.endsWith(`/${callId}`) ? bare : id;
}

const decisionSchema = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    reason: { type: "string", description: "Why the call is denied." },
    args: { description: "Other arguments for the call." },
  },
  required: ["approved"],
};

const resultSchema = {
  type: "object",
  properties: { result: { description: "The result of the call." }, error: { type: "string", description: "Why it failed." } },
};
