// Reads and writes recorded decisions and validations. Also rejects calls whose tools have changed since the calls were
// recorded.

import type { ApprovalDecision, OutsideResult } from "../../types/policies.ts";
import type { ShownTool, ToolCall, ToolChange, ToolOutcome } from "../../types/tool-outcome.ts";
import { assertNever, isThenable } from "../../utils/guards.ts";
import { type ApprovalPorts, askApproval, type Cancelled, type FailedApproval } from "../../policies/approval.ts";
import { type ReadyCall, type BatchCall, type DeferredOutcome, readyOf, type Run } from "../run/run.ts";
import { concludeOutside, isOutsideResult } from "../../tools/to-outcome.ts";
import { type GivenAnswer, type Misfit, pageProblem } from "../run/decisions.ts";
import { addSpending } from "../../utils/count-usage.ts";
import { describeValue } from "../../utils/texts.ts";
import { edges } from "../../utils/edges.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { Step } from "../../types/old-journal.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { findMisfit, prepareCall, toUnfit } from "./prepare-call.ts";
import { runStep, runSteps } from "../run/run-step.ts";
import { callKey, editKey } from "../state/step-key.ts";
import { frozenView, outcomesById } from "../state/transcript.ts";

/** A recorded request for a decision. The execution that made the request got no decision. */
export interface OpenDecision {
  readonly kind: "ask";
  readonly token: string;
  /** The tool that the request is about. A decision is only valid for this version of the tool. */
  readonly tool: ShownTool;
  readonly changes?: readonly ToolChange[];
  /** The number of earlier requests about the same call. Absent if there were none. */
  readonly earlier?: number;
  /** The decision that the caller passed for the previous request. This decision was not used, because the tool had changed. */
  readonly passed?: ApprovalDecision;
  /** Set if the call exceeds `maxToolCalls`. A decision about the call is then not used. */
  readonly isBeyond?: true | undefined;
}

/** Returns the id of a request in the option `decisions`. Each request has its own id, so a decision fits only one request. */
export function decisionId(callId: string, earlier = 0): string {
  return earlier === 0 ? callId : `${callId}#${earlier + 1}`;
}

export type RecordedDecision =
  /** `tool` is the version of the tool that the decision is about. Absent if this is the version that the iteration shows. */
  | (Extract<ApprovalDecision, { kind: "approve" | "modify" }> & { readonly tool?: ShownTool })
  | Extract<ApprovalDecision, { kind: "deny" }>
  | Cancelled
  | FailedApproval
  | { readonly kind: "refused"; readonly outcome: ToolOutcome }
  | OpenDecision;

export type FinalDecision = Exclude<RecordedDecision, OpenDecision>;

/** A recorded request for a deferred result. The execution that made the request got no result. */
export interface OpenResult {
  readonly kind: "wait";
  readonly token: string;
  readonly earlier?: number;
}

/** The record of a deferred result: the result is still missing, was given, or was cancelled by the end of the run. */
export type RecordedResult = OpenResult | { readonly kind: "given"; readonly decision: OutsideResult } | Cancelled;

/** "cut" means that the run was ended during the validation. */
export type Verdict = { readonly kind: "fits" | "cut" } | { readonly kind: "refused"; readonly outcome: ToolOutcome };

/**
 * The record of the start of a nested run: the nested run has begun, the call ended without a nested run, or the call needs a
 * decision first.
 */
export type BegunRecord =
  | { readonly kind: "begun" }
  | { readonly kind: "over"; readonly outcome: ToolOutcome }
  | { readonly kind: "must-ask"; readonly mustAsk: NonNullable<BatchCall["mustAsk"]> };

interface Editing {
  readonly request: OpenDecision;
  readonly decided: RecordedDecision;
}

export function toApprovalPorts(
  { state, options, timeouts, clock, scope }: Run,
  tool: ToolDefinition,
  asking: Pick<ApprovalPorts, "approve" | "validated">,
): ApprovalPorts {
  const { session = {}, context } = options;
  const { iteration, messages } = state;
  const approvalMs = Math.min(timeouts.approvalMs, Math.ceil(scope.reserveInMs(clock.now())));
  const view = { tool, iteration, messages: frozenView(messages), session, context };
  return { ...asking, approvalMs, hookMs: timeouts.hookMs, context: view, clock, scope };
}

/** Calls the guardrails for arguments that a person edited. Edited arguments may come from a page, so they are not trusted. */
export function checkEdit(run: Run, one: BatchCall, { request, decided }: Editing): RecordedDecision | Promise<RecordedDecision> {
  const approve = decided.kind === "modify" ? run.features.guardrails?.around(() => decided) : undefined;
  if (decided.kind !== "modify" || approve === undefined) return decided;
  const ports = toApprovalPorts(run, readyOf(one).definition, { approve, validated: () => undefined });
  // If the run was ended during the check, the request stays open.
  return askApproval({ ...one.call, args: decided.args }, ports).then((checked) =>
    checked.kind === "cancelled" || checked.kind === "ask" ? { ...request, token: run.token } : checked,
  );
}

