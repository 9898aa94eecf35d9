// What becomes of a call that somebody was asked about: it runs, it is refused, or it waits until another execution has a decision.

import type { Json } from "../../types/json.ts";
import type { ApprovalDecision } from "../../types/policies.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { toJson } from "../../utils/json.ts";
import { whenReady } from "../../utils/promises.ts";
import { toDecision } from "../../policies/approval.ts";
import { refuseChanged } from "./execute-tool-call.ts";
import { editCall } from "./prepare-call.ts";
import type { Prepared, ReadyCall } from "../run/call.ts";
import { eventBase, type Run } from "../run/run.ts";
import { findToolChanges, toShown } from "../../tools/compare-tools.ts";
import { findTool } from "../../tools/registry.ts";
import type { BatchEntry, Room } from "./batch-entry.ts";
import {
  type FinalDecision,
  type OpenQuestion,
  questionId,
  type RecordedDecision,
  recordVerdict,
  refuseChangedTools,
  refusedBy,
} from "./record-verdicts.ts";
import { isReplayed, runStep } from "../run/run-step.ts";
import { callKey, decisionKey, editKey } from "../state/step-key.ts";

/** An answer, and whether it was given in this execution. */
export interface Answered {
  readonly answer: RecordedDecision;
  readonly live: boolean;
}

/** A ready call at its position in the batch. */
export interface Placed {
  readonly ready: ReadyCall;
  readonly index: number;
  /** How often it was asked about before, because its tool had changed. */
  readonly round: number;
  /** What `maxToolCalls` leaves room for, if the call is asked about for the first time. */
  readonly room?: Room | undefined;
}

/** The key of a call's question. */
export function approvalKey({ state }: Run, { ready, index, round }: Placed): string {
  return callKey(state, "approval", { index, name: ready.call.name, round });
}

/** Inside an ordinary tool nothing can wait: the tool's step has to end. */
export function toRecorded(
  run: Run,
  decided: ApprovalDecision,
  question: Omit<OpenQuestion, "kind" | "token">,
): RecordedDecision {
  if (decided.kind !== "ask") return decided;
  if (run.outer !== undefined && !run.isPart) return { kind: "deny", reason: "Nobody can be asked inside this tool." };
  return { ...question, kind: "ask", token: run.token };
}

/**
 * What became of a call. If nobody could decide about it when it was asked about, the execution that asked ends without an answer; a
 * later one takes it from its `decisions`, or asks on. A journal that can wait for days does, and no execution ends.
 */
export async function settleCall(run: Run, placed: Placed, first: Answered): Promise<BatchEntry> {
  const { ready, room } = placed;
  const { call } = ready;
  const { callId, name, args } = call;
  const key = approvalKey(run, placed);
  let { answer, live } = first;
  let asked: OpenQuestion | undefined;
  for (let attempt = 1; answer.kind === "ask"; attempt += 1) {
    const question: OpenQuestion = answer;
    asked = question;
    const next = decisionKey(key, attempt);
    if (question.isBeyond === true && room?.isFull() === true) return { call, durationMs: 0, kind: "limit" };
    if (!(await resumesPast(run, next, question.token))) {
      const isSequential = ready.definition.sequential === true;
      noteWaiting(run, callId, question);
      const id = questionId(callId, question.earlier);
      return { kind: "awaiting", call, id, key: next, isSequential, toolChanges: question.changes };
    }
    const waited = await waitFor(run, next);
    const body = (): RecordedDecision => decide(run, placed, { question, waited });
    const step = { key: next, kind: "approval" as const, input: { callId, name, args }, run: body };
    ({ answer, live } = await runStep(step, run, (given, isLive) => ({ answer: given, live: isLive })));
    // Each one, because a decision that put the call off may be given again when the run is over.
    const decided = answer.kind === "ask" ? { kind: "ask" } : answer;
    run.decisions.settle(questionId(callId, question.earlier), isAnew(answer, question) ? answer.passed : decided);
  }
  sendDecision(run, placed, { answer, live });
  const obeyed = await obey(run, { ...placed, ready: bind(run, placed, { answer, asked, live }) }, answer);
  // What is refused now is told as new, however much of its iteration was replayed.
  return obeyed.kind === "ready" || !live ? obeyed : { kind: "over", outcome: obeyed, live, announced: false };
}

/**
 * Takes the decision about an open question. A run that is being ended leaves the question open, so that the decision counts when it is
 * made again. If the tool has changed since the question, the decision was about another one: the question is asked anew.
 */
