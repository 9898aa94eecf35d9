// Checks decisions and results before they are sent to waiting calls.

import { type CallDecision, LoopError, type LoopOptions } from "../../core/index.ts";
import { findAnswerIssue } from "../../shared/answer-issue.ts";
import { isApproval } from "../../shared/approval.ts";
import { isOutsideResult, renderIssues } from "../../shared/to-outcome.ts";
import { toJson } from "../../shared/json.ts";
import { toRegistry } from "../../core/kit.ts";
import { toCallPath } from "../../web/page-values.ts";
import type { JournalInspection } from "../../journal/index.ts";
import type { PendingCall } from "../../journal/index.ts";
import type { RunMessage } from "./durable-store.ts";
import { describeMisfit } from "./run-in-engine.ts";

interface PendingRun extends Pick<JournalInspection, "pendingCalls"> {
  readonly tools?: LoopOptions["tools"] | undefined;
}

/** Returns the message that sends a decision to its call. Returns undefined if no call waits for the decision. */
export async function toDecided(
  { pendingCalls, tools }: PendingRun,
  callId: string,
  decision: CallDecision,
): Promise<RunMessage | undefined> {
  // A caller may omit the suffix of the id, such as `#2`, because the tool that requested the result does not know the suffix.
  const isMeant = (one: PendingCall): boolean =>
    one.id === callId || (one.state === "awaiting-result" && one.question === undefined && toCallPath(one) === callId);
  const call = pendingCalls.find((one) => isWaitingCall(one) && isMeant(one));
  if (call === undefined) {
    const isAnswer = isLiveQuestion(callId) && isOutsideResult(decision);
    return isAnswer ? { verb: "answer", id: callId, answer: toJson(decision) } : undefined;
  }
  checkDecision(call, decision);
  await checkResult(tools, call, decision);
  return { verb: "answer", id: call.id, answer: toJson(decision) };
}

/** True for a call that an answer from outside lets go on. */
export function isWaitingCall({ state }: PendingCall): boolean {
  return state === "awaiting-approval" || state === "awaiting-result";
}

export function unknownDecision(pendingCalls: readonly PendingCall[], call: string): LoopError {
  const waiting = pendingCalls.filter(isWaitingCall).map(({ id }) => id);
  return new LoopError("unknown-decision", { call, ...(waiting.length === 0 ? {} : { waiting }) });
}

/** True for an id from a `question-asked` event. Such a question waits in the process of the run. */
function isLiveQuestion(id: string): boolean {
  return /#\w{8}-\d+$/.test(id);
}

/** Without this check, a run that gets a decision of the wrong kind would deny the call. */
function checkDecision({ id, state }: PendingCall, decision: unknown): void {
  const waitsFor = state === "awaiting-result" ? "result" : "approval";
  if (waitsFor === "result" ? isOutsideResult(decision) : isApproval(decision)) return;
  throw new LoopError("invalid-decision", { call: id, waitsFor, problem: describeMisfit(decision) });
}

/** Checks a result against the schema of the question or of the tool. The run itself checks the results of nested calls. */
async function checkResult(tools: LoopOptions["tools"], call: PendingCall, decision: CallDecision): Promise<void> {
  if (decision.kind !== "result" || call.id.includes("/")) return;
  if ("question" in call && call.question !== undefined) {
    const issue = findAnswerIssue(call.question.schema, decision.result);
    if (issue === undefined) return;
    const problem = `does not fit the schema of its question: ${renderIssues([issue])}`;
    throw new LoopError("invalid-decision", { call: call.id, waitsFor: "result", problem, issues: [issue] });
  }
  const checked = await toRegistry(tools ?? [], "tools").validateResult?.(call.name, toJson(decision.result));
  const { issues = [] } = checked !== undefined && "issues" in checked ? checked : {};
  if (issues.length === 0) return;
  const problem = `does not fit the outputSchema: ${issues.map(({ message }) => message).join("; ")}`;
  throw new LoopError("invalid-decision", { call: call.id, waitsFor: "result", problem, issues });
}
