// Finds iterations that did the same as the one before, and loops that `policies.loopDetection` has counted.

import type { ContentPart } from "../../types/common.ts";
import type { ToolOutcome } from "../../types/tool-outcome.ts";
import type { LoopAction } from "../../types/loop-event.ts";
import { isSameJson } from "../../utils/json.ts";
import { type IdenticalCalls, type LoopState, noIdenticalCalls, type Repeats } from "./loop-state.ts";

/** The compared parts of a settled call. */
interface Settled {
  readonly outcome: ToolOutcome;
  readonly awaiting?: string | undefined;
  readonly suspended?: object | undefined;
}

/** Counts one more iteration. One whose calls still wait is counted when it is over. */
export function countIdenticalCalls(last: IdenticalCalls, settled: readonly Settled[]): IdenticalCalls {
  if (settled.some(({ awaiting, suspended }) => awaiting !== undefined || suspended !== undefined)) return last;
  if (settled.length === 0 || settled.some(({ outcome }) => outcome.kind !== "completed")) return noIdenticalCalls;
  const outcomes = settled.map(({ outcome }) => outcome);
  const isSame =
    outcomes.length === last.outcomes.length &&
    outcomes.every((outcome, index) => isSameCall(outcome, last.outcomes[index])) &&
    outcomes.every((outcome, index) => isSameResult(outcome, last.outcomes[index]));
  return { outcomes, count: isSame ? last.count + 1 : 1 };
}

function isSameCall({ call }: ToolOutcome, other: ToolOutcome | undefined): boolean {
  return other !== undefined && call.name === other.call.name && isSameJson(call.args, other.call.args);
}

function isSameResult(one: ToolOutcome, other: ToolOutcome | undefined): boolean {
  if (one.kind !== "completed" || other?.kind !== "completed") return false;
  return isSameJson(one.data, other.data) && isSameContent(one.content, other.content);
}

function isSameContent(one: readonly ContentPart[] = [], other: readonly ContentPart[] = []): boolean {
  return isSameJson(one.map(toFacts), other.map(toFacts));
}

function toFacts(part: ContentPart): readonly string[] {
  return part.type === "text" ? [part.type, part.text] : [part.type, part.mediaType, String(part.data)];
}

/** When repeated calls are a loop, and what is done about it. */
export interface LoopRule {
  readonly threshold: number;
  readonly action: LoopAction;
}

/** A loop that the last iteration has come round in. */
export interface FoundLoop extends Repeats {
  /** The first tool of the iteration. */
  readonly toolName: string;
}

/** The iterations in a row that did the same, once there are too many. One more iteration than `maxIterations` there is none of anyway. */
export function findIdenticalCalls(
  { identical, countedIterations }: LoopState,
  { maxIdenticalCalls, maxIterations }: { readonly maxIdenticalCalls?: number | undefined; readonly maxIterations: number },
): Pick<FoundLoop, "toolName" | "count"> | undefined {
  const { count, outcomes } = identical;
  if (maxIdenticalCalls === undefined || count < maxIdenticalCalls || countedIterations >= maxIterations) return undefined;
  return { toolName: outcomes[0]?.call.name ?? "", count };
}

/** Finds out whether the calls that the model has just asked for are a loop. An iteration that ends the run in another way is none. */
export function findLoop(state: LoopState, rule: LoopRule | undefined): FoundLoop | undefined {
  const { repetition, turn, streamResults, finalAnswerTo } = state;
  const last = streamResults.at(-1);
  const isAsking = last?.status === "tool-calls" && last.stop === undefined && finalAnswerTo === undefined;
  if (!isAsking || rule === undefined || repetition === undefined) return undefined;
  const repeats = repetition.findRepeats(rule.threshold);
  return repeats === undefined ? undefined : { ...repeats, toolName: turn.calls[0]?.name ?? "" };
}