/** Remembers the decision, even "ask", because the caller may pass the same decision again after the run has ended. */
export function noteDecided({ decisions, features }: Run, id: string, { request, decided: answer }: Editing): void {
  if (answer.kind === "ask") decisions.settle(id, answer.earlier === request.earlier ? { kind: "ask" } : answer.passed);
  // A guardrail may have changed the recorded decision, so the recorded decision may differ from the decision that the caller
  // passed.
  else if (features.guardrails !== undefined) decisions.noteEarlier(id);
  else decisions.settle(id, answer);
}

export function refusedBy(decision: FinalDecision, call: ToolCall): ToolOutcome | undefined {
  switch (decision.kind) {
    case "approve":
    case "modify":
      return undefined;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: decision.reason, guardrail: decision.guardrail };
    case "failed":
      return { call, durationMs: 0, kind: "approval-failed", error: decision.error };
    case "refused":
      return decision.outcome;
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(decision);
  }
}

export function keptFactsOf(deferred: DeferredOutcome): Omit<DeferredOutcome, "kind" | "fromPage" | "question"> {
  const { kind: _, fromPage: __, question: ___, ...facts } = deferred;
  return facts;
}

/** The duration and the spending come from `deferred`. */
export function answeredBy(record: Exclude<RecordedResult, OpenResult>, deferred: DeferredOutcome): ToolOutcome {
  return { ...keptFactsOf(deferred), ...(record.kind === "given" ? concludeOutside(record.decision) : { kind: "interrupted" }) };
}

/** Returns the recorded answer to a question. Returns undefined if the call waited for its result instead. */
export function answerIn(record: RecordedResult, { question }: DeferredOutcome): GivenAnswer | undefined {
  return record.kind === "given" && question !== undefined ? { question, decision: record.decision } : undefined;
}

/**
 * Returns `outcome`, with the duration and the spending of earlier executions of the tool added. Each of these executions ended
 * with a question.
 */
export function joinPhases(asked: DeferredOutcome | undefined, outcome: ToolOutcome): ToolOutcome {
  if (asked === undefined) return outcome;
  const durationMs = asked.durationMs + outcome.durationMs;
  const { nested } = asked;
  if (nested === undefined) return { ...outcome, durationMs };
  return { ...outcome, durationMs, nested: outcome.nested === undefined ? nested : addSpending(nested, outcome.nested) };
}

/** Stores the answer to a question. The tool then runs again, and `context.ask` returns the answer. */
export function noteAnswer(run: Run, one: BatchCall, given: GivenAnswer): void {
  one.answers.push(given);
  run.ports.questionsOf(one.call.callId).answers = one.answers;
  one.asked = one.deferred;
  one.requests += 1;
  one.deferred = undefined;
  one.outcome = undefined;
  one.isLive = undefined;
}

export async function findResultProblem(
  run: Run,
  { call, deferred }: BatchCall,
  given: unknown,
): Promise<string | Misfit | undefined> {
  if (!isOutsideResult(given)) return `is ${describeValue(given)}`;
  const { fromPage, question } = deferred ?? {};
  if (given.fromPage === true && fromPage !== true) return pageProblem;
  if (question === undefined) {
    const issues = await findMisfit(call, given, run);
    return issues && { schema: '"outputSchema" of its tool', issues };
  }
  const issue = given.kind === "result" ? edges.findAnswerIssue?.(question.schema, given.result) : undefined;
  return issue && { schema: "schema of its question", issues: [issue] };
}

/** Returns the outcome of a call that must not run. This includes a call whose run was ended during the validation. */
export function unfitBy(verdict: Verdict | undefined, call: ToolCall): ToolOutcome | undefined {
  switch (verdict?.kind) {
    case "refused":
      return verdict.outcome;
    case "cut":
      return { call, durationMs: 0, kind: "not-run" };
    case "fits":
    case undefined:
      return undefined;
    default:
      return assertNever(verdict);
  }
}

/**
 * Throws LoopError "tools-changed" if the tools of recorded calls have changed, unless `policies.allowToolChange` allows each
 * change. If a call was approved or waits for a decision, only the removal of its tool is an error. After any other change, the
 * decision is requested again.
 */
export function refuseChangedTools(run: Run, calls: readonly BatchCall[]): void {
  const { recorded } = run.visibleTools;
  if (recorded === undefined || recorded.changes.size === 0) return;
  // A set, because several calls of one tool have the same changes. Each call counts: one of them may already have its outcome.
  const changes = new Set(calls.flatMap((one) => changesOf(one, recorded.changes.get(one.call.name))));
  const refused = [...changes].filter((change) => !isAllowed(run, change));
  if (refused.length === 0) return;
  throw new LoopError("tools-changed", { changed: [...new Set(refused.map(({ toolName }) => toolName))], changes: refused });
}

