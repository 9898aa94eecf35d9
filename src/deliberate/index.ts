// The entry `turnwright/deliberate`: a gate that allows tools if the user's text asks for them.

export { createDeliberateMode } from "./deliberate-mode.ts";
export type { DeliberateMode, DeliberateModeOptions, DeliberateTurn, DeliberateTurnGate, TriggerProblem } from "./types.ts";
