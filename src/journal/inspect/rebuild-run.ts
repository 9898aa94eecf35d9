// Rebuilds the state of a run from its records. As in a live run, `nextStep` decides which step comes next and `applyStep`
// updates the state.

import {
  applyStep,
  assertNever,
  type Bounds,
  type CompactionAnswer,
  createLoopState,
  handOver,
  createRepetition,
  describeMisfit,
  type Ending,
  endingKey,
  findLoop,
  type HookAnswer,
  type InboxAnswer,
  inboxKey,
  type InputCheckAnswer,
  isLastLook,
  iterationOf,
  lastInboxKey,
  type LoopState,
  type NestedSpending,
  nextKeyAfter,
  nextStep,
  type NextStep,
  noLimits,
  type OutputAnswer,
  type ReopenAnswer,
  retryKey,
  retryOf,
  runKey,
  type RunStart,
  type SettledCall,
  stepKey,
  type StepResult,
  streamKey,
  type StreamResult,
  suspensionOf,
} from "../../core/entry-kit.ts";
import type { PendingCall, Records } from "./records.ts";
import { type NestedProgress, readBatch } from "./read-call.ts";

/**
 * The key of the recorded ending for each retry number. A retry (`resume: "retry-last"`) undoes an ending and increases the retry
 * number by 1. The highest number has the key of the final ending. If the run is unfinished, the highest number has the key of
 * the newest record.
 */
type EndingKeys = ReadonlyMap<number, string>;

function findEndingKeys(records: Records): EndingKeys {
  const { last } = records;
  const endingKeys = new Map<number, string>();
  if (last === undefined) return endingKeys;
  const ending = isLastLook(last) ? records.find<InboxAnswer>(last)?.before : undefined;
  endingKeys.set(retryOf(last), ending ?? last);
  for (let retry = retryOf(last); retry > 0;) {
    const before = records.find<ReopenAnswer>(retryKey(retry))?.before ?? "";
    // `Math.min` decreases the number even for damaged records. Otherwise the loop might never end.
    retry = Math.min(retryOf(before), retry - 1);
    endingKeys.set(retry, before);
  }
  return endingKeys;
}

/** A run reads its inbox once more before it ends. This file calls that reading the last look. */
interface LastLook {
  readonly answer: InboxAnswer;
  readonly ending: Ending;
  readonly attempt: number;
}

function findLastLook(records: Records, endingKeys: EndingKeys, state: LoopState): LastLook | undefined {
  for (let attempt = state.endChecks; ; attempt += 1) {
    const answer = records.find<InboxAnswer>(lastInboxKey(state, attempt));
    if (answer === undefined) return undefined;
    const { ending, before } = answer;
    if (ending === undefined || before !== endingKey(state, ending)) continue;
    // An ending before the tool calls of an iteration has the same key as an ending after them, so the phase is compared too.
    if ((answer.after === "model") !== (state.phase === "model")) continue;
    if (leadsToRecordedEnding(endingKeys, state, answer) || isReopened(records, state, answer))
      return { answer, ending, attempt };
  }
}

/**
 * `answer` is a reading of the inbox. True if the run ended after it. A request in the inbox, such as a stop, may have replaced
 * the ending with `ended`.
 */
function leadsToRecordedEnding(endingKeys: EndingKeys, state: LoopState, { before, ended }: InboxAnswer): boolean {
  const goal = endingKeys.get(state.retry);
  return goal === before || (ended !== undefined && goal === endingKey(state, ended));
}

/**
 * `answer` is a reading of the inbox before an ending. True if the run continued after it, because the inbox had a message from
 * `steer`.
 */
function isReopened(records: Records, state: LoopState, { ending, messages = [] }: InboxAnswer): boolean {
  const isAnswer =
    ending?.status === "completed" || ending?.status === "empty-response" || ending?.reason.kind === "invalid-output";
  return isAnswer && [...state.unsent, ...messages].some(({ verb }) => verb === "steer") && records.has(inboxKey(state, 1, 0));
}

/**
 * True if the first request of this iteration was for a final answer, after a limit was reached. If the run was called again with
 * a higher limit, this iteration may have records of both a final answer and a normal request.
 */
function isFinalAnswer(records: Records, endingKeys: EndingKeys, state: LoopState): boolean {
  if (!records.has(streamKey(state, "final-answer"))) return false;
  const goal = endingKeys.get(state.retry) ?? "";
  return !records.has(streamKey(state, "model")) || (iterationOf(goal) === state.iteration && goal.includes("/final-answer"));
}

