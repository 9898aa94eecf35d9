// The checks of tool calls as middleware. All calls of a message are checked before one of them begins, because a check may end the run.

import {
  type Answer,
  type ApprovalDecision,
  type Approve,
  askCaller,
  type CallRecorder,
  contextOf,
  describeValue,
  digest,
  emptyMessage,
  isRecord,
  isSameJson,
  joinMessage,
  type Json,
  LoopError,
  type Message,
  type Middleware,
  type Outcome,
  type PlainError,
  type Recorder,
  type RequestDraft,
  type RunFacts,
  sendDecision,
  stableJson,
  textOrNone,
  toDenied,
  toJson,
  toMessage,
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
    begin: (run) => {
      /** The id of a call that ends the run, so that no other call of the message runs. */
      let ender: string | undefined;
      let message: ReadonlySet<string> = new Set();
      return {
        async request(request, next, at) {
          const answer = await next(request);
          const calls = answer.ends === undefined ? findCalls(answer, request, at) : [];
          message = new Set(calls.map(({ call }) => call.callId));
          const messages = calls.length === 0 ? [] : messagesWith(answer, at);
          const made =
            calls.length === 0
              ? []
              : await at.step("calls", () =>
                  Promise.all(calls.map(async (one) => checkCall(checks, { run, at, messages }, one))),
                );
          verdicts.clear();
          written.clear();
          for (const [index, callId] of [...message].entries()) verdicts.set(callId, readVerdict(made[index] ?? {}));
          [ender] = [...verdicts].find(([, { denial }]) => denial?.guardrail?.endsRun === true) ?? [];
          return answer;
        },
        async call(call, next, at) {
          await at.afterMessage();
          const { callId } = call;
          if (ender !== undefined && ender !== callId && message.has(callId)) return { call, durationMs: 0, kind: "not-run" };
          const { tool, isChanged } = at;
          if (tool === undefined) return next(call);
          written.set(callId, call.args);
          if (isChanged || !verdicts.has(callId)) {
            const name = isChanged ? `check about ${digest(stableJson(toShown(tool)))}` : "check";
            const verdict = await at.step(name, () => checkCall(checks, { run, at }, { call, tool }));
            verdicts.set(callId, readVerdict(verdict));
          }
          return next(call);
        },
      };
    },
  };
}

interface CheckedTool {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
}

/** Returns the calls of the message that were not refused. */
function findCalls(answer: Answer, { tools, findableTools = [] }: RequestDraft, at: Recorder): readonly CheckedTool[] {
  if (answer.status !== "tool-calls") return [];
  const { continuation, current } = at.state;
  const refused = new Set(answer.refusals?.map(({ call }) => call.callId));
  const whole = continuation === 0 ? answer.calls : [...current.calls, ...answer.calls];
  const shown = new Map([...tools, ...findableTools].map((tool) => [tool.name, tool]));
  return whole.flatMap((call) => {
    const tool = shown.get(call.name);
    return tool === undefined || refused.has(call.callId) ? [] : [{ call, tool }];
  });
}

/** Returns the transcript with the new message, which is not in the state yet. */
function messagesWith(answer: Answer, { state }: Recorder): readonly Message[] {
  const { continuation, current, messages, isCurrentPlaced } = state;
  const whole = toMessage(joinMessage(continuation === 0 ? emptyMessage : current, answer));
  return Object.freeze([...(isCurrentPlaced ? messages.slice(0, -1) : messages), ...(whole === undefined ? [] : [whole])]);
}

interface CheckPorts {
  readonly run: RunFacts;
  readonly at: Recorder;
  readonly messages?: readonly Message[] | undefined;
}

/** Calls the checks in order. The first check that refuses the arguments denies the call. Never rejects. */
async function checkCall(checks: readonly ToolCheck[], ports: CheckPorts, { call, tool }: CheckedTool): Promise<Verdict> {
  const { run, at, messages } = ports;
  const { clock, timeouts } = run;
  const { hookMs: ms } = timeouts;
  const { signal } = at;
  let rewritten: Verdict["rewritten"];
  try {
    const context = await contextOf({ run, at, signal, messages }, { call, tool });
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
function readVerdict(value: unknown): Verdict {
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
