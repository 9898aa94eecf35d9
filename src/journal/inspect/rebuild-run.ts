// Rebuilds the state of a run from its records. As in a live run, `nextStep` decides which step comes next and `applyStep`
// updates the state.

import {
  applyStep,
  assertNever,
  type Bounds,
  type CompactionAnswer,
  createLoopState,
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
  stepKey,
  type StepResult,
  streamKey,
  type StreamResult,
  suspensionOf,
} from "../../core/entry-kit.ts";
import type { PendingCall, Records } from "./records.ts";
import { type NestedProgress, readBatch } from "./read-call.ts";

/**
 * The keys of the recorded endings. Each retry (`resume: "retry-last"`) undid an ending, so the map has one ending for each retry
 * number. The last value is the key of the final ending or, if the run is unfinished, of the last record.
 */
type Way = ReadonlyMap<number, string>;

function findWay(records: Records): Way {
  const { last } = records;
  const way = new Map<number, string>();
  if (last === undefined) return way;
  const ending = isLastLook(last) ? records.find<InboxAnswer>(last)?.before : undefined;
  way.set(retryOf(last), ending ?? last);
  for (let retry = retryOf(last); retry > 0;) {
    const before = records.find<ReopenAnswer>(retryKey(retry))?.before ?? "";
    // Each step back must decrease the retry number, so that the loop terminates. `Math.min` enforces this even for damaged
    // records.
    retry = Math.min(retryOf(before), retry - 1);
    way.set(retry, before);
  }
  return way;
}

/** A run reads its inbox once more before it ends. This file calls that reading the last look. */
interface Close {
  readonly answer: InboxAnswer;
  readonly ending: Ending;
  readonly attempt: number;
}

function findClose(records: Records, way: Way, state: LoopState): Close | undefined {
  for (let attempt = state.endChecks; ; attempt += 1) {
    const answer = records.find<InboxAnswer>(lastInboxKey(state, attempt));
    if (answer === undefined) return undefined;
    const { ending, before } = answer;
    if (ending === undefined || before !== endingKey(state, ending)) continue;
    // An iteration can end before or after its tool calls. Both endings have the same key, so compare the phase.
    if ((answer.after === "model") !== (state.phase === "model")) continue;
    if (isGoal(way, state, answer) || isReopened(records, state, answer)) return { answer, ending, attempt };
  }
}

/**
 * True if the ending that follows this inbox reading is the next recorded ending. A request in the inbox may have replaced the
 * ending with `ended`.
 */
function isGoal(way: Way, state: LoopState, { before, ended }: InboxAnswer): boolean {
  const goal = way.get(state.retry);
  return goal === before || (ended !== undefined && goal === endingKey(state, ended));
}

/** True if the run continued after its final answer, because a steered message was in the inbox. */
function isReopened(records: Records, state: LoopState, { ending, messages = [] }: InboxAnswer): boolean {
  const isAnswer =
    ending?.status === "completed" || ending?.status === "empty-response" || ending?.reason.kind === "invalid-output";
  return isAnswer && [...state.unsent, ...messages].some(({ verb }) => verb === "steer") && records.has(inboxKey(state, 1, 0));
}

/**
 * True if the first stream of this iteration was the final answer that a run gets after it has reached a limit. If the run was
 * called again with a higher limit, both a normal request and a final answer may be recorded here.
 */
function isLastWord(records: Records, way: Way, state: LoopState): boolean {
  if (!records.has(streamKey(state, "final-answer"))) return false;
  const goal = way.get(state.retry) ?? "";
  return !records.has(streamKey(state, "model")) || (iterationOf(goal) === state.iteration && goal.includes("/final-answer"));
}

export interface Rebuilt {
  readonly state: LoopState;
  readonly ending: Ending | undefined;
  readonly pendingCalls: readonly PendingCall[];
}

/** Called with each step before the step is applied to the state. `key` is the key of its record, if it has one of its own. */
export type WatchSteps = (step: StepResult, state: LoopState, key: string | undefined) => void;

interface Reading {
  readonly records: Records;
  readonly state: LoopState;
  readonly start: RunStart;
  readonly way: Way;
  readonly watch: WatchSteps | undefined;
}

type Stop = Omit<Rebuilt, "state"> | undefined;