function decide(
  run: Run,
  { ready, index, room }: Placed,
  { question, waited }: { question: OpenQuestion; waited: ApprovalDecision | undefined },
): RecordedDecision {
  const { callId, name, args } = ready.call;
  const { tool, earlier = 0 } = question;
  if (run.scope.cause !== undefined) return toRecorded(run, { kind: "ask" }, question);
  if (room?.isFull() === true) return { ...question, token: run.token, isBeyond: true };
  // Taken also where the tool is gone: the call did wait for it.
  const decision = waited ?? run.decisions.take(questionId(callId, earlier));
  const now = findTool(run.registry, name);
  if (now === undefined) {
    refuseChangedTools(run, [ready]);
    return { kind: "refused", outcome: refuseChanged(ready.call, run) };
  }
  const since = findToolChanges(name, tool, toShown(now));
  if (since.length === 0) return toRecorded(run, decision ?? { kind: "ask" }, { ...question, isBeyond: undefined });
  run.events.send({ type: "approval-asked", ...eventBase(run), callId, name, index, args });
  const passed = decision === undefined ? {} : { passed: decision };
  return toRecorded(run, { kind: "ask" }, { tool: toShown(now), changes: since, earlier: earlier + 1, ...passed });
}

/** Whether an answer is a new question, about another tool. */
function isAnew(answer: RecordedDecision, question: OpenQuestion): answer is OpenQuestion {
  return answer.kind === "ask" && answer.earlier !== question.earlier;
}

function noteWaiting({ decisions }: Run, callId: string, { earlier = 0 }: OpenQuestion): void {
  decisions.noteWaiting(questionId(callId, earlier));
  for (let number = 0; number < earlier; number += 1) decisions.noteEarlier(questionId(callId, number));
}

function countQuestions({ questions }: ReadyCall, last: OpenQuestion | undefined): number | undefined {
  return last === undefined ? questions : (last.earlier ?? 0) + 1;
}

/** Binds an approval to the tool that it was given for: if the registry has another one by now, the call has to be asked about again. */
function bind(
  run: Run,
  { ready }: Placed,
  { answer, asked, live }: { answer: RecordedDecision; asked: OpenQuestion | undefined; live: boolean },
): ReadyCall {
  const { call, definition } = ready;
  const { recorded } = run.visibleTools;
  const about =
    asked?.tool ?? ("tool" in answer ? answer.tool : undefined) ?? (live ? undefined : recorded?.tools.get(call.name));
  const approved: ReadyCall = { ...ready, approved: true, mustAsk: undefined, questions: countQuestions(ready, asked) };
  if (about === undefined) return approved;
  const now = findTool(run.registry, call.name);
  if (now === undefined || findToolChanges(call.name, about, toShown(now)).length > 0)
    return { ...approved, mustAsk: "again", unvalidated: true };
  return now === definition ? approved : { ...approved, definition: now, unvalidated: true };
}

/**
 * Whether the run goes on past a call that was put off. The execution that asked about it has no answer, unless its journal waits for
 * one; another execution looks into its `decisions`; a replay goes as far as its records.
 */
function resumesPast(run: Run, next: string, asked: string): boolean | PromiseLike<boolean> {
  const { journal, token, scope } = run;
  if (journal.replays !== undefined) return isReplayed(run, next);
  return asked !== token || (journal.wait !== undefined && scope.cause === undefined);
}

/** Waits where the journal can. A run that is ended meanwhile does not go on waiting. */
async function waitFor({ journal, scope, clock }: Run, key: string): Promise<ApprovalDecision | undefined> {
  if (journal.wait === undefined || journal.replays !== undefined) return undefined;
  const raced = await new Deadline({ limitMs: Number.POSITIVE_INFINITY }, { clock, scope }).race(
    Promise.resolve(journal.wait(key)),
  );
  switch (raced.kind) {
    case "value":
      return toDecision(raced.value);
    case "thrown":
      throw raced.error;
    case "expired":
    case "cancelled":
      return undefined;
    default:
      return assertNever(raced);
  }
}

function obey(run: Run, placed: Placed, answer: FinalDecision): Prepared | PromiseLike<Prepared> {
  const { ready } = placed;
  if (answer.kind === "modify") return edit(run, placed, answer.args);
  return refusedBy(answer, ready.call) ?? ready;
}

/** What a person typed is rare, so that what its schema says is a step of its own. */
function edit(run: Run, { ready, index, round }: Placed, args: Json): Prepared | PromiseLike<Prepared> {
  if (ready.unvalidated === true) return { ...ready, unfit: undefined, args: toJson(args), approvedArgs: toJson(args) };
  const key = editKey(run.state, { index, name: ready.call.name, round });
  return whenReady(editCall(ready, args, run.ports), (entry) => recordVerdict(run, { entry, key }));
}

function sendDecision(run: Run, { ready, index }: Placed, { answer, live }: { answer: FinalDecision; live: boolean }): void {
  const { callId, name } = ready.call;
  const base = { type: "approval-decided" as const, ...eventBase(run, live), callId, name, index };
  if (answer.kind === "failed") run.events.send({ ...base, decision: "failed", error: answer.error });
  else if (answer.kind === "deny") run.events.send({ ...base, decision: "deny", reason: answer.reason });
  else if (answer.kind === "approve" || answer.kind === "modify")
    run.events.send({ ...base, decision: answer.kind, reason: undefined });
}
