// Settles a call after a decision about it was requested: the call may run, is refused, or waits for a later execution.

import type { Json } from "../../types/common.ts";
import type { Step } from "../../types/old-journal.ts";
import type { ApprovalDecision, OutsideResult } from "../../types/policies.ts";
import type { ShownTool } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/guards.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { toRecordedResult } from "../../tools/to-outcome.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { toJson } from "../../utils/json.ts";
import { toDecision } from "../../policies/approval.ts";
import { refuseChanged } from "./execute-tool-call.ts";
import { editCall } from "./prepare-call.ts";
import { type BatchCall, eventBase, readyOf, type Run } from "../run/run.ts";
import { findToolChanges, toShown } from "../../tools/compare-tools.ts";
import { denials } from "../../tools/outcome-texts.ts";
import { findTool } from "../../tools/registry.ts";
import { batchKey, limitOf, type Room } from "./batch.ts";
import {
  answeredBy,
  answerIn,
  checkEdit,
  type FinalDecision,
  findResultProblem,
  noteAnswer,
  noteDecided,
  type OpenDecision,
  type OpenResult,
  decisionId,
  type RecordedDecision,
  type RecordedResult,
  recordEdit,
  refuseChangedTools,
  refusedBy,
} from "./record-verdicts.ts";
import { canWait, isCut, isReplayed, runStep, runSteps } from "../run/run-step.ts";
import { decisionKey } from "../state/step-key.ts";

/** `live` is true if this execution made the decision, and false if it was replayed. */
export interface Answered {
  readonly answer: RecordedDecision;
  readonly live: boolean;
  /** Counts the calls that `maxToolCalls` still allows. Set only for the first request for a decision. */
  readonly room?: Room | undefined;
}

/**
 * Converts a decision to the form that the journal records. In a run that an ordinary tool started, "ask" becomes a denial,
 * because the step of that tool cannot wait.
 */
export function toRecorded(run: Run, decided: ApprovalDecision, request: Omit<OpenDecision, "kind" | "token">): RecordedDecision {
  if (decided.kind !== "ask") return decided;
  if (!canWait(run)) return { kind: "deny", reason: denials.insideTool };
  return { ...request, kind: "ask", token: run.token };
}

/**
 * Settles a call. If there is no decision, the call waits, and this execution of the run ends. A later execution takes the
 * decision from its option `decisions`, or requests it again. If the journal can wait for days, this execution waits instead of
 * ending.
 */
export async function settleCall(run: Run, one: BatchCall, first: Answered): Promise<void> {
  const { room } = first;
  const { callId, name, args } = one.call;
  const key = batchKey(run, "approval", one);
  let { answer, live } = first;
  let asked: OpenDecision | undefined;
  for (let attempt = 1; answer.kind === "ask"; attempt += 1) {
    const request: OpenDecision = answer;
    asked = request;
    const next = decisionKey(key, attempt);
    const id = decisionId(callId, request.earlier);
    if (request.isBeyond === true && room?.isFull() === true) {
      one.outcome = limitOf(one);
      return;
    }
    if (!(await resumesPast(run, next, request.token))) {
      noteWaiting(run, callId, request);
      one.pending = { id, key: next, toolChanges: request.changes };
      return;
    }
    const sent = await waitFor(run, next);
    const waited = sent === undefined ? undefined : toDecision(sent.value);
    const body = (): RecordedDecision | Promise<RecordedDecision> =>
      checkEdit(run, one, { request, decided: decide(run, one, { request, waited, room }) });
    const step = { key: next, kind: "approval" as const, input: { callId, name, args }, run: body };
    ({ answer, live } = await runStep(step, run, (given, isLive) => ({ answer: given, live: isLive })));
    noteDecided(run, id, { request, decided: answer });
  }
  const decided = { answer, asked, live };
  sendDecision(run, one, decided);
  await applyDecision(run, one, decided);
  // The events of a call that is refused now are not marked as replayed, even if the iteration was replayed.
  if (one.outcome !== undefined && live) one.isLive = true;
}

interface Taking {
  readonly request: OpenDecision;
  readonly waited: ApprovalDecision | undefined;
  readonly room: Room | undefined;
}

/**
 * Takes the decision about an open request. If the run is being ended, the request stays open, so that the caller can pass the
 * decision again. If the tool has changed since the request, the decision does not apply to the new tool, and another request is
 * made.
 */
