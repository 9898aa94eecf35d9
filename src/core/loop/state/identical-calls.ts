// Counts iterations in a row that did the same: equal calls with equal, successful results. Pure. Results are compared as the tools gave
// them, and only if the calls are equal, so that an iteration that does something else costs next to nothing.

import type { ContentPart } from "../../types/content.ts";
import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { isSameJson } from "../../utils/same-json.ts";

/** What is looked at of a settled call. */
interface Settled {
  readonly outcome: ToolOutcome;
  readonly awaiting?: string | undefined;
  readonly suspended?: object | undefined;
}

/** The calls of the last iteration, and how many iterations in a row have been equal to it. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if one of the calls did not succeed. */
  readonly count: number;
}

/** Before the first iteration, and after one without calls. */
export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

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
