export { createDeliberateMode } from "./deliberate-mode.ts";
export type { DeliberateMode, DeliberateModeOptions, DeliberateTurn, DeliberateTurnGate, TriggerProblem } from "./types.ts";
