import type { LoopState } from "./loop-state.ts";

/** The version of the record format, as described in docs/decisions/0021. */
export const recordVersion = 3;

export interface CycleRules {
  readonly maxCycle: number;
  readonly compareResults: boolean;
}

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

export function callKey(state: IterationPlace, step: CallStep, { index, name, round = 0, answers = 0 }: CallPlace): string {
  return againKey(againKey(placeKey(state, `${step}/${index}/${escapeName(name)}`), "again", round), "answer", answers);
}

export function isDecisionKey(key: string): boolean {
  return /\/decision\d+$/.test(key);
}

export function retryKey(retry: number): string {
  return `retry${retry}`;
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
