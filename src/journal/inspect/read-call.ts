import {
  answeredBy,
  answerIn,
  type BegunRecord,
  callKey,
  type CallPlace,
  decisionKey,
  type DeferredOutcome,
  detectContextRestart,
  earlyOutcomesOf,
  editKey,
  type Ending,
  isCallKey,
  joinPhases,
  type LoopState,
  type NestedSpending,
  decisionId,
  type RecordedDecision,
  type RecordedResult,
  refusedBy,
  type SettledCall,
  stepKey,
  type ToolCall,
  type ToolOutcome,
  unfitBy,
  type Verdict,
} from "../../core/entry-kit.ts";
import type { PendingCall, Records } from "./records.ts";

interface BatchProgress {
  readonly settled: readonly SettledCall[] | undefined;
  readonly pending: readonly PendingCall[];
  /** If `settled` is undefined: the calls that have an outcome. */
  readonly over?: readonly SettledCall[];
}

export function readBatch(reading: CallReading, isOver: boolean): BatchProgress {
  const found = reading.state.current.calls.map((call, index) => readCall(reading, call, index));
  const pending = found.flatMap((one) => one.pending);
  const has = (stage: CallProgress["stage"]): boolean => found.some((one) => one.stage === stage);
  // A run that is called again with a higher limit may continue with the tool calls of a previous iteration. The final record of
  // the journal then belongs to one of these calls.
  const isOpen = has("begun") || !isOver || (has("waits") && isCallKey(reading.state, reading.records.last ?? ""));
  if (isOpen && (has("begun") || !has("waits"))) {
    const over = found.flatMap(({ stage, settled }) => (stage === "over" ? [settled] : []));
    return { settled: undefined, pending, over };
  }
  if (isOpen) return { settled: found.map(({ settled }) => settled), pending };
  return { settled: addResults(reading, found.map(toLast)), pending: [] };
}

/** If the iteration has finished and no outcome of a call is recorded, a limit has stopped the call. */
function toLast({ stage, settled }: CallProgress): SettledCall {
  return stage === "over" ? settled : { outcome: { call: settled.outcome.call, durationMs: 0, kind: "limit" } };
}

type Processed = Pick<SettledCall, "textForModel" | "extraction"> & { readonly index: number };

function addResults({ records, state }: CallReading, settled: readonly SettledCall[]): readonly SettledCall[] {
  const processed = records.find<readonly Processed[]>(stepKey(state, "results")) ?? [];
  const changes = new Map(processed.map(({ index, textForModel, extraction }) => [index, { textForModel, extraction }]));
  return settled.map((call, index) => ({ ...call, ...changes.get(index) }));
}

export interface NestedProgress {
  readonly ending: Ending | undefined;
  readonly pendingCalls: readonly PendingCall[];
  readonly spent: NestedSpending;
  readonly durationMs: number;
}

interface CallReading {
  readonly records: Records;
  readonly state: LoopState;
  readNested(records: Records): NestedProgress;
}

interface CallProgress {
  /**
   * `held`: nothing is recorded. `begun`: the call has begun, but has no outcome. `waits`: the call, or its nested run, waits for
   * a decision or a result. `over`: the call has an outcome.
   */
  readonly stage: "over" | "waits" | "begun" | "held";
  readonly settled: SettledCall;
  readonly pending: readonly PendingCall[];
}

function readCall(reading: CallReading, call: ToolCall, index: number): CallProgress {
  const early = findEarly(reading, call, index);
  if (early !== undefined) return toOver(early);
  let place: Place = { index, name: call.name, round: 0, answers: 0, questions: 0, asked: undefined };
  for (;;) {
    const decided = readDecision(reading, call, place);
    if (decided !== undefined) return decided;
    place = { ...place, questions: countQuestions(reading, place) };
    const read = readStep(reading, call, place);
    if (read === "ask-again") place = { ...place, round: place.round + 1 };
    else if ("settled" in read) return read;
    else place = { ...place, answers: place.answers + 1, questions: place.questions + 1, asked: read };
  }
}

/** The part of a call's records to read next. A tool that asks questions runs again after each answer. */
interface Place extends CallPlace {
  readonly round: number;
  readonly answers: number;
  readonly questions: number;
  /**
   * Set if the tool's previous execution ended with a question and the question was answered. Contains the outcome of that
   * execution.
   */
  readonly asked: DeferredOutcome | undefined;
}

function toOver(outcome: ToolOutcome): CallProgress {
  // The second argument is undefined, because the records do not say which tools a policy hides after a context restart.
  const restart = detectContextRestart(outcome, undefined);
  return { stage: "over", settled: restart === undefined ? { outcome } : { outcome, restart }, pending: [] };
}

/** Returns the outcome of a call that ran during the stream, or that was refused without a decision. */
function findEarly({ records, state }: CallReading, call: ToolCall, index: number): ToolOutcome | undefined {
  const refusals = state.streamResults.at(-1)?.refusals ?? [];
  const verdict = records.find<Verdict>(callKey(state, "validation", { index, name: call.name }));
  return (
    earlyOutcomesOf(state.current).get(call.callId) ??
    refusals.find((outcome) => outcome.call.callId === call.callId) ??
    unfitBy(verdict, call)
  );
}

