// Approvals of calls, which may take days and come from another process.

import type { Json, PlainError } from "../types/common.ts";
import type { ApprovalDecision, Approve } from "../types/policies.ts";
import type { NeedsApproval, ToolDefinition } from "../types/tool.ts";
import type { ShownTool, ToolCall } from "../types/tool-outcome.ts";
import { toDecision } from "../policies/approval.ts";
import { findToolChanges, toShown } from "../tools/compare-tools.ts";
import { denials } from "../tools/outcome-texts.ts";
import { digest, isSameJson, stableJson, toJson } from "../utils/json.ts";
import { toPlainError } from "../utils/plain-error.ts";
import type { CallRecorder, Middleware, Next, Outcome, RunFacts } from "../run/seam.ts";
import { frozenView } from "../loop/state/transcript.ts";
import { askCaller } from "./ask-caller.ts";

/**
 * Asks for a decision about each call, or about the calls of tools with `needsApproval` if there is no policy. A call that is not
 * decided waits for an answer: `{ kind: "approve" }`, `{ kind: "deny", reason }` or `{ kind: "modify", args }`.
 *
 * @example approve(({ name }) => ({ kind: name === "search" ? "approve" : "ask" }))
 */
export function approve(policy?: Approve): Middleware {
  return {
    name: "approve",
    begin: (run) => ({ call: (call, next, at) => decideCall(policy, { run, at }, { call, next }) }),
  };
}

interface Asking {
  readonly run: RunFacts;
  readonly at: CallRecorder;
}

interface Asked {
  readonly call: ToolCall;
  readonly next: Next<ToolCall, Outcome>;
}

export type Decided = ApprovalDecision | { readonly kind: "failed"; readonly error: PlainError };

async function decideCall(policy: Approve | undefined, asking: Asking, { call, next }: Asked): Promise<Outcome> {
  const { at } = asking;
  const { tool } = at;
  if (tool === undefined || (policy === undefined && (tool.needsApproval ?? false) === false && !at.wasAsked)) return next(call);
  if (policy !== undefined) await at.afterMessage();
  const step = at.isChanged ? `decision about ${digest(stableJson(toShown(tool)))}` : "decision";
  // The call ran before there was a policy.
  if (at.isOver && !(await at.isRecorded(step))) return next(call);
  const first = await at.step(step, () => {
    at.emit("approval-asked", { args: call.args });
    return ask(policy, asking, { call, tool });
  });
  let question: string | undefined;
  const decided = first.kind === "ask" ? await waitForDecision(asking, { call, tool, answered: (id) => (question = id) }) : first;
  sendDecision(at, decided, question);
  return apply(decided, { call, next });
}

/** Asks the policy once. Its answer is recorded. */
async function ask(
  policy: Approve | undefined,
  { run, at }: Asking,
  { call, tool }: { readonly call: ToolCall; readonly tool: ToolDefinition },
): Promise<Decided> {
  const { clock, timeouts } = run;
  const { signal } = at;
  const { iteration, messages } = at.state;
  const view = {
    callId: call.callId,
    name: call.name,
    iteration,
    messages: frozenView(messages),
    session: at.session,
    context: at.context,
  };
  const { needsApproval = false } = tool;
  const late = `The check took longer than ${timeouts.hookMs} ms ("timeouts.hookMs").`;
  // Only the value false lets a call run without approval.
  const asksNeeds = async (needs: NeedsApproval<unknown>, own: AbortSignal): Promise<boolean> => {
    const fit = await at.validated();
    return fit === undefined || (await (needs(fit.value, { ...view, signal: own }) as unknown)) !== false;
  };
  const decide = async (own: AbortSignal): Promise<ApprovalDecision> => {
    const needs =
      typeof needsApproval !== "function"
        ? needsApproval
        : await askCaller((inner) => asksNeeds(needsApproval as NeedsApproval<unknown>, inner), {
            clock,
            ms: timeouts.hookMs,
            signal: own,
            late,
          });
    if (policy === undefined) return { kind: needs ? "ask" : "approve" };
    const { callId: _, name: __, ...context } = view;
    return toDecision(
      await policy({ ...call, args: toJson(call.args) }, { ...context, tool, needsApproval: needs, signal: own }),
    );
  };
  const { approvalMs: ms = Number.POSITIVE_INFINITY } = timeouts;
  try {
    return await askCaller(decide, { clock, ms, signal, late: `No decision was made within ${ms} ms.` });
  } catch (error) {
    return { kind: "failed", error: toPlainError(error) };
  }
}

interface WaitingFor {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
  readonly answered: (id: string) => void;
}

async function waitForDecision({ at }: Asking, { call: { name, args }, tool, answered }: WaitingFor): Promise<Decided> {
  if (!at.mayWait) return { kind: "deny", reason: denials.insideTool };
  // A decision is about the tool that was shown: if it changes, the wait opens again.
  const shown = toShown(tool);
  const facts = { name, args, tool: shown as unknown as Json };
  const isSame = (earlier: Json): boolean => {
    const was = earlier as unknown as { readonly args: Json; readonly tool: ShownTool };
    return isSameJson(was.args, args) && findToolChanges(name, was.tool, shown).length === 0;
  };
  return toDecision(await at.wait("approval", facts, { isSame, answered }));
}

export function sendDecision(at: Pick<CallRecorder, "emit">, decided: Decided, waitId: string | undefined): void {
  // The ids of the outer calls are in the path of the event.
  const asked = waitId === undefined ? {} : { question: waitId.slice(waitId.lastIndexOf("/") + 1) };
  if (decided.kind === "failed") at.emit("approval-decided", { ...asked, decision: "failed", error: decided.error });
  else if (decided.kind === "deny")
    at.emit("approval-decided", { ...asked, decision: "deny", reason: decided.reason, guardrail: decided.guardrail });
  else if (decided.kind !== "ask")
    at.emit("approval-decided", { ...asked, decision: decided.kind, ...(decided.kind === "modify" && { args: decided.args }) });
}

async function apply(decided: Decided, { call, next }: Asked): Promise<Outcome> {
  const facts = { call, durationMs: 0 };
  switch (decided.kind) {
    case "approve":
      return next(call);
    case "modify":
      return next({ ...call, args: decided.args });
    case "deny":
      return { ...facts, kind: "denied", reason: decided.reason, guardrail: decided.guardrail, ...endOf(call, decided) };
    case "failed":
      return { ...facts, kind: "approval-failed", error: decided.error };
    case "ask":
      return { ...facts, kind: "denied", reason: "The answer is no decision." };
  }
}

/** A check may end the run. */
function endOf({ name }: ToolCall, { guardrail, reason }: Extract<ApprovalDecision, { kind: "deny" }>): Pick<Outcome, "ends"> {
  if (guardrail?.endsRun !== true) return {};
  return {
    ends: { status: "error", reason: { kind: "tool-guardrail", guardrail: guardrail.name, toolName: name, reason } },
  };
}
