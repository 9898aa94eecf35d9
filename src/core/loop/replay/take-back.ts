// Removes a run's newest message, so that its request can be repeated.

import type { State } from "../../types/middleware.ts";
import { wasDispatched } from "../../../shared/to-outcome.ts";
import { answerOpenCalls, endWaiting, nextIteration } from "../state.ts";

/**
 * Removes the newest message from the transcript, and returns true. If one of its calls has run, keeps the message and returns false. The
 * message's cost counts either way.
 */
export function takeBack(state: State): boolean {
  if (state.waits.length > 0) state.messages.splice(-1, 1, ...endWaiting(state).slice(-1));
  const outcomes = [...state.lastBatch.map(({ outcome }) => outcome), ...state.current.early];
  const hasRun = outcomes.some(({ kind }) => wasDispatched(kind));
  const retry = state.retry + 1;
  Object.assign(state, { waits: [], retry, consecutiveToolErrors: 0, pauses: 0, isFresh: true });
  if (state.phase === "look" && state.isCurrentPlaced && hasRun) {
    answerOpenCalls(state);
    nextIteration(state);
    return false;
  }
  const { messages, functionHistory, finalText } = state.before;
  const isShorter = messages < state.messages.length;
  state.messages.length = messages;
  state.functionHistory.length = functionHistory;
  state.finalText = finalText;
  if (state.skipped === undefined) state.countedIterations -= 1;
  return isShorter;
}
