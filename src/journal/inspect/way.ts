// Which way a run has gone. A run that came to a limit may have gone on with a higher one later: its records then hold an ending, or a last
// word, that did not come about. The last record tells which way was the last one.

import {
  type Ending,
  endingKey,
  type InboxAnswer,
  inboxKey,
  isLastLook,
  lastInboxKey,
  type LoopState,
  iterationOf,
  type ReopenAnswer,
  retryKey,
  retryOf,
  streamKey,
} from "../../core/entry-kit.ts";
import type { Records } from "./records.ts";

/** By retry, where the records of that retry lead: the ending that was tried again, or that came last; or the last record of all. */
export type Way = ReadonlyMap<number, string>;

/** Follows the retries back from the last record. */
export function findWay(records: Records): Way {
  const { last } = records;
  const way = new Map<number, string>();
  if (last === undefined) return way;
  const ending = isLastLook(last) ? records.find<InboxAnswer>(last)?.before : undefined;
  way.set(retryOf(last), ending ?? last);
  for (let retry = retryOf(last); retry > 0;) {
    const before = records.find<ReopenAnswer>(retryKey(retry))?.before ?? "";
    // A retry comes after what it tries again.
    retry = Math.min(retryOf(before), retry - 1);
    way.set(retry, before);
  }
  return way;
}

/** The last look at the inbox before an ending. */
export interface Close {
  readonly answer: InboxAnswer;
  readonly ending: Ending;
  readonly attempt: number;
}

/** Finds the last look of the ending that the run came to where it stands. */
export function findClose(records: Records, way: Way, state: LoopState): Close | undefined {
  for (let attempt = state.endChecks; ; attempt += 1) {
    const answer = records.find<InboxAnswer>(lastInboxKey(state, attempt));
    if (answer === undefined) return undefined;
    const { ending, before } = answer;
    if (ending === undefined || before !== endingKey(state, ending)) continue;
    // Before or after the calls of the iteration: that is all that the place does not say.
    if ((answer.after === "model") !== (state.phase === "model")) continue;
    if (isGoal(way, state, answer) || isReopened(records, state, answer)) return { answer, ending, attempt };
  }
}

/** What came with the last look may outrank the ending that it was for. */
function isGoal(way: Way, state: LoopState, { before, ended }: InboxAnswer): boolean {
  const goal = way.get(state.retry);
  return goal === before || (ended !== undefined && goal === endingKey(state, ended));
}

/** Whether an answer was followed by a message that came with the last look. */
function isReopened(records: Records, state: LoopState, { ending, messages = [] }: InboxAnswer): boolean {
  const isAnswer =
    ending?.status === "completed" || ending?.status === "empty-response" || ending?.reason.kind === "invalid-output";
  return isAnswer && [...state.unsent, ...messages].some(({ verb }) => verb === "steer") && records.has(inboxKey(state, 1, 0));
}

/** Whether the first stream of the current iteration was a last word. With a higher limit the run asked another question in its place. */
export function isLastWord(records: Records, way: Way, state: LoopState): boolean {
  if (!records.has(streamKey(state, "final-answer"))) return false;
  const goal = way.get(state.retry) ?? "";
  return !records.has(streamKey(state, "model")) || (iterationOf(goal) === state.iteration && goal.includes("/final-answer"));
}