const midway: Stop = { ending: undefined, pendingCalls: [] };

const none = Number.POSITIVE_INFINITY;

/**
 * No limits, because the records already contain every ending that a limit caused. `finalAnswer` is true: if a tool limit was
 * reached, a final answer is more likely than a missing record.
 */
const openBounds: Bounds = {
  ...noLimits,
  finalAnswer: true,
  asksIteration: false,
};

/** A placeholder for the limit that led to a final answer. The inbox step after the final answer records the actual limit. */
const someLimit: Ending = { status: "timeout", reason: { kind: "max-iterations", limit: none } };

export function rebuildRun(records: Records, start: RunStart, watch?: WatchSteps): Rebuilt {
  const { messages, priced = false, loops, compaction, agent } = start;
  const repetition = loops && createRepetition(loops.repetition);
  const state = createLoopState({ messages, heldIds: [], contextItems: [], priced, repetition, compaction, agent });
  const reading = { records, state, start, way: findWay(records), watch };
  for (;;) {
    const stop = readNext(reading);
    if (stop !== undefined) return { state, ...stop };
  }
}

function readNext(reading: Reading): Stop {
  const { state } = reading;
  const close = closeAt(reading, state.phase);
  if (close !== undefined) return fold(reading, { kind: "last-look", ...close }, lastInboxKey(state, close.attempt));
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
      return midway;
    case "end":
      return readAfterEnding(reading, next.ending);
    default:
      return assertNever(next);
  }
}

function fold({ state, watch }: Reading, step: StepResult, key?: string): undefined {
  watch?.(step, state, key);
  applyStep(state, step);
}

function foldFound<T>(reading: Reading, key: string, toStep: (answer: T) => StepResult): Stop {
  const answer = reading.records.find<T>(key);
  return answer === undefined ? midway : fold(reading, toStep(answer), key);
}

function closeAt({ records, state, way }: Reading, phase: LoopState["phase"]): Close | undefined {
  return findClose(records, way, phase === state.phase ? state : { ...state, phase });
}

function boundsOf(reading: Reading): Bounds {
  const { records, state } = reading;
  const isOutput = records.has(stepKey(state, "output"));
  return {
    ...openBounds,
    asksIteration: records.has(stepKey(state, "iteration")),
    // A refused request is followed by another iteration only if old messages were summarized.
    compacts: records.has(inboxKey(state, 1, 0)),
    outputRetries: isOutput ? (closeAt(reading, "output") === undefined ? none : 0) : undefined,
  };
}

function readInbox(reading: Reading): Stop {
  const { state, records } = reading;
  const stays = state.phase === "start" || state.phase === "resume";
  const key = inboxKey(state, stays ? 0 : 1, stays ? state.resumes : 0);
  // A message that arrived just before the run ended is only sent to the model if the limits allow another iteration.
  const isOver = state.phase === "last-look" && !records.has(key) && state.lastInbox?.goesOn !== true;
  if (isOver) return { ending: state.ending, pendingCalls: [] };
  return foldFound(reading, key, (answer: InboxAnswer) => ({ kind: "inbox", answer }));
}

function readStream(reading: Reading, { finalAnswerTo }: Extract<NextStep, { kind: "model" }>): Stop {
  const { records, state, way } = reading;
  const isLast = state.continuation === 0 ? isLastWord(records, way, state) : finalAnswerTo !== undefined;
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
  const { settled, pending } = readBatch({ records, state, readNested }, isPast(reading));
  if (settled === undefined) return { ending: undefined, pendingCalls: pending };
  const rule = start.loops?.rule;
  fold(reading, { kind: "batch", settled, loop: findLoop(state, rule) });
  const suspension = suspensionOf(state);
  return suspension === undefined ? undefined : { ending: suspension, pendingCalls: pending };
}

/** Returns the start record of a nested run. A journal that is not durable does not have this record. */
function startOf(records: Records, { priced }: RunStart): RunStart {
  return records.find<RunStart>(runKey) ?? { messages: [], ...(priced === undefined ? {} : { priced }) };
}

function isPast(reading: Reading): boolean {
  const { records, state } = reading;
  const isOn = records.has(stepKey(state, "iteration")) || records.has(inboxKey(state, 1, 0));
  return isOn || closeAt(reading, "batch") !== undefined;
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