/** Only the value `true` allows a change. A policy that throws an error or returns a promise allows nothing. */
function isAllowed({ options, events, state }: Run, change: ToolChange): boolean {
  let allowed: unknown;
  const ask = (): unknown => (allowed = options.policies?.allowToolChange?.(change));
  events.guard({ type: "allowToolChange", iteration: state.iteration }, ask);
  return allowed === true;
}

function changesOf({ outcome, pending, isApproved }: BatchCall, changes: readonly ToolChange[] = []): readonly ToolChange[] {
  if (outcome !== undefined) return [];
  return isApproved || pending !== undefined ? changes.filter(isRemoval) : changes;
}

function isRemoval({ kind }: ToolChange): boolean {
  return kind === "removed";
}

/**
 * Restores which calls of a batch were ready, and which were refused, at the end of their stream. Recorded refusals take
 * precedence over new checks. If a new check refuses a call that was ready, the recorded outcome of the call is used. Without a
 * recorded outcome, the call is refused. An asynchronous validation is recorded as a separate step.
 */
export function recallCalls(run: Run, calls: readonly BatchCall[]): void | Promise<void> {
  const { refusals = [], lateChecks = [] } = run.state.streamResults.at(-1) ?? {};
  const refused = outcomesById(refusals);
  const late = new Set(lateChecks);
  const slow: Promise<void>[] = [];
  for (const one of calls) {
    if (one.outcome !== undefined) continue;
    const { callId } = one.call;
    const found = run.prepared?.get(callId) ?? refused.get(callId) ?? recall(run, one, late.has(callId));
    if (isThenable(found)) slow.push(found.then((fit) => take(one, fit)));
    else take(one, found);
  }
  return slow.length === 0 && late.size === 0 ? undefined : validateLate(run, calls, { late, slow });
}

/** Prepares a recorded call again. The record does not list the call as refused, so the call may have run. */
function recall(run: Run, { call }: BatchCall, isLate: boolean): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const found = prepareCall(call, run.ports);
  if (isLate) return found;
  return isThenable(found) ? found.then((fit) => keepFit(run, fit)) : keepFit(run, found);
}

function keepFit({ ports }: Run, found: ReadyCall | ToolOutcome): ReadyCall | ToolOutcome {
  return found.kind === "ready" ? found : toUnfit(found, ports);
}

function take(one: BatchCall, found: ReadyCall | ToolOutcome): void {
  if (found.kind === "ready") one.ready = found;
  else one.outcome = found;
}

interface Late {
  readonly late: ReadonlySet<string>;
  readonly slow: readonly Promise<void>[];
}

async function validateLate(run: Run, calls: readonly BatchCall[], { late, slow }: Late): Promise<void> {
  await Promise.all(slow);
  const checked = calls.filter(({ call, isEmitted }) => late.has(call.callId) && !isEmitted);
  const steps = checked.map(({ call, index, ready, outcome }) =>
    verdictStep(run, { call, key: callKey(run.state, "validation", { index, name: call.name }), found: outcome ?? ready }),
  );
  const verdicts = await runSteps(steps, run, (answers) => answers);
  for (const [position, one] of checked.entries()) applyVerdict(run, one, verdicts[position]);
}

/** If the validation of edited arguments was cut off, the call never runs. */
export function recordEdit(run: Run, one: BatchCall, edited: ReadyCall | ToolOutcome): void | PromiseLike<void> {
  const { call, index, round } = one;
  const key = editKey(run.state, { index, name: call.name, round });
  take(one, edited);
  return runStep(verdictStep(run, { call, key, found: edited }), run, (verdict) => applyVerdict(run, one, verdict));
}

interface Validated {
  readonly call: ToolCall;
  readonly key: string;
  readonly found: ReadyCall | ToolOutcome | undefined;
}

function verdictStep(run: Run, { call: { callId, name, args }, key, found }: Validated): Step<Verdict> {
  const body = (): Verdict => {
    if (found !== undefined && found.kind !== "ready") return { kind: "refused", outcome: found };
    return { kind: run.scope.cause === undefined ? "fits" : "cut" };
  };
  return { key, kind: "validation", input: { callId, name, args }, run: body };
}

function applyVerdict(run: Run, one: BatchCall, verdict: Verdict | undefined): void {
  const { call, outcome } = one;
  const refused = unfitBy(verdict, call);
  if (refused !== undefined) one.outcome = refused;
  else if (outcome !== undefined && verdict?.kind === "fits") {
    one.outcome = undefined;
    take(one, toUnfit(outcome, run.ports));
  }
}
