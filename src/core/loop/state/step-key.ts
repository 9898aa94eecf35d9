// Keys and the first record of a run.

import type { LoopAction } from "../../types/loop-event.ts";
import type { Message } from "../../types/message.ts";
import type { ShownTool } from "../../types/tool-outcome.ts";
import type { LoopState } from "./loop-state.ts";
import type { Ending } from "../../types/termination.ts";

/** The format of the records: see docs/decisions/0021. */
export const recordVersion = 3;

/** The facts by which a later execution of a run is recognised. */
export type RunPrint = {
  readonly version: number;
  /** Absent if the caller named none. */
  readonly runId?: string;
  /** The tools that it began with. */
  readonly tools: { readonly [name: string]: ShownTool };
  readonly messagesDigest: string;
};

/** How repeated calls are counted. */
export interface CycleRules {
  /** The most iterations that one cycle may have. */
  readonly maxCycle: number;
  /** Whether iterations with other results are other iterations. */
  readonly compareResults: boolean;
}

/** The start of a run. Plain data. */
export type RunStart = {
  /** The messages that the run was given, as they were sent. */
  readonly messages: readonly Message[];
  /** Set if costs could be known. */
  readonly priced?: true;
  /** How repeated calls were counted, and when the model was told of them; absent if it was not. */
  readonly loops?: {
    readonly repetition: CycleRules;
    readonly rule: { readonly threshold: number; readonly action: LoopAction };
  };
};

/** The first record. */
export type RunRecord = RunPrint & RunStart;

/** The key of the first step, which says what run this is. */
export const runKey = "run";

/** Steps that an iteration has once. */
type IterationStep = "output" | "iteration" | "results";

const callSteps = ["validation", "approval", "intent", "agent", "tool"] as const;

/** Steps that belong to one call. */
export type CallStep = (typeof callSteps)[number];

/** A call by its position in its turn. */
export interface CallPlace {
  readonly index: number;
  readonly name: string;
  /** How often somebody was asked about the call again, because its tool had changed. Default 0. */
  readonly round?: number | undefined;
}

type IterationPlace = Pick<LoopState, "iteration" | "retry">;

/** The key of a step of the current iteration. */
export function stepKey(state: IterationPlace, step: IterationStep): string {
  return placeKey(state, step);
}

/** The key of the next stream of the current iteration. A last word answers another question than a stream in the same place. */
export function streamKey(state: IterationPlace & Pick<LoopState, "continuation">, word: "model" | "final-answer"): string {
  return placeKey(state, state.continuation === 0 ? word : `${word}/continuation${state.continuation}`);
}

/** The key of the look at the inbox that begins an iteration, `ahead` iterations after the current one. */
export function inboxKey({ iteration, retry }: IterationPlace, ahead: number, resumes: number): string {
  return againKey(placeKey({ iteration: iteration + ahead, retry }, "inbox"), "resume", resumes);
}

/** The key of a last look at the inbox before an ending. */
export function lastInboxKey(state: IterationPlace, attempt: number): string {
  return againKey(placeKey(state, "inbox-end"), "again", attempt);
}

/** Whether a key of a run is that of a last look; the keys of runs inside its calls are not. */
export function isLastLook(key: string): boolean {
  return /^(?:retry\d+\/)?i\d+\/inbox-end(?:\/|$)/.test(key);
}

/** The key of the look at the inbox that comes next if the run resumes past a suspension. */
export function nextKeyAfter(state: LoopState): string {
  return state.ending === undefined ? inboxKey(state, 0, state.resumes + 1) : lastInboxKey(state, state.endChecks);
}

/** The key of a step of one call of the current iteration. */
export function callKey(state: IterationPlace, step: CallStep, { index, name, round = 0 }: CallPlace): string {
  return againKey(placeKey(state, `${step}/${index}/${escapeName(name)}`), "again", round);
}

/** Whether a key belongs to a call of the current iteration: to a step of the call, or of a run inside it. */
export function isCallKey(state: IterationPlace, key: string): boolean {
  return callSteps.some((step) => key.startsWith(`${placeKey(state, step)}/`));
}

/** The key of a later decision about a call whose question has `key`; 0 is the question itself. */
export function decisionKey(key: string, attempt: number): string {
  return againKey(key, "decision", attempt);
}

/** Whether a key is that of a later decision. */
export function isDecisionKey(key: string): boolean {
  return /\/decision\d+$/.test(key);
}

/** The key under which is recorded whether what a person made of the arguments of a call fits. */
export function editKey(state: IterationPlace, place: CallPlace): string {
  return `${callKey(state, "validation", place)}/edit`;
}

/** The key under which the run records whether it is tried again. */
export function retryKey(retry: number): string {
  return `retry${retry}`;
}

/** The retry that a key or an ending belongs to; 0 before the first. */
export function retryOf(key: string): number {
  return Number(/^retry(\d+)(?:\/|$)/.exec(key)?.[1] ?? 0);
}

/** The iteration that a key or an ending of a run belongs to; -1 for none. */
export function iterationOf(key: string): number {
  return Number(/^(?:retry\d+\/)?i(\d+)\//.exec(key)?.[1] ?? -1);
}

/**
 * Names an ending by its place in the run, for records that are about one ending. With other limits a run may end in several ways in one
 * iteration: before a stream of it, after one, or after a last word.
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

/** The key of a step that is done again in one place; 0 is the first time. */
function againKey(key: string, word: "resume" | "again" | "decision", count: number): string {
  return count === 0 ? key : `${key}/${word}${count}`;
}

/** A tool's name may hold a slash. */
function escapeName(name: string): string {
  return name.replace(/[%/]/g, (character) => (character === "/" ? "%2F" : "%25"));
}
