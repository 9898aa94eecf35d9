// Stage 02: one tool call, from the model's words to its outcome.

import type { ToolCallPorts } from "../run/prepared-call.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { dispatchCall } from "./dispatch-call.ts";
import { prepareCall } from "./prepare-call.ts";

/**
 * Prepares one call and, where it may run, dispatches it. Never rejects: whatever becomes of the call is its outcome.
 *
 * @example
 * const outcome = await executeToolCall({ callId: "1", name: "get_weather", args: { city: "Oslo" } }, ports);
 */
export async function executeToolCall(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome> {
  const prepared = await prepareCall(call, ports);
  return prepared.kind === "ready" ? dispatchCall(prepared, ports) : prepared;
}
