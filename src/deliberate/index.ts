// The entry `turnwright/deliberate`: a gate that opens tools by what the user said.

export { createDeliberateMode } from "./deliberate-mode.ts";
export type { DeliberateMode, DeliberateModeOptions, DeliberateTurn, DeliberateTurnGate, TriggerProblem } from "./types.ts";
