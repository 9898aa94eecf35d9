// Middleware that checks tool calls. A message's tools start only after all its calls have been checked, because a check may end the run.

import {
  type ApprovalDecision,
  type Json,
  LoopError,
  type PlainError,
  type ToolCall,
  type ToolDefinition,
} from "../../core/index.ts";
import {
  type CallRecorder,
  contextOf,
  type Hooks,
  isRecord,
  type Next,
  type Outcome,
  type Recorder,
  type RunFacts,
  sendDecision,
  toShown,
} from "../../core/kit.ts";
import { askCaller } from "../../shared/ask-caller.ts";
import { describeValue } from "../../shared/texts.ts";
import { digest, isSameJson, stableJson, toJson } from "../../shared/json.ts";
import { textOrNone, toPlainError } from "../../shared/plain-error.ts";
import type { ToolCheck } from "./checks.ts";

/** The checks' verdict on a call, as JSON data. */
interface Verdict {
  /** The rewritten arguments. */
  readonly rewritten?: { readonly args: Json } | undefined;
  readonly denial?: Extract<ApprovalDecision, { readonly kind: "deny" }> | undefined;
  /** The error from a failed check. */
  readonly failed?: PlainError | undefined;
}

/** Returns the hooks that check a run's calls: each call as the model made it, and arguments that a decision has edited. */
export function guardCalls(checks: readonly ToolCheck[], run: RunFacts): Pick<Hooks, "call" | "execute"> {
  /** The arguments that have passed the checks, by call id. */
  const passed = new Map<string, Json>();
  const take = async (name: string, next: Next<ToolCall, Outcome>, { call, at }: CheckedCall): Promise<Outcome> => {
    const { tool } = at;
    if (tool === undefined) return next(call);
    const verdict = readRecorded(await at.step(name, () => checkCall(checks, { run, at }, { call, tool })));
    const { failed, denial, rewritten } = verdict;
    if (failed !== undefined) {
      sendDecision(at, { kind: "failed", error: failed });
      return { call, durationMs: 0, kind: "approval-failed", error: failed };
    }
    if (denial !== undefined) {
      sendDecision(at, denial);
      return toDenied(denial, call);
    }
    passed.set(call.callId, rewritten?.args ?? call.args);
    if (rewritten === undefined) return next(call);
    sendDecision(at, { kind: "modify", args: rewritten.args });
    return next({ ...call, args: rewritten.args });
  };
  return {
    async call(call, next, at) {
      await at.afterMessage();
      const { tool, earlier } = at;
      const about = earlier?.isChanged === true && tool !== undefined ? ` about ${digest(stableJson(toShown(tool)))}` : "";
      return take(`check${about}`, next, { call, at });
    },
    async execute(call, next, at) {
      const checked = passed.get(call.callId);
      const isChecked = checked === undefined || isSameJson(call.args, checked);
      return isChecked ? next(call) : take("check of edits", next, { call, at });
    },
  };
}

interface CheckedCall {
  readonly call: ToolCall;
  readonly at: CallRecorder;
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
  const { callbackMs: ms } = timeouts;
  const { signal } = at;
  let rewritten: Verdict["rewritten"];
  try {
    const context = await contextOf({ run, at, signal }, { call, tool });
    for (const { name, check } of checks) {
      const args = toJson(rewritten?.args ?? call.args);
      const limits = { clock, ms, signal, late: `The check took longer than ${ms} ms ("timeouts.callbackMs").` };
      const verdict = await askCaller<unknown>((own) => check({ ...call, args }, { ...context, signal: own }), limits);
      const { kind, reason, args: edited, endsRun } = isRecord(verdict) ? verdict : {};
      if (kind === "refuse") {
        const guardrail = endsRun === true ? ({ name, endsRun } as const) : { name };
        return { denial: { kind: "deny", reason: textOrNone(reason), guardrail } };
      }
      if (kind === "rewrite" && edited !== undefined) rewritten = { args: toJson(edited) };
      else if (kind !== "pass") throw refuseVerdict(name, verdict);
    }
    return rewritten === undefined ? {} : { rewritten };
  } catch (error) {
    return { failed: toPlainError(error) };
  }
}

/**
 * Reads a recorded verdict. Throws if it is unreadable, because a saved journal may have been edited, and the call must not run in that
 * case.
 */
function readRecorded(value: unknown): Verdict {
  const known = ["rewritten", "denial", "failed"];
  if (isRecord(value) && Object.entries(value).every(([field, found]) => known.includes(field) && isRecord(found))) return value;
  throw new LoopError("journal-damaged", { key: "guardrails/check", problem: "contains an invalid check verdict" });
}

function refuseVerdict(name: string, verdict: unknown): TypeError {
  const expected = '"pass", "refuse" or "rewrite" (with "args")';
  return new TypeError(
    `The tool check "${name}" must return an object whose "kind" is ${expected}, but returned ${describeValue(verdict)}.`,
  );
}

/** Returns the outcome of a denied call. The outcome ends the run if the check says so. */
function toDenied(denial: Extract<ApprovalDecision, { kind: "deny" }>, call: ToolCall): Outcome {
  const { reason, guardrail } = denial;
  const denied: Outcome = { call, durationMs: 0, kind: "denied", reason, guardrail };
  if (guardrail?.endsRun !== true) return denied;
  return {
    ...denied,
    ends: { status: "error", reason: { kind: "tool-guardrail", guardrail: guardrail.name, toolName: call.name, reason } },
  };
}
