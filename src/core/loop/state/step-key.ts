// The keys of journal steps, and the types of the first record of a run.

import type { LoopAction } from "../../types/loop-event.ts";
import type { Message } from "../../types/message.ts";
import type { ShownTool } from "../../types/tool-outcome.ts";
import type { LoopState } from "./loop-state.ts";
import type { Ending } from "../../types/termination.ts";

/** The version of the record format. See docs/decisions/0021. */
export const recordVersion = 3;

/** The data by which a later execution checks that a journal belongs to the run. */
export type RunPrint = {
  readonly version: number;
  /** Absent if the caller did not set `runId`. */
  readonly runId?: string;
  /** The tools at the start of the run. */
  readonly tools: { readonly [name: string]: ShownTool };
  readonly messagesDigest: string;
};

/** How repeated calls are counted. */
export interface CycleRules {
  /** The maximum number of iterations in one cycle. */
  readonly maxCycle: number;
  /** True if iterations with different results are different. */
  readonly compareResults: boolean;
}

/** The start of a run, as plain data. */
export type RunStart = {
  /** The messages that were passed to the run, after they were checked and repaired. */
  readonly messages: readonly Message[];
  /** Set if the run had `pricing`. */
  readonly priced?: true;
  /** How repeated calls were counted, and when the model was warned. Set only for the action "inject-warning". */
  readonly loops?: {
    readonly repetition: CycleRules;
    readonly rule: { readonly threshold: number; readonly action: LoopAction };
  };
};

/** The first record. */
export type RunRecord = RunPrint & RunStart;

/** The key of the first step, which records the identity of the run. */
export const runKey = "run";

type IterationStep = "output" | "iteration" | "results";

const callSteps = ["validation", "approval", "intent", "agent", "tool", "result"] as const;

export type CallStep = (typeof callSteps)[number];

export interface CallPlace {
  readonly index: number;
  readonly name: string;
  /** How often a decision was requested again because the tool had changed. Default 0. */
  readonly round?: number | undefined;
}

type IterationPlace = Pick<LoopState, "iteration" | "retry">;

export function stepKey(state: IterationPlace, step: IterationStep): string {
  return placeKey(state, step);
}

/**
 * Returns the key of the next stream in the current iteration. A final answer has its own word in the key, because its request
 * differs from the request of a normal stream at the same position.
 */
export function streamKey(state: IterationPlace & Pick<LoopState, "continuation">, word: "model" | "final-answer"): string {
  return placeKey(state, state.continuation === 0 ? word : `${word}/continuation${state.continuation}`);
}

/** Returns the key of the inbox step that begins an iteration. `ahead` is 1 for the next iteration, and 0 for the current one. */
export function inboxKey({ iteration, retry }: IterationPlace, ahead: number, resumes: number): string {
  return againKey(placeKey({ iteration: iteration + ahead, retry }, "inbox"), "resume", resumes);
}

/** Returns the key of a last look at the inbox before an ending. */
export function lastInboxKey(state: IterationPlace, attempt: number): string {
  return againKey(placeKey(state, "inbox-end"), "again", attempt);
}

/** True for the key of a last look at the inbox. False for the keys of nested runs. */
export function isLastLook(key: string): boolean {
  return /^(?:retry\d+\/)?i\d+\/inbox-end(?:\/|$)/.test(key);
}

/** True for the key of any look at the inbox. False for the keys of nested runs. */
export function isInboxKey(key: string): boolean {
  return /^(?:retry\d+\/)?i\d+\/inbox(?:-end)?(?:\/|$)/.test(key);
}

/** Returns the key of the next inbox step after a suspension. */
export function nextKeyAfter(state: LoopState): string {
  return state.ending === undefined ? inboxKey(state, 0, state.resumes + 1) : lastInboxKey(state, state.endChecks);
}

export function callKey(state: IterationPlace, step: CallStep, { index, name, round = 0 }: CallPlace): string {
  return againKey(placeKey(state, `${step}/${index}/${escapeName(name)}`), "again", round);
}

/** True for the key of a step that belongs to a call of the current iteration, or to a nested run of such a call. */
export function isCallKey(state: IterationPlace, key: string): boolean {
  return callSteps.some((step) => key.startsWith(`${placeKey(state, step)}/`));
}

/** Returns the key of a later decision about a question. `key` is the key of the question, which attempt 0 returns. */
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

/** Returns the number of the retry in a step key or an ending key. Returns 0 if the key is from before the first retry. */
export function retryOf(key: string): number {
  return Number(/^retry(\d+)(?:\/|$)/.exec(key)?.[1] ?? 0);
}

/** Returns the iteration in a step key or an ending key. Returns -1 if the key has no iteration. */
export function iterationOf(key: string): number {
  return Number(/^(?:retry\d+\/)?i(\d+)\//.exec(key)?.[1] ?? -1);
}

/**
 * Returns the key of an ending, which identifies it in records. A run that is resumed with other limits may have several endings
 * in one iteration: before a stream, after a stream, or after a final answer.
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

/** Returns the key of a repeated step at the same position. A `count` of 0 is the first time, and adds nothing to the key. */
function againKey(key: string, word: "resume" | "again" | "decision", count: number): string {
  return count === 0 ? key : `${key}/${word}${count}`;
}

/** Escapes a tool's name for a key, because the name may contain a slash. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
}
