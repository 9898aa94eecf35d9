// The entry `turnwright/deliberate`: a gate that allows tools by the text of the user.

export { createDeliberateMode } from "./deliberate-mode.ts";
export type { DeliberateMode, DeliberateModeOptions, DeliberateTurn, DeliberateTurnGate, TriggerProblem } from "./types.ts";
