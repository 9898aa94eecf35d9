// Tells whether a call must wait for a person's decision: see decide-call.ts.

import type { CallRecorder, Next, Outcome } from "../types/middleware.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";

/** True also for a function, because only `approve` calls it. */
export function needsApproval({ needsApproval: needs = false }: ToolDefinition): boolean {
  return needs !== false;
}

export interface Deciding {
  readonly call: ToolCall;
  readonly next: Next<ToolCall, Outcome>;
  readonly at: CallRecorder;
}
