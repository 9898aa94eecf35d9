// Takes a turn back, so that a retry begins where the turn began.

import type { LoopState } from "./loop-state.ts";

/** Notes what the coming turn will add to. */
export function noteBeforeTurn(state: LoopState): void {
  const { modelParts, functionHistory, finalText, detailsText, thoughtLog } = state;
  state.beforeTurn = {
    modelParts: modelParts.length,
    functionHistory: functionHistory.length,
    finalText,
    detailsText,
    thoughtLog,
  };
}

/** Brings back what was there before the turn. What the turn has cost stays, and so does its stream in `streamResults`. */
export function takeTurnBack(state: LoopState): void {
  const { modelParts, functionHistory, ...before } = state.beforeTurn;
  state.messages.length = state.iterationStart;
  state.modelParts.length = modelParts;
  state.functionHistory.length = functionHistory;
  Object.assign(state, before);
}