export interface Rebuilt {
  readonly state: LoopState;
  readonly ending: Ending | undefined;
  readonly pendingCalls: readonly PendingCall[];
  /** The calls with an outcome in an iteration that has other calls without an outcome. Their results are not in `state` yet. */
  readonly over?: readonly SettledCall[] | undefined;
}

/**
 * Called with each step before `applyStep`. `key` is the key of the step's record, or undefined if the step has no record of its
 * own.
 */
export type WatchSteps = (step: StepResult, state: LoopState, key: string | undefined) => void;

interface Reading {
  readonly records: Records;
  readonly state: LoopState;
  readonly start: RunStart;
  readonly endingKeys: EndingKeys;
  readonly watch: WatchSteps | undefined;
}

type Stop = Omit<Rebuilt, "state"> | undefined;

const unfinished: Stop = { ending: undefined, pendingCalls: [] };

const none = Number.POSITIVE_INFINITY;

/**
 * No limits, because the records contain every ending that a limit caused. `finalAnswer` is true, because a run that has reached
 * a tool limit probably requested a final answer.
 */
const openBounds: Bounds = {
  ...noLimits,
  finalAnswer: true,
  asksIteration: false,
};

/** Stands for the limit that led to a final answer. The inbox step after the final answer has the actual limit. */
const someLimit: Ending = { status: "timeout", reason: { kind: "max-iterations", limit: none } };

export function rebuildRun(records: Records, start: RunStart, watch?: WatchSteps): Rebuilt {
  const { messages, priced = false, loops, compaction, agent, agentSince } = start;
  const repetition = loops && createRepetition(loops.repetition);
  const fields = { heldIds: [], contextItems: [], priced, repetition, compaction, agent, agentSince };
  const state = createLoopState({ messages, ...fields, handOver: agent === undefined ? undefined : handOver });
  const reading = { records, state, start, endingKeys: findEndingKeys(records), watch };
  for (;;) {
    const stop = readNext(reading);
    if (stop !== undefined) return { state, ...stop };
  }
}

function readNext(reading: Reading): Stop {
  const { state } = reading;
  const lastLook = mayLookLast(reading) ? lastLookAt(reading, state.phase) : undefined;
  if (lastLook !== undefined) return fold(reading, { kind: "last-look", ...lastLook }, lastInboxKey(state, lastLook.attempt));
  const next = nextStep(state, boundsOf(reading));
  switch (next.kind) {
    case "inbox":
      return readInbox(reading);
    case "steer":
      return fold(reading, { kind: "steer" });
    case "compaction":
      return foldFound(reading, stepKey(state, "compaction"), (answer: CompactionAnswer) => ({ kind: "compaction", answer }));
    case "model":
      return readStream(reading, next);
    case "batch":
      return readCalls(reading);
    case "output":
      return readOutput(reading, next.mayAskAgain);
    case "hook":
      return foldFound(reading, stepKey(state, "iteration"), (answer: HookAnswer) => ({ kind: "hook", answer }));
    case "last-look":
      return unfinished;
    case "end":
      return readAfterEnding(reading, next.ending);
    default:
      return assertNever(next);
  }
}

/**
 * False directly after a last look, because the run then ends, continues or was drained. A drained run takes its next last look
 * after it resumes. Also false before a compaction: a run that ended directly after a compaction has a last look with the key of
 * an ending before the compaction.
 */
function mayLookLast({ records, state }: Reading): boolean {
  if (state.phase === "inbox" || state.phase === "steer") return !records.has(stepKey(state, "compaction"));
  return state.phase !== "last-look";
}

function fold({ state, watch }: Reading, step: StepResult, key?: string): undefined {
  watch?.(step, state, key);
  applyStep(state, step);
}

function foldFound<T>(reading: Reading, key: string, toStep: (answer: T) => StepResult): Stop {
  const answer = reading.records.find<T>(key);
  return answer === undefined ? unfinished : fold(reading, toStep(answer), key);
}

function lastLookAt({ records, state, endingKeys }: Reading, phase: LoopState["phase"]): LastLook | undefined {
  return findLastLook(records, endingKeys, phase === state.phase ? state : { ...state, phase });
}

