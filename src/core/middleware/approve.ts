// Asks for approval before a call runs. The decision may take days and come from another process.

import { validatedArgs } from "../loop/middleware-tools.ts";
import type { ApprovalContext, ApprovalDecision, Approve } from "../types/middleware-options.ts";
import type { NeedsApproval, ToolDefinition } from "../types/tool.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { isFunction } from "../../shared/errors/check-fields.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";
import { waitWhereNeeded } from "../../shared/approval.ts";
import { toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { CallRecorder, Middleware, Recorder, RunFacts } from "../types/middleware.ts";
import { frozenView } from "../../shared/transcript.ts";
import { askCaller } from "../../shared/ask-caller.ts";
import { type Decided, decideCall, decideIfNeeded, toDecision } from "./decide-call.ts";

/**
 * Requests a decision about each call, or about calls to tools with `needsApproval` if there is no policy. A call without a decision waits
 * for an answer: `{ kind: "approve" }`, `{ kind: "deny", reason }` or `{ kind: "modify", args }`.
 *
 * Throws LoopError "invalid-option" if `policy` is not a function.
 *
 * @example approve(({ name }) => ({ kind: name === "search" ? "approve" : "ask" }))
 */
export function approve(policy?: Approve): Middleware {
  if (policy !== undefined && !isFunction(policy)) throw invalidOption("approve", "a function", policy);
  return {
    name: "approve",
    // Runs after `guardrails`, so that people see the arguments as the guardrails have rewritten them.
    after: ["guardrails"],
    begin: (run) => ({
      async call(call, next, at) {
        if (policy === undefined) return decideIfNeeded({ call, next, at }, (tool) => ask(policy, { run, at }, { call, tool }));
        const { tool } = at;
        if (tool === undefined) return next(call);
        await at.afterMessage();
        return decideCall({ call, tool, next, at }, () => ask(policy, { run, at }, { call, tool }));
      },
    }),
  };
}

interface PolicyPorts {
  readonly run: RunFacts;
  readonly at: CallRecorder;
}

interface AskedTool {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
}

/** Asks the policy once, and records its answer. */
async function ask(policy: Approve = waitWhereNeeded, { run, at }: PolicyPorts, asked: AskedTool): Promise<Decided> {
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

/** Returns the information that a policy receives about a call. Calls the tool's `needsApproval` if it is a function. */
export async function contextOf({ run, at, signal }: ContextPorts, { call, tool }: AskedTool): Promise<ApprovalContext> {
  const { clock, timeouts } = run;
  const { callId, name } = call;
  const { state, session, context } = at;
  const view = { iteration: state.iteration, messages: frozenView(state.messages), session, context };
  const { needsApproval = false } = tool;
  if (typeof needsApproval !== "function") return { ...view, tool, needsApproval, signal };
  const needs = needsApproval as NeedsApproval<unknown>;
  const ask = async (own: AbortSignal): Promise<unknown> => {
    const fit = await validatedArgs(at, call);
    return fit === undefined || needs(fit.value, { ...view, callId, name, signal: own });
  };
  const late = `The check took longer than ${timeouts.callbackMs} ms ("timeouts.callbackMs").`;
  const answer = await askCaller(ask, { clock, ms: timeouts.callbackMs, signal, late });
  // Anything but `false` means that the call needs approval, so a callback that returns nothing does not let the call run.
  return { ...view, tool, needsApproval: answer !== false, signal };
}
