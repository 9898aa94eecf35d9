// Says where the runs of two trials begin to differ.

import { type ComparedIteration, compareRuns } from "../inspect/analysis/compare-runs.ts";
import type { LoggedRun } from "../shared/run-log.ts";

/**
 * Returns the first iteration that differs, such as "iteration 2: another call: refund → lookup". The words of a model differ in almost
 * each run, so other calls matter more than other words. Undefined if nothing differs.
 */
export function describeDifference(left: readonly LoggedRun[], right: readonly LoggedRun[]): string | undefined {
  const count = Math.max(left.length, right.length);
  for (let at = 0; at < count; at += 1) {
    const [before, after] = [left[at], right[at]];
    const name = count === 1 ? "" : `run ${at + 1}, `;
    if (before === undefined || after === undefined) return `run ${at + 1}: only ${after === undefined ? "before" : "after"}`;
    const { iterations } = compareRuns(before, after);
    const found =
      iterations.find(hasOtherCalls) ??
      iterations.find(({ isOutputSame }) => !isOutputSame) ??
      iterations.find(({ isSame }) => !isSame);
    if (found !== undefined) return `${name}iteration ${found.iteration}: ${describeIteration(found)}${describeRequest(found)}`;
  }
  return undefined;
}

function hasOtherCalls({ left, right, calls }: ComparedIteration): boolean {
  return left === undefined || right === undefined || calls.some(({ kind }) => kind !== "same");
}

function describeIteration(compared: ComparedIteration): string {
  const [removed, added] = [namesOf(compared, "removed"), namesOf(compared, "added")];
  if (removed !== "" && removed === added) return `other arguments: ${added}`;
  if (removed !== "" && added !== "") return `another call: ${removed} → ${added}`;
  if (added !== "") return `one more call: ${added}`;
  return removed === "" ? describeOutput(compared) : `no call: ${removed}`;
}

function namesOf({ calls }: ComparedIteration, kind: "added" | "removed" | "changed"): string {
  const found = calls.filter((call) => call.kind === kind).map(({ left, right }) => (left ?? right)?.name);
  return found.join(", ");
}

function describeOutput(compared: ComparedIteration): string {
  const { left, right, isOutputSame } = compared;
  if (left === undefined || right === undefined) return `only ${right === undefined ? "before" : "after"}`;
  const changed = namesOf(compared, "changed");
  if (changed !== "") return `another result: ${changed}`;
  if (left.status !== right.status) return `another end: ${left.status} → ${right.status}`;
  return isOutputSame ? "another request" : describeWords(left.output?.text ?? "", right.output?.text ?? "");
}

/** Returns both texts around their first difference. */
function describeWords(left: string, right: string): string {
  if (left === right) return "other reasoning";
  let same = 0;
  while (left[same] === right[same]) same += 1;
  return `other words: ${cutText(left, same)} → ${cutText(right, same)}`;
}

const charsBefore = 20;
const charsAfter = 30;

function cutText(text: string, at: number): string {
  const [from, to] = [Math.max(0, at - charsBefore), at + charsAfter];
  // A cut may leave half of a surrogate pair.
  const part = text
    .slice(from, to)
    .replace(/[\uD800-\uDFFF]/gu, "")
    .replace(/\s+/g, " ");
  return `"${from > 0 ? "…" : ""}${part}${to < text.length ? "…" : ""}"`;
}

/** After the first iteration, messages only repeat an earlier difference. */
function describeRequest({ iteration, requestParts }: ComparedIteration): string {
  const parts = requestParts.filter((part) => part !== "messages" || iteration === 0);
  return parts.length === 0 ? "" : ` (the requests differ in ${parts.join(", ")})`;
}
