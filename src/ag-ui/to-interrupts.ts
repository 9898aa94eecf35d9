import type { WaitingCall } from "../core/kit.ts";
import { toCallPath } from "../web/page-values.ts";
import type { AGUIInterrupt } from "./ag-ui-event.ts";
import { toPrefix } from "./page-ids.ts";

export function toInterrupt(call: WaitingCall, runId: string): AGUIInterrupt {
  const { id, name, args, waitsFor: kind, question, fromPage } = call;
  const prefix = toPrefix(runId);
  const shown = { id: prefix + id, ...(name !== "" && { toolCallId: prefix + toCallPath(call) }), message: toMessage(call) };
  const issues = question?.issues;
  const metadata = { kind, toolName: name, input: args, ...(issues !== undefined && { issues }) };
  if (kind === "approval") return { ...shown, metadata, reason: "approval_required", responseSchema: decisionSchema };
  // Omits the response schema, because the web page is not allowed to send this result.
  if (fromPage !== true) return { ...shown, metadata, reason: "external_result" };
  if (kind === "answer") return { ...shown, ...toInput(call, metadata), reason: "input_required" };
  return { ...shown, metadata, reason: "client_tool_input", responseSchema: toResultSchema(question) };
}

function toMessage({ name, waitsFor, what = "", question }: WaitingCall): string {
  if (waitsFor === "approval") return `May "${name}" run?`;
  if (waitsFor === "result") return question?.text ?? `"${name}" is waiting for a result.`;
  return `${name === "" ? "The run" : `"${name}"`} is waiting for "${what}".`;
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

function toResultSchema(question: WaitingCall["question"]): NonNullable<AGUIInterrupt["responseSchema"]> {
  const result = question?.schema ?? { description: "The result of the call." };
  return { type: "object", properties: { result, error: { type: "string", description: "The reason why the call failed." } } };
}

function toInput(
  { what = "", facts = null, schema = { description: "The answer." } }: WaitingCall,
  metadata: AGUIInterrupt["metadata"],
): Pick<AGUIInterrupt, "metadata" | "responseSchema"> {
  const responseSchema = { type: "object", properties: { result: schema }, required: ["result"] };
  return { metadata: { ...metadata, what, facts }, responseSchema };
}
