// The keys of journal steps, and the types of the first record of a run.

import type { LoopAction } from "../../types/loop-event.ts";
import type { Message } from "../../types/message.ts";
import type { CompactedMessages } from "../../types/policies.ts";
import type { ShownTool } from "../../types/tool-outcome.ts";
import type { LoopState } from "./loop-state.ts";
import type { Ending } from "../../types/termination.ts";

/** The version of the record format, as described in docs/decisions/0021. */
export const recordVersion = 3;

/** The data that identifies a run in its journal. A later execution compares this data with its own options and tools. */
export type RunPrint = {
  readonly version: number;
  /** Absent if the id was generated. */
  readonly runId?: string;
  readonly tools: { readonly [name: string]: ShownTool };
  readonly messagesDigest: string;
};

export interface CycleRules {
  readonly maxCycle: number;
  readonly compareResults: boolean;
}

export type RunStart = {
  /** The initial messages of the run, after the check and the repair. */
  readonly messages: readonly Message[];
  readonly codeVersion?: string;
  /** The summary of an earlier run, which replaces messages in the first request. */
  readonly compaction?: CompactedMessages;
  readonly agent?: string;
  /** The number of messages before the handoff to `agent`, if an earlier run made this handoff. */
  readonly agentSince?: number;
  readonly priced?: true;
  /** The rules for repeated calls and for warnings to the model. Set only for the action "inject-warning". */
  readonly loops?: {
    readonly repetition: CycleRules;
    readonly rule: { readonly threshold: number; readonly action: LoopAction };
  };
};

export type RunRecord = RunPrint & RunStart;

export const runKey = "run";

type IterationStep = "output" | "iteration" | "results" | "compaction" | "input-check";

const callSteps = ["validation", "approval", "intent", "agent", "tool", "result"] as const;

export type CallStep = (typeof callSteps)[number];

export interface CallPlace {
  readonly index: number;
  readonly name: string;
  /** How often the decision was requested again because the tool had changed. Default 0. */
  readonly round?: number | undefined;
  /** The number of questions of the tool that were answered, so that the tool runs again. Default 0. */
  readonly answers?: number | undefined;
}

type IterationPlace = Pick<LoopState, "iteration" | "retry">;

export function stepKey(state: IterationPlace, step: IterationStep): string {
  return placeKey(state, step);
}

/** A final answer has a different word in its key, because its request differs from a normal request at the same position. */
export function streamKey(state: IterationPlace & Pick<LoopState, "continuation">, word: "model" | "final-answer"): string {
  return placeKey(state, state.continuation === 0 ? word : `${word}/continuation${state.continuation}`);
}

/** `ahead` is 1 for the key of the inbox before the next iteration, and 0 for the inbox before the current iteration. */
export function inboxKey({ iteration, retry }: IterationPlace, ahead: number, resumes: number): string {
  return againKey(placeKey({ iteration: iteration + ahead, retry }, "inbox"), "resume", resumes);
}

export function lastInboxKey(state: IterationPlace, attempt: number): string {
  return againKey(placeKey(state, "inbox-end"), "again", attempt);
}

/** True for the key of a reading of the inbox before an ending. False for keys of nested runs. */
export function isLastLook(key: string): boolean {
  return /^(?:retry\d+\/)?i\d+\/inbox-end(?:\/|$)/.test(key);
}

/** True for the key of any reading of the inbox. False for keys of nested runs. */
export function isInboxKey(key: string): boolean {
  return /^(?:retry\d+\/)?i\d+\/inbox(?:-end)?(?:\/|$)/.test(key);
}

export function nextKeyAfter(state: LoopState): string {
  return state.ending === undefined ? inboxKey(state, 0, state.resumes + 1) : lastInboxKey(state, state.endChecks);
}

export function callKey(state: IterationPlace, step: CallStep, { index, name, round = 0, answers = 0 }: CallPlace): string {
  return againKey(againKey(placeKey(state, `${step}/${index}/${escapeName(name)}`), "again", round), "answer", answers);
}

export function isCallKey(state: IterationPlace, key: string): boolean {
  return callSteps.some((step) => key.startsWith(`${placeKey(state, step)}/`));
}

/**
 * A decision or a result may be requested several times. Returns the key of the step for attempt number `attempt`. Attempt 0 is
 * the first request, which has the key `key`.
 */
export function decisionKey(key: string, attempt: number): string {
  return againKey(key, "decision", attempt);
}

export function isDecisionKey(key: string): boolean {
  return /\/decision\d+$/.test(key);
}

export function editKey(state: IterationPlace, place: CallPlace): string {
  return `${callKey(state, "validation", place)}/edit`;
}

export function retryKey(retry: number): string {
  return `retry${retry}`;
}

/** Returns the number of the retry that the step belongs to, or 0 if the step ran before the first retry. */
export function retryOf(key: string): number {
  return Number(/^retry(\d+)(?:\/|$)/.exec(key)?.[1] ?? 0);
}

/** Returns the index of the iteration that the step belongs to, or -1 if the key contains no iteration. */
export function iterationOf(key: string): number {
  return Number(/^(?:retry\d+\/)?i(\d+)\//.exec(key)?.[1] ?? -1);
}

/**
 * Returns the key that identifies an ending in records. If a run is resumed with other limits, one iteration may have several
 * endings: before a stream, after a stream, or after a final answer.
 */
export function endingKey(
  state: IterationPlace & Pick<LoopState, "streamResults" | "finalAnswerTo">,
  { reason }: Ending,
): string {
  const word = state.finalAnswerTo === undefined ? "" : "final-answer/";
  return placeKey(state, `${state.streamResults.length}/${word}${reason.kind}`);
}

function placeKey({ iteration, retry }: IterationPlace, step: string): string {
  const place = `i${iteration}/${step}`;
  return retry === 0 ? place : `${retryKey(retry)}/${place}`;
}

function againKey(key: string, word: "resume" | "again" | "answer" | "decision", count: number): string {
  return count === 0 ? key : `${key}/${word}${count}`;
}

/** Escapes slashes, because a slash separates the parts of a key. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
}
