import type { RunCall } from "../../types/typed-call.ts";
import type { ToolHistoryEntry } from "../../types/tool-outcome.ts";

export function toRunCall(entry: ToolHistoryEntry): RunCall {
  const { functionCall, functionResponse, processed, approvedArgs, error, iteration, durationMs, content, preToolText } = entry;
  const { endTurn } = entry;
  const { id: callId, name, args } = functionCall;
  const { result } = functionResponse.response;
  const outcome = processed && entry.outcome === "completed" ? "processed" : entry.outcome;
  // Lists each field, because V8 needs ten times the memory for an object from a rest pattern or a leading spread.
  return {
    iteration,
    durationMs,
    content,
    preToolText,
    callId,
    name,
    args,
    outcome,
    result,
    ...(approvedArgs !== undefined && { approvedArgs }),
    ...(error !== undefined && { error }),
    ...(endTurn !== undefined && { endTurn }),
  };
}

export function joinDetails(text: string, details: string, label: string | undefined): string {
  if (details === "") return text;
  const labelled = label === undefined ? details : `${label}\n${details}`;
  return text === "" ? labelled : `${text}\n\n${labelled}`;
}