function boundsOf(reading: Reading): Bounds {
  const { records, state } = reading;
  const isOutput = records.has(stepKey(state, "output"));
  return {
    ...openBounds,
    asksIteration: records.has(stepKey(state, "iteration")),
    // After a request that is refused as too long, another iteration is recorded only if old messages were summarized.
    compacts: records.has(inboxKey(state, 1, 0)),
    outputRetries: isOutput ? (lastLookAt(reading, "output") === undefined ? none : 0) : undefined,
  };
}

function readInbox(reading: Reading): Stop {
  const { state, records } = reading;
  const stays = state.phase === "start" || state.phase === "resume";
  const key = inboxKey(state, stays ? 0 : 1, stays ? state.resumes : 0);
  // The last look may have found a message. The run continues with this message only if the limits allow another iteration.
  const isOver = state.phase === "last-look" && !records.has(key) && state.lastInbox?.goesOn !== true;
  if (isOver) return { ending: state.ending, pendingCalls: [] };
  return foldFound(reading, key, (answer: InboxAnswer) => ({ kind: "inbox", answer }));
}

function readStream(reading: Reading, { finalAnswerTo }: Extract<NextStep, { kind: "model" }>): Stop {
  const { records, state, endingKeys } = reading;
  const isLast = state.continuation === 0 ? isFinalAnswer(records, endingKeys, state) : finalAnswerTo !== undefined;
  const checks = records.find<InputCheckAnswer>(stepKey(state, "input-check"));
  return foldFound(reading, streamKey(state, isLast ? "final-answer" : "model"), (result: StreamResult) => ({
    kind: "model",
    result,
    checked: state.hasNewInput ? checks?.records : undefined,
    finalAnswerTo: isLast ? (finalAnswerTo ?? someLimit) : undefined,
  }));
}

function readCalls(reading: Reading): Stop {
  const { records, state, start } = reading;
  const readNested = (inner: Records): NestedProgress => toProgress(rebuildRun(inner, startOf(inner, start)));
  const { settled, pending, over } = readBatch({ records, state, readNested }, isPast(reading));
  if (settled === undefined) return { ending: undefined, pendingCalls: pending, over };
  const rule = start.loops?.rule;
  fold(reading, { kind: "batch", settled, loop: findLoop(state, rule) });
  const suspension = suspensionOf(state);
  return suspension === undefined ? undefined : { ending: suspension, pendingCalls: pending };
}

/** A journal that is not durable has no start record of a nested run. */
function startOf(records: Records, { priced }: RunStart): RunStart {
  return records.find<RunStart>(runKey) ?? { messages: [], ...(priced === undefined ? {} : { priced }) };
}

function isPast(reading: Reading): boolean {
  const { records, state } = reading;
  const isOn = records.has(stepKey(state, "iteration")) || records.has(inboxKey(state, 1, 0));
  return isOn || lastLookAt(reading, "batch") !== undefined;
}

function readOutput(reading: Reading, mayAskAgain: boolean): Stop {
  const { records, state } = reading;
  return foldFound(reading, stepKey(state, "output"), (answer: OutputAnswer) => {
    const asksAgain = answer.kind === "invalid" && mayAskAgain && records.has(inboxKey(state, 1, 0));
    return { kind: "output", answer, complaint: asksAgain ? describeMisfit(answer.issues) : undefined };
  });
}

function readAfterEnding(reading: Reading, ending: Ending): Stop {
  const { records, state } = reading;
  if (ending.status === "suspended") {
    return records.has(nextKeyAfter(state)) ? fold(reading, { kind: "resume" }) : { ending, pendingCalls: [] };
  }
  const before = endingKey(state, ending);
  for (let attempt = state.retry + 1; ; attempt += 1) {
    const answer = records.find<ReopenAnswer>(retryKey(attempt));
    if (answer === undefined) return { ending, pendingCalls: [] };
    if (answer.before === before && answer.reopen) return fold(reading, { kind: "reopen", answer, attempt }, retryKey(attempt));
  }
}

function toProgress({ state, ending, pendingCalls }: Rebuilt): NestedProgress {
  const { usage, costUSD, spentUSD, toolCallsExecuted } = state;
  const known = { usage, costUSD, toolCallsExecuted };
  const spent: NestedSpending = costUSD === undefined ? { ...known, knownCostUSD: spentUSD } : known;
  return { ending, pendingCalls, spent, durationMs: state.activeMs };
}
