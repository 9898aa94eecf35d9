// The second phase of a batch: asks for each call that is ready, all at once, before any of them runs.

import type { Step } from "../../contract/journal.ts";
import type { Json } from "../../contract/json.ts";
import type { ApprovalDecision, Approve } from "../../contract/policies.ts";
import type { ToolCall } from "../../contract/tool-outcome.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { assertNever } from "../../kit/assert-never.ts";
import { Deadline } from "../../kit/deadline.ts";
import { digest, stableJson } from "../../kit/stable-json.ts";
import { whenReady } from "../../kit/when-ready.ts";
import { askApproval, type Cancelled, toDecision, waitWhereNeeded } from "../../policies/approval.ts";
import { editCall, type Prepared, type ReadyCall } from "../../stages/prepare-call.ts";
import { frozenView } from "../../state/frozen-view.ts";
import type { BatchEntry } from "./batch-entry.ts";
import { eventBase } from "../run/event-base.ts";
import { isReplayed } from "../run/ask-journal.ts";
import { recordVerdict } from "./record-verdicts.ts";
import type { Run } from "../run/run.ts";
import { runStep, runSteps } from "../run/run-step.ts";
import { againKey, callKey } from "../run/step-key.ts";

/** What the journal keeps: a decision, that the run ended before there was one, or which execution was left without one. */
type RecordedDecision =
  | Exclude<ApprovalDecision, { kind: "ask" }>
  | Cancelled
  /** `schema` is the digest of what the tool's schema was then. */
  | { readonly kind: "ask"; readonly token: string; readonly schema: string };

interface Answered {
  readonly answer: RecordedDecision;
  /** Whether it was given in this execution. */
  readonly live: boolean;
}

/** A ready call at its position in the batch. */
interface Placed {
  readonly ready: ReadyCall;
  readonly index: number;
}

/** One that somebody has to decide about, and who. */
interface Asked extends Placed {
  readonly approve: Approve;
}

/**
 * Asks for every ready call that somebody has to decide about. Refused ones become their outcome; edited ones are validated again; some
 * may have to wait.
 */
export async function approveCalls(run: Run, prepared: readonly BatchEntry[]): Promise<readonly BatchEntry[]> {
  const asked = prepared.flatMap((entry, index) => toAsked(run, entry, index));
  if (asked.length === 0) return prepared;
  const steps = asked.map((one) => approvalStep(run, one));
  const answers = await runSteps(steps, run, (given, live) =>
    given.map((answer, position): Answered => ({ answer, live: live[position] === true })),
  );
  const approved: BatchEntry[] = [...prepared];
  for (const [position, one] of asked.entries()) {
    const answered = answers[position];
    if (answered !== undefined) approved[one.index] = await settleCall(run, one, answered);
  }
  return approved;
}

/** A policy decides about all calls. Without one only those count whose tool wants a decision. */
function toAsked({ options }: Run, entry: BatchEntry, index: number): readonly Asked[] {
  if (entry.kind !== "ready") return [];
  const { approve } = options.policies ?? {};
  if (approve !== undefined) return [{ ready: entry, index, approve }];
  const { needsApproval = false } = entry.definition;
  return needsApproval === false ? [] : [{ ready: entry, index, approve: waitWhereNeeded }];
}

function approvalStep(run: Run, { ready, index, approve }: Asked): Step<RecordedDecision> {
  const { events, state, options, timeouts, clock, scope } = run;
  const { session = {} } = options;
  const { call } = ready;
  const { callId, name, args } = call;
  const { iteration, messages } = state;
  const body = async (): Promise<RecordedDecision> => {
    if (ready.unfit !== undefined) return { kind: "deny", reason: "The arguments do not fit the schema of the tool any more." };
    events.send({ type: "approval-asked", ...eventBase(run), callId, name, args });
    const context = { tool: ready.definition, iteration, messages: frozenView(messages), session, context: options.context };
    return toRecorded(run, ready, await askApproval(call, { approve, approvalMs: timeouts.approvalMs, context, clock, scope }));
  };
  return { key: approvalKey(run, ready, index), kind: "approval", input: { callId, name, args }, run: body };
}

function approvalKey({ state }: Run, { call }: ReadyCall, index: number): string {
  return callKey(state, "approval", { index, name: call.name });
}

