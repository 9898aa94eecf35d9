// Approvals of calls, which may take days and come from another process.

import type { Json, PlainError } from "../types/common.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../types/policies.ts";
import type { NeedsApproval, ToolDefinition } from "../types/tool.ts";
import type { ShownTool, ToolCall } from "../types/tool-outcome.ts";
import { isFunction } from "../../shared/errors/check-fields.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { toDecision, waitWhereNeeded } from "../../shared/approval.ts";
import { findToolChanges, toShown } from "../tools/registry.ts";
import { denials } from "../../shared/to-outcome.ts";
import { digest, isSameJson, stableJson, toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { CallRecorder, Middleware, Next, Outcome, Recorder, RunFacts } from "../types/middleware.ts";
import { frozenView } from "../../shared/transcript.ts";
import { askCaller } from "./ask-caller.ts";

/**
 * Asks for a decision about each call, or about the calls of tools with `needsApproval` if there is no policy. A call that is not
 * decided waits for an answer: `{ kind: "approve" }`, `{ kind: "deny", reason }` or `{ kind: "modify", args }`.
 *
 * Throws LoopError "invalid-option".
 *
 * @example approve(({ name }) => ({ kind: name === "search" ? "approve" : "ask" }))
 */
export function approve(policy?: Approve): Middleware {
  if (policy !== undefined && !isFunction(policy)) throw invalidOption("approve", "a function", policy);
  return {
    name: "approve",
    // Somebody who decides sees the arguments that the checks have rewritten.
    after: ["guardrails"],
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
  if (tool === undefined || (policy === undefined && !mustAsk(tool, at))) return next(call);
  if (policy !== undefined) await at.afterMessage();
  const step = at.isChanged ? `decision about ${digest(stableJson(toShown(tool)))}` : "decision";
  // The call ran before there was a policy.
  if (at.isOver && !(await at.isRecorded(step))) return next(call);
  const first = await at.step(step, () => {
    at.emit("approval-asked", { args: call.args });
    return ask(policy, asking, { call, tool });
  });
  if (!decidedKinds.has(first?.kind))
    throw new LoopError("journal-damaged", { key: "approve/decision", problem: "has no decision" });
  let question: string | undefined;
  const decided = first.kind === "ask" ? await waitForDecision(asking, { call, tool, answered: (id) => (question = id) }) : first;
  sendDecision(at, decided, question);
  return apply(decided, { call, next });
}

function mustAsk({ needsApproval = false }: ToolDefinition, { wasAsked }: CallRecorder): boolean {
  return needsApproval !== false || wasAsked;
}

/** A saved journal may have been edited. */
const decidedKinds: ReadonlySet<unknown> = new Set<Decided["kind"]>(["approve", "deny", "modify", "ask", "failed"]);

interface AskedTool {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
}

/** Asks the policy once. Its answer is recorded. */
async function ask(policy: Approve = waitWhereNeeded, { run, at }: Asking, asked: AskedTool): Promise<Decided> {
  const { clock, timeouts } = run;
  const { approvalMs: ms } = timeouts;
  const { call } = asked;
  const decide = async (signal: AbortSignal): Promise<ApprovalDecision> =>
    toDecision(await policy({ ...call, args: toJson(call.args) }, await contextOf({ run, at, signal }, asked)));
  try {
    return await askCaller(decide, { clock, ms, signal: at.signal, late: `No decision was made within ${ms} ms.` });
  } catch (error) {
    return { kind: "failed", error: toPlainError(error) };
  }
}

interface ContextPorts {
  readonly run: RunFacts;
  readonly at: Recorder;
  readonly signal: AbortSignal;
}

/** Returns the facts about a call for a policy. Calls the function `needsApproval` of the tool. */
export async function contextOf({ run, at, signal }: ContextPorts, { call, tool }: AskedTool): Promise<ApprovalContext> {
  const { clock, timeouts } = run;
  const { callId, name } = call;
  const { state, session, context } = at;
  const view = { iteration: state.iteration, messages: frozenView(state.messages), session, context };
  const { needsApproval = false } = tool;
  if (typeof needsApproval !== "function") return { ...view, tool, needsApproval, signal };
  const needs = needsApproval as NeedsApproval<unknown>;
  const ask = async (own: AbortSignal): Promise<unknown> => {
    const fit = await at.validated(call);
    return fit === undefined || needs(fit.value, { ...view, callId, name, signal: own });
  };
  const late = `The check took longer than ${timeouts.hookMs} ms ("timeouts.hookMs").`;
  const answer = await askCaller(ask, { clock, ms: timeouts.hookMs, signal, late });
  // Only the value false lets a call run without approval.
  return { ...view, tool, needsApproval: answer !== false, signal };
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
      return toDenied(decided, call);
    case "failed":
      return { ...facts, kind: "approval-failed", error: decided.error };
    case "ask":
      return { ...facts, kind: "denied", reason: "The answer is no decision." };
  }
}

/** Returns the outcome of a denied call. A check of `guardrails` may end the run. */
export function toDenied(denial: Extract<ApprovalDecision, { kind: "deny" }>, call: ToolCall): Outcome {
  const { reason, guardrail } = denial;
  const denied: Outcome = { call, durationMs: 0, kind: "denied", reason, guardrail };
  if (guardrail?.endsRun !== true) return denied;
  return {
    ...denied,
    ends: { status: "error", reason: { kind: "tool-guardrail", guardrail: guardrail.name, toolName: call.name, reason } },
  };
}
