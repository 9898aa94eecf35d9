// The entry `turnwright/parts`: what the loop is made of, for those who build one of their own. The loop decides with `nextStep`, folds what
// came with `applyStep`, and runs the four stages `streamOnce`, `executeToolCall`, `detectContextRestart` and `buildResult`.

export { type Cancellable, type CancelReason, CancelScope } from "./cancellation/cancel-scope.ts";
export { type NextStep, nextStep } from "./loop/next-step.ts";
export type { Bounds } from "./loop/run/resolve-policies.ts";
export type { LoopRule } from "./loop/state/identical-calls.ts";
export { buildResult, type ResultFacts } from "./loop/result/build-result.ts";
export { detectContextRestart } from "./loop/restart/detect-context-restart.ts";
export type { ReadyCall, ToolCallPorts } from "./loop/run/call.ts";
export { executeToolCall } from "./loop/tool-call/execute-tool-call.ts";
export type { GuardPorts } from "./providers/guard-stream.ts";
export type { EagerPorts } from "./loop/stream/eager-calls.ts";
export { streamOnce, type StreamPorts } from "./loop/stream/stream-once.ts";
export { applyStep } from "./loop/state/apply-step.ts";
export type { TurnContent } from "./providers/judge-finish.ts";
export {
  type BeforeTurn,
  createLoopState,
  type HookAnswer,
  type IdenticalCalls,
  type InboxAnswer,
  type InboxMessage,
  type InitialState,
  type LoopState,
  type OutputAnswer,
  type ReleasedResults,
  type ReopenAnswer,
  type Repeats,
  type Repetition,
  type SettledCall,
  type StepResult,
  type Turn,
} from "./loop/state/loop-state.ts";
