// The checks of tool calls as middleware. The tools of a message begin after all its calls were checked, because a check may end the run.

import {
  type ApprovalDecision,
  type Approve,
  askCaller,
  type CallRecorder,
  contextOf,
  describeValue,
  digest,
  isRecord,
  isSameJson,
  type Json,
  LoopError,
  type Middleware,
  type Outcome,
  type PlainError,
  type Recorder,
  type RunFacts,
  sendDecision,
  stableJson,
  textOrNone,
  toDenied,
  toJson,
  type ToolCall,
  type ToolDefinition,
  toPlainError,
  toShown,
  waitWhereNeeded,
} from "../core/entry-kit.ts";
import type { ToolCheck } from "./checks.ts";

/** The verdict of the checks about a call. Plain data. */
interface Verdict {
  /** The rewritten arguments, and the name of the last check that rewrote them. */
  readonly rewritten?: { readonly args: Json; readonly by: string } | undefined;
  readonly denial?: Extract<ApprovalDecision, { readonly kind: "deny" }> | undefined;
  /** The error of a check that failed. */
  readonly failed?: PlainError | undefined;
}

/** The parts that check the calls of one run. */
export interface CallGuard {
  /** Outside all other middleware: checks each call as the model made it. */
  readonly first: Middleware;
  /** The policy for `approve`, which applies the verdicts. */
  readonly approve: Approve;
  /** After the approval: checks the arguments that a decision has edited. */
  readonly last: Middleware;
}

/** Returns the parts that check the calls of one run. `policy` gets the rewritten arguments of calls that were not refused. */
export function guardCalls(checks: readonly ToolCheck[], policy: Approve = waitWhereNeeded): CallGuard {
  const verdicts = new Map<string, Verdict>();
  /** The arguments of the calls as the model wrote them. */
  const written = new Map<string, Json>();
  return {
    first: checkFirst(checks, verdicts, written),
    approve: async (call, context) => {
      const { failed, denial, rewritten } = verdicts.get(call.callId) ?? {};
      if (failed !== undefined) throw Object.assign(new Error(failed.message), { name: failed.name });
      if (denial !== undefined) return denial;
      if (rewritten === undefined) return policy(call, context);
      const { args, by } = rewritten;
      const decision = await policy({ ...call, args }, context);
      // A waiting call has the arguments of the model, so an approval after the wait would undo the rewrite.
      if (decision.kind === "ask") throw refuseWaiting(by);
      return decision.kind === "approve" ? { kind: "modify", args } : decision;
    },
    last: {
      name: "guardrails-edits",
      begin: (run) => ({
        async call(call, next, at) {
          const { callId, args } = call;
          const checked = verdicts.get(callId)?.rewritten?.args ?? written.get(callId);
          const { tool } = at;
          if (tool === undefined || checked === undefined || isSameJson(args, checked)) return next(call);
          const verdict = await at.step("check", () => checkCall(checks, { run, at }, { call, tool }));
          if (verdict.failed !== undefined) return { call, durationMs: 0, kind: "approval-failed", error: verdict.failed };
          if (verdict.denial !== undefined) return deny(verdict.denial, call, at);
          return next(verdict.rewritten === undefined ? call : { ...call, args: verdict.rewritten.args });
        },
      }),
    },
  };
}

function deny(denial: NonNullable<Verdict["denial"]>, call: ToolCall, at: CallRecorder): Outcome {
  sendDecision(at, denial, undefined);
  return toDenied(denial, call);
}

function checkFirst(checks: readonly ToolCheck[], verdicts: Map<string, Verdict>, written: Map<string, Json>): Middleware {
  return {
    name: "guardrails-calls",
    begin: (run) => ({
      request(request, next) {
        verdicts.clear();
        written.clear();
        return next(request);
      },
      async call(call, next, at) {
        await at.afterMessage();
        const { tool, isChanged } = at;
        if (tool === undefined) return next(call);
        const name = isChanged ? `check about ${digest(stableJson(toShown(tool)))}` : "check";
        const verdict = await at.step(name, () => checkCall(checks, { run, at }, { call, tool }));
        verdicts.set(call.callId, readRecorded(verdict));
        written.set(call.callId, call.args);
        return next(call);
      },
    }),
  };
}

interface CheckedTool {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
}

interface ToolCheckPorts {
  readonly run: RunFacts;
  readonly at: Recorder;
}

/** Calls the checks in order. The first check that refuses the arguments denies the call. Never rejects. */
async function checkCall(checks: readonly ToolCheck[], ports: ToolCheckPorts, { call, tool }: CheckedTool): Promise<Verdict> {
  const { run, at } = ports;
  const { clock, timeouts } = run;
  const { hookMs: ms } = timeouts;
  const { signal } = at;
  let rewritten: Verdict["rewritten"];
  try {
    const context = await contextOf({ run, at, signal }, { call, tool });
    for (const { name, check } of checks) {
      const args = toJson(rewritten?.args ?? call.args);
      const limits = { clock, ms, signal, late: `The check took longer than ${ms} ms ("timeouts.hookMs").` };
      const verdict = await askCaller<unknown>((own) => check({ ...call, args }, { ...context, signal: own }), limits);
      const { kind, reason, args: edited, endsRun } = isRecord(verdict) ? verdict : {};
      if (kind === "refuse") {
        const guardrail = endsRun === true ? ({ name, endsRun } as const) : { name };
        return { denial: { kind: "deny", reason: textOrNone(reason), guardrail } };
      }
      if (kind === "rewrite" && edited !== undefined) rewritten = { args: toJson(edited), by: name };
      else if (kind !== "pass") throw refuseVerdict(name, verdict);
    }
    return rewritten === undefined ? {} : { rewritten };
  } catch (error) {
    return { failed: toPlainError(error) };
  }
}

/** A saved journal may have been edited. A verdict that is not readable must not let a call run. */
function readRecorded(value: unknown): Verdict {
  const known = ["rewritten", "denial", "failed"];
  if (isRecord(value) && Object.entries(value).every(([field, found]) => known.includes(field) && isRecord(found))) return value;
  throw new LoopError("journal-damaged", { key: "guardrails-calls", problem: "has an invalid verdict of a check" });
}

function refuseVerdict(name: string, verdict: unknown): TypeError {
  const expected = '"pass", "refuse" or "rewrite" (with "args")';
  return new TypeError(
    `The tool check "${name}" must return an object whose "kind" is ${expected}, but returned ${describeValue(verdict)}.`,
  );
}

function refuseWaiting(name: string): Error {
  return new Error(
    `The tool check "${name}" rewrote the arguments of a call that must wait for a decision. Refuse such a call, or approve it in "policies.approve".`,
  );
}