function readDecision({ records, state }: CallReading, call: ToolCall, place: CallPlace): CallProgress | undefined {
  const last = findLast<RecordedDecision>(records, callKey(state, "approval", place), "ask");
  if (last === undefined) return undefined;
  const { answer: decision, waitKey } = last;
  if (decision.kind === "ask" && decision.isBeyond === true) return toOver({ call, durationMs: 0, kind: "limit" });
  if (decision.kind === "ask") {
    const { tool, changes: toolChanges } = decision;
    const id = decisionId(call.callId, decision.earlier);
    const changed = toolChanges === undefined ? {} : { toolChanges };
    const pending: PendingCall = { ...describe(call, place), id, waitKey, state: "awaiting-approval", tool, ...changed };
    const outcome: ToolOutcome = { call, durationMs: 0, kind: "not-run" };
    return { stage: "waits", settled: { outcome, awaiting: id, ...changed }, pending: [pending] };
  }
  const edit = decision.kind === "modify" ? records.find<Verdict>(editKey(state, place)) : undefined;
  const refused = refusedBy(decision, call) ?? unfitBy(edit, call);
  return refused === undefined ? undefined : toOver(refused);
}

/**
 * Returns the newest record of a wait, and the key for the record that would follow it. `key` is the key of the first record. A
 * record of the kind `open` says that the run began to wait. The record that follows it has the answer, or says that the run
 * waited again.
 */
function findLast<T extends { readonly kind: string }>(
  records: Records,
  key: string,
  open: T["kind"],
): { readonly answer: T; readonly waitKey: string } | undefined {
  const first = records.find<T>(key);
  if (first === undefined) return undefined;
  let answer: T = first;
  for (let attempt = 1; ; attempt += 1) {
    const waitKey = decisionKey(key, attempt);
    const next: T | undefined = answer.kind === open ? records.find<T>(waitKey) : undefined;
    if (next === undefined) return { answer, waitKey };
    answer = next;
  }
}

function readResult({ records, state }: CallReading, place: Place, deferred: DeferredOutcome): CallProgress | DeferredOutcome {
  const { call, fromPage, question } = deferred;
  const key = callKey(state, "result", place);
  const last = findLast<RecordedResult>(records, key, "wait");
  const record = last?.answer;
  if (record !== undefined && answerIn(record, deferred) !== undefined) return deferred;
  if (record !== undefined && record.kind !== "wait") return toOver(answeredBy(record, deferred));
  const id = decisionId(call.callId, record === undefined ? place.questions : record.earlier);
  const pending: PendingCall = {
    ...describe(call, place),
    id,
    waitKey: last?.waitKey ?? decisionKey(key, 1),
    state: "awaiting-result",
    ...(fromPage && { fromPage }),
    ...(question && { question }),
  };
  return { stage: "waits", settled: { outcome: deferred, awaiting: id }, pending: [pending] };
}

function countQuestions({ records, state }: CallReading, place: Place): number {
  const key = callKey(state, "approval", place);
  let count = place.questions;
  for (let attempt = 0; ; attempt += 1) {
    const decision = records.find<RecordedDecision>(decisionKey(key, attempt));
    if (decision?.kind !== "ask") return count;
    count = (decision.earlier ?? 0) + 1;
  }
}

/**
 * A `DeferredOutcome` means that the tool asked a question, got an answer and runs again. "ask-again" means that the run
 * requested another decision.
 */
type Read = CallProgress | DeferredOutcome | "ask-again";

function readAnswer(reading: CallReading, place: Place, answer: ToolOutcome): Read {
  if (answer.kind === "not-run" && answer.mustAsk !== undefined) return "ask-again";
  const whole = joinPhases(place.asked, answer);
  return answer.kind === "deferred" ? readResult(reading, place, { ...whole, kind: "deferred" }) : toOver(whole);
}

function readStep(reading: CallReading, call: ToolCall, place: Place): Read {
  const { records, state, readNested } = reading;
  const key = callKey(state, "tool", place);
  const answer = records.find<ToolOutcome>(key);
  if (answer !== undefined) return readAnswer(reading, place, answer);
  const begun = records.find<BegunRecord>(callKey(state, "agent", place));
  if (begun?.kind === "must-ask") return "ask-again";
  if (begun?.kind === "over") return toOver(begun.outcome);
  if (begun?.kind === "begun") return toNested(call, place, { key, ...readNested(records.within(`${key}/`)) });
  const stage = records.has(callKey(state, "intent", place)) ? "begun" : "held";
  const pending: PendingCall = { ...describe(call, place), state: stage === "begun" ? "may-have-run" : "not-begun" };
  return { stage, settled: { outcome: { call, durationMs: 0, kind: "not-run" } }, pending: [pending] };
}

/**
 * Used for a call that has records of a nested run but no recorded outcome. The nested run may be running, suspended or ended.
 */
function toNested(
  call: ToolCall,
  place: CallPlace,
  { key, ending, pendingCalls, spent, durationMs }: NestedProgress & { readonly key: string },
): CallProgress {
  const inner = pendingCalls.map((one): PendingCall => {
    const id = `${call.callId}/${one.id}`;
    return "waitKey" in one ? { ...one, id, waitKey: `${key}/${one.waitKey}` } : { ...one, id };
  });
  const pending: readonly PendingCall[] = [{ ...describe(call, place), state: "nested-run" }, ...inner];
  const outcome: ToolOutcome = { call, kind: "interrupted", durationMs, nested: spent };
  return ending?.status === "suspended"
    ? { stage: "waits", settled: { outcome, suspended: ending }, pending }
    : { stage: "begun", settled: { outcome }, pending };
}

function describe(
  { callId, name, args }: ToolCall,
  { index }: CallPlace,
): Pick<PendingCall, "id" | "callId" | "index" | "name" | "args"> {
  return { id: callId, callId, index, name, args };
}