/** Inside an ordinary tool nothing can wait: the tool's step has to end. */
function toRecorded(run: Run, { definition }: ReadyCall, decided: ApprovalDecision | Cancelled): RecordedDecision {
  if (decided.kind !== "ask") return decided;
  if (run.outer !== undefined && !run.isPart) return { kind: "deny", reason: "Nobody can be asked inside this tool." };
  return { kind: "ask", token: run.token, schema: digest(stableJson(definition.inputSchema)) };
}

/**
 * What became of a call. Where nobody could decide about it when it was asked for, the execution that asked ends without an answer; a
 * later one takes it from its `decisions`, or asks on. A journal that can wait for days does, and no execution ends.
 */
async function settleCall(run: Run, { ready, index }: Placed, first: Answered): Promise<BatchEntry> {
  const { call } = ready;
  const { callId, name, args } = call;
  const key = approvalKey(run, ready, index);
  let { answer, live } = first;
  for (let attempt = 1; answer.kind === "ask"; attempt += 1) {
    checkSchema(ready, answer.schema);
    const next = againKey(key, "decision", attempt);
    if (!(await resumesPast(run, next, answer.token))) {
      return { kind: "awaiting", call, key: next, isSequential: ready.definition.sequential === true };
    }
    const waited = await waitFor(run, next);
    const body = (): RecordedDecision => {
      if (run.scope.cause !== undefined) return { kind: "cancelled" };
      return toRecorded(run, ready, waited ?? run.decisions.take(callId) ?? { kind: "ask" });
    };
    const step = { key: next, kind: "approval" as const, input: { callId, name, args }, run: body };
    ({ answer, live } = await runStep(step, run, (given, isLive) => ({ answer: given, live: isLive })));
    // Each one, because whoever had it put off may say so again when the run is over.
    run.decisions.settle(callId, answer.kind === "ask" ? { kind: "ask" } : answer);
  }
  sendDecision(run, call, { answer, live });
  const obeyed = await obey(run, { ready, index }, answer);
  // What is refused now is told as new, however much of its pass was replayed.
  return obeyed.kind === "ready" || !live ? obeyed : { kind: "over", outcome: obeyed, live, announced: false };
}

/**
 * Whether the run goes on past a call that was put off. The execution that asked about it has no answer, unless its journal waits for
 * one; another execution looks into its `decisions`; a replay goes as far as its records.
 */
function resumesPast(run: Run, next: string, asked: string): boolean | PromiseLike<boolean> {
  const { journal, token } = run;
  if (journal.replays !== undefined) return isReplayed(run, next);
  return journal.wait !== undefined || asked !== token;
}

/** What was approved of one tool is not what another one of its name would get. */
function checkSchema({ definition }: ReadyCall, asked: string): void {
  if (digest(stableJson(definition.inputSchema)) === asked) return;
  throw new LoopError("tools-changed", { changed: [definition.name] });
}

/** Waits where the journal can. A run that is ended meanwhile does not go on waiting. */
async function waitFor({ journal, scope, clock }: Run, key: string): Promise<ApprovalDecision | Cancelled | undefined> {
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
      return { kind: "cancelled" };
    default:
      return assertNever(raced);
  }
}

type Final = Exclude<RecordedDecision, { kind: "ask" }>;

function obey(run: Run, { ready, index }: Placed, answer: Final): Prepared | PromiseLike<Prepared> {
  const { call } = ready;
  switch (answer.kind) {
    case "approve":
      return ready;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: answer.reason };
    case "modify":
      return edit(run, { ready, index }, answer.args);
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(answer);
  }
}

/** What a person typed is rare, so that what its schema says is a step of its own. */
function edit(run: Run, { ready, index }: Placed, args: Json): Prepared | PromiseLike<Prepared> {
  const key = `${callKey(run.state, "validation", { index, name: ready.call.name })}/edit`;
  return whenReady(editCall(ready, args, run.ports), (entry) => recordVerdict(run, { entry, key }));
}

function sendDecision(run: Run, { callId, name }: ToolCall, { answer, live }: { answer: Final; live: boolean }): void {
  if (answer.kind === "cancelled") return;
  const reason = answer.kind === "deny" ? answer.reason : undefined;
  run.events.send({ type: "approval-decided", ...eventBase(run, live), callId, name, decision: answer.kind, reason });
}
