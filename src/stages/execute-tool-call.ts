// Stage 02: one tool call, from the model's words to its outcome.

import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import { dispatchCall, type DispatchPorts } from "./dispatch-call.ts";
import { prepareCall, type PreparePorts } from "./prepare-call.ts";

/** What stage 02 uses of a run. */
export type ToolCallPorts = PreparePorts & DispatchPorts;

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
