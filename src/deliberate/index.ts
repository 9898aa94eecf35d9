export {
  createDeliberateMode,
  type DeliberateMode,
  type DeliberateModeOptions,
  type DeliberateTurn,
  type DeliberateTurnGate,
} from "./deliberate-mode.ts";
export type { TriggerProblem } from "./trigger-table.ts";
