// Counts how often the model makes the same calls and gets the same outcomes. Pure.

import type { EndReason } from "../types/termination.ts";
import { isSameJson, stableJson, toJson } from "../../shared/json.ts";
import type { EndedCall, IdenticalCalls, Outcome, State } from "../types/middleware.ts";

export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

/** Outcomes that do not count as errors, but are a loop if the model gets them again and again for the same calls. */
const repeatable: ReadonlySet<Outcome["kind"]> = new Set(["completed", "denied", "approval-failed"]);

/**
 * A message counts as often as its most frequent call. Calls of polling tools do not count. An iteration with waiting calls is
 * counted later, when all of them are finished.
 */
export function countIdenticalCalls(last: IdenticalCalls, ended: readonly EndedCall[]): IdenticalCalls {
  if (ended.some(({ waits, isDrained }) => waits.length > 0 || isDrained === true)) return last;
  const made = ended.filter(({ polls }) => polls !== true).map(({ outcome }) => outcome);
  if (made.length === 0 || made.some(({ kind }) => !repeatable.has(kind))) return noIdenticalCalls;
  const { distinct: outcomes, most } = groupOutcomes(made);
  const isSame =
    outcomes.length === last.outcomes.length && outcomes.every((outcome, index) => isSameOutcome(outcome, last.outcomes[index]));
  return { outcomes, count: isSame ? last.count + most : most };
}

/** Returns the ending of a run that repeats itself. Undefined if `maxIterations` ends the run anyway. */
export function findIdenticalCalls(
  { identical: { count, outcomes }, countedIterations }: Pick<State, "identical" | "countedIterations">,
  { maxIdenticalCalls, maxIterations }: { readonly maxIdenticalCalls: number; readonly maxIterations: number },
): Extract<EndReason, { readonly kind: "loop-detected" }> | undefined {
  if (count < maxIdenticalCalls || countedIterations >= maxIterations) return undefined;
  return { kind: "loop-detected", toolName: outcomes[0]?.call.name ?? "", count };
}

/** Takes linear time: an outcome is compared only with the last outcome of the same call. */
function groupOutcomes(outcomes: readonly Outcome[]): { readonly distinct: readonly Outcome[]; readonly most: number } {
  const distinct: Outcome[] = [];
  const groups = new Map<string, { readonly outcome: Outcome; count: number }>();
  let most = 1;
  for (const outcome of outcomes) {
    const key = outcomes.length === 1 ? "" : stableJson([outcome.call.name, outcome.call.args]);
    const group = groups.get(key);
    if (group !== undefined && isSameOutcome(outcome, group.outcome)) {
      group.count += 1;
      most = Math.max(most, group.count);
    } else {
      distinct.push(outcome);
      groups.set(key, { outcome, count: 1 });
    }
  }
  return { distinct, most };
}

function isSameOutcome(one: Outcome, other: Outcome | undefined): boolean {
  if (other === undefined || one.call.name !== other.call.name || !isSameJson(one.call.args, other.call.args)) return false;
  if (one.kind !== "completed" || other.kind !== "completed") return one.kind === other.kind;
  return isSameJson(one.data, other.data) && isSameJson(toJson(one.content ?? []), toJson(other.content ?? []));
}