function decide(run: Run, one: BatchCall, { request, waited, room }: Taking): RecordedDecision {
  const { callId, name, args } = one.call;
  const { tool, earlier = 0 } = request;
  if (run.scope.cause !== undefined) return toRecorded(run, { kind: "ask" }, request);
  if (room?.isFull() === true) return { ...request, token: run.token, isBeyond: true };
  // Takes the decision even if the tool was removed, because the call was waiting for this decision.
  const decision = waited ?? run.decisions.takeApproval(decisionId(callId, earlier));
  const now = findTool(run.registry, name);
  if (now === undefined) {
    refuseChangedTools(run, [one]);
    return { kind: "refused", outcome: refuseChanged(one.call, run.ports) };
  }
  const since = findToolChanges(name, tool, toShown(now));
  if (since.length === 0) return toRecorded(run, decision ?? { kind: "ask" }, { ...request, isBeyond: undefined });
  run.events.send({ type: "approval-asked", ...eventBase(run), callId, name, index: one.index, args });
  const passed = decision === undefined ? {} : { passed: decision };
  return toRecorded(run, { kind: "ask" }, { tool: toShown(now), changes: since, earlier: earlier + 1, ...passed });
}

function noteWaiting({ decisions }: Run, callId: string, { earlier = 0 }: OpenDecision): void {
  decisions.noteWaiting(decisionId(callId, earlier));
  for (let number = 0; number < earlier; number += 1) decisions.noteEarlier(decisionId(callId, number));
}

/**
 * `asked` is the open request that the decision answers, if there was one. `live` is true if this execution made the decision.
 */
interface Decided {
  readonly answer: FinalDecision;
  readonly asked: OpenDecision | undefined;
  readonly live: boolean;
}

async function applyDecision(run: Run, one: BatchCall, decided: Decided): Promise<void> {
  const { answer } = decided;
  one.outcome = refusedBy(answer, one.call);
  if (answer.kind !== "approve" && answer.kind !== "modify") return;
  bind(run, one, { ...decided, answer });
  if (answer.kind === "modify") await edit(run, one, answer.args);
}

/**
 * Binds an approval to the approved version of the tool. If the registry has another version now, the call needs another
 * decision.
 */
function bind(run: Run, one: BatchCall, decided: Decided): void {
  const { asked } = decided;
  const ready = readyOf(one);
  const { name } = one.call;
  one.isApproved = true;
  one.mustAsk = undefined;
  if (asked !== undefined) one.requests = (asked.earlier ?? 0) + 1;
  const about = findShown(run, one, decided);
  if (about === undefined) return;
  const now = findTool(run.registry, name);
  if (now === undefined || findToolChanges(name, about, toShown(now)).length > 0) {
    one.mustAsk = "again";
    one.ready = { ...ready, unvalidated: true };
  } else if (now !== ready.definition) one.ready = { ...ready, definition: now, unvalidated: true };
}

/** Returns undefined if the decision is about the version of the tool that the current iteration shows. */
function findShown({ visibleTools }: Run, { call }: BatchCall, { answer, asked, live }: Decided): ShownTool | undefined {
  const decidedFor = asked?.tool ?? ("tool" in answer ? answer.tool : undefined);
  return decidedFor ?? (live ? undefined : visibleTools.recorded?.tools.get(call.name));
}

/**
 * Returns true if the run can continue after a request that had no decision. A later execution can continue, because its option
 * `decisions` may contain the decision. The execution that made the request can only continue if its journal can wait. A replay
 * continues if the journal contains the next step.
 */
function resumesPast(run: Run, next: string, asked: string): boolean | PromiseLike<boolean> {
  const { journal, token, scope } = run;
  if (journal.replays !== undefined) return isReplayed(run, next);
  return asked !== token || (journal.wait !== undefined && scope.cause === undefined);
}

async function waitFor({ journal, scope, clock }: Run, key: string): Promise<{ readonly value: unknown } | undefined> {
  if (journal.wait === undefined || journal.replays !== undefined) return undefined;
  const raced = await new Deadline({ limitMs: Number.POSITIVE_INFINITY }, { clock, scope }).race(
    Promise.resolve(journal.wait(key)),
  );
  switch (raced.kind) {
    case "value":
      return raced;
    case "thrown":
      throw raced.error;
    case "expired":
    case "cancelled":
      return undefined;
    default:
      return assertNever(raced);
  }
}

/**
 * Requests the results of deferred calls. The results come from the option `decisions` of a later execution, or from a journal
 * that can wait for days.
 */
export async function askResults(run: Run, calls: readonly BatchCall[], isBarred: boolean): Promise<void> {
  const steps = calls.map((one): Step<RecordedResult> => {
    const earlier = one.requests === 0 ? {} : { earlier: one.requests };
    const body = (): RecordedResult =>
      isBarred || isCut(run) ? { kind: "cancelled" } : { kind: "wait", token: run.token, ...earlier };
    return { ...resultStep(run, one), run: body };
  });
  const asked = await runSteps(steps, run, (answers, live) =>
    answers.map((answer, position) => ({ answer, live: live[position] === true })),
  );
  for (const [position, one] of calls.entries()) await settleResult(run, one, asked[position]);
}

