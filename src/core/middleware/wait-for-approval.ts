// Makes calls to tools with `needsApproval` wait for a person. A decision arrives in a later execution: see decide-call.ts.

import type { Json } from "../types/common.ts";
import type { ApprovalDecision } from "../types/middleware-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { CallRecorder, Middleware, Next, Outcome } from "../types/middleware.ts";
import { toShown } from "../tools/registry.ts";

/**
 * Makes each call to a tool with `needsApproval` wait for a person. Used in every run without `approve`. `decide` also applies the decision.
 * It is undefined in a bundle without the code for journals, whose runs receive no decisions.
 */
export function waitForApproval(decide: typeof waitIfNeeded = waitIfNeeded): Middleware {
  return { name: "approve", call: (call, next, at) => decide({ call, next, at }) };
}

async function waitIfNeeded({ call, next, at }: Omit<Asking, "tool">): Promise<Outcome> {
  const { tool } = at;
  if (tool === undefined || !needsApproval(tool)) return next(call);
  await at.step("decision", () => {
    at.emit("approval-asked", { args: call.args });
    return toAsk;
  });
  const { reason } = (await waitForPerson({ call, tool, next, at })) as Denied;
  at.emit("approval-decided", { decision: "deny", reason });
  return { call, durationMs: 0, kind: "denied", reason };
}

export const toAsk = { kind: "ask" } as const;

type Denied = Extract<ApprovalDecision, { readonly kind: "deny" }>;

/** True also for a function, because only `approve` calls it. */
export function needsApproval({ needsApproval: needs = false }: ToolDefinition): boolean {
  return needs !== false;
}

export interface Asking {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
  readonly next: Next<ToolCall, Outcome>;
  readonly at: CallRecorder;
}

/** Returns the person's answer, which a later execution has. Denies a call whose run cannot wait. */
export async function waitForPerson(
  { call: { name, args }, tool, at }: Asking,
  answered: (id: string) => void = () => {},
): Promise<unknown> {
  if (!at.mayWait) return { kind: "deny", reason: "Calls inside this tool cannot request a decision." } satisfies Denied;
  // The decision is about the tool as it was shown, so the facts include it. If the tool changes, the person is asked again.
  const facts = { name, args, tool: toShown(tool) as unknown as Json };
  return at.wait("approval", facts, { answered });
}
