import type { EndReason } from "../core/index.ts";
import type { WaitingCall } from "../core/kit.ts";
import { toCallPath } from "../web/page-values.ts";
import type { AGUIInterrupt } from "./ag-ui-event.ts";
import { toPrefix } from "./page-ids.ts";

export function waitingCallsOf(reason: EndReason | undefined): readonly WaitingCall[] {
  return reason !== undefined && "calls" in reason ? reason.calls : [];
}

export function toInterrupt(call: WaitingCall, runId: string): AGUIInterrupt {
  const prefix = toPrefix(runId);
  const facts = {
    id: prefix + call.id,
    toolCallId: prefix + toCallPath(call),
    metadata: { kind: "approval", toolName: call.name, input: call.args },
  };
  if (call.waitsFor === "approval")
    return { ...facts, reason: "approval_required", message: `May "${call.name}" run?`, responseSchema: decisionSchema };
  const { question } = call;
  const message = question?.text ?? `"${call.name}" waits for a result.`;
  const metadata = { ...facts.metadata, kind: "result", ...(question?.issues !== undefined && { issues: question.issues }) };
  // The page cannot send this result, so the interrupt has no schema.
  if (call.fromPage !== true) return { ...facts, metadata, reason: "external_result", message };
  return { ...facts, metadata, reason: "client_tool_input", message, responseSchema: toResultSchema(call) };
}

const decisionSchema = {
  type: "object",
  properties: {
    approved: { type: "boolean" },
    reason: { type: "string", description: "The reason why the call is denied." },
    args: { description: "Edited arguments, which replace the arguments of the call." },
  },
  required: ["approved"],
};

function toResultSchema({ question }: WaitingCall): NonNullable<AGUIInterrupt["responseSchema"]> {
  const result = question?.schema ?? { description: "The result of the call." };
  return { type: "object", properties: { result, error: { type: "string", description: "The reason why the call failed." } } };
}