function resultStep(run: Run, one: BatchCall): Pick<Step<RecordedResult>, "key" | "kind" | "input"> {
  const { callId, name, args } = one.call;
  return { key: batchKey(run, "result", one), kind: "result", input: { callId, name, args } };
}

interface AskedResult {
  readonly answer: RecordedResult;
  readonly live: boolean;
}

/** If there is no result yet, the call waits for a later execution. */
async function settleResult(run: Run, one: BatchCall, asked: AskedResult | undefined): Promise<void> {
  if (asked === undefined || one.deferred === undefined) return;
  const asking = resultStep(run, one);
  let { answer, live } = asked;
  for (let attempt = 1; answer.kind === "wait"; attempt += 1) {
    const request: OpenResult = answer;
    const id = decisionId(one.call.callId, request.earlier);
    const key = decisionKey(asking.key, attempt);
    // An answer must have the id of its question, because a call may ask several questions. A result may have the id of its call.
    if (one.deferred.question === undefined) run.decisions.renameResult(one.call.callId, id);
    if (!hasResult(run, id) && !(await resumesPast(run, key, request.token))) {
      run.decisions.noteWaiting(id);
      one.pending = { id, key };
      return;
    }
    const waited = await waitFor(run, key);
    const body = (): Promise<RecordedResult> => takeResult(run, one, { request, id, waited });
    ({ answer, live } = await runStep({ ...asking, key, run: body }, run, (given, isLive) => ({ answer: given, live: isLive })));
    run.decisions.settle(id, answer.kind === "given" ? answer.decision : { kind: "ask" });
  }
  const given = answerIn(answer, one.deferred);
  if (given !== undefined) return noteAnswer(run, one, given);
  one.outcome = answeredBy(answer, one.deferred);
  one.isLive = live;
}

/**
 * True if the caller has passed the result to this execution. This is possible even if the request is new in this execution: an
 * earlier execution may have run the call, and ended before it recorded the request.
 */
function hasResult({ journal, scope, decisions }: Run, id: string): boolean {
  return journal.replays === undefined && scope.cause === undefined && decisions.isLeft(id);
}

interface TakingResult {
  readonly request: OpenResult;
  readonly id: string;
  readonly waited: { readonly value: unknown } | undefined;
}

/**
 * Takes the result that was passed for an open request. If the run is being ended, the request stays open. If a passed result
 * does not fit the schema of the tool, the run rejects and records nothing. If a result from `journal.wait` does not fit, the
 * request stays open instead, because an engine delivers each value only once.
 */
async function takeResult(run: Run, one: BatchCall, { request, id, waited }: TakingResult): Promise<RecordedResult> {
  const open: RecordedResult = { ...request, token: run.token };
  if (run.scope.cause !== undefined) return open;
  const given: unknown = waited === undefined ? run.decisions.findResult(id) : waited.value;
  if (given === undefined) return open;
  const refused = await findResultProblem(run, one, given);
  // The request also stays open if the run was ended during the validation.
  if (run.scope.cause !== undefined) return open;
  if (refused === undefined) {
    run.decisions.drop(id);
    return { kind: "given", decision: toRecordedResult(given as OutsideResult) };
  }
  const error = run.decisions.refuse(id, "result", refused);
  if (waited === undefined) throw error;
  run.events.send({ type: "listener-error", ...eventBase(run), event: "journal.wait", error: toPlainError(error) });
  return open;
}

/** The validation of an edit is recorded as a separate step, so that calls without edits need no such step. */
async function edit(run: Run, one: BatchCall, args: Json): Promise<void> {
  const ready = readyOf(one);
  if (ready.unvalidated === true) one.ready = { ...ready, unfit: undefined, args: toJson(args), approvedArgs: toJson(args) };
  else await recordEdit(run, one, await editCall(ready, args, run.ports));
}

function sendDecision(run: Run, { call, index }: BatchCall, { answer, asked, live }: Decided): void {
  const { callId, name } = call;
  const question = asked === undefined ? {} : { question: decisionId(callId, asked.earlier) };
  const base = { type: "approval-decided" as const, ...eventBase(run, live), callId, name, index, ...question };
  const { events } = run;
  if (answer.kind === "failed") events.send({ ...base, decision: "failed", error: answer.error });
  else if (answer.kind === "deny") events.send({ ...base, decision: "deny", reason: answer.reason, guardrail: answer.guardrail });
  else if (answer.kind === "approve" || answer.kind === "modify")
    events.send({ ...base, decision: answer.kind, reason: undefined, ...("args" in answer && { args: answer.args }) });
}
