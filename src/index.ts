// The public surface of the core.

export type { Clock, Timeouts } from "./contract/clock.ts";
export type { ContentPart, MediaContent, UserPart } from "./contract/content.ts";
export type { ContextStash } from "./contract/context-stash.ts";
export type {
  DeliberateMode,
  DeliberateModeOptions,
  DeliberateTurn,
  DeliberateTurnGate,
  TriggerProblem,
} from "./contract/deliberate.ts";
export type { Journal, Step, StepKind } from "./contract/journal.ts";
export type { Json } from "./contract/json.ts";
export type {
  DeltaEvent,
  EventBase,
  CallEvent,
  EventSink,
  LoopEmitter,
  LoopEvent,
  LoopEvents,
  LoopEventType,
  TriggerMatch,
} from "./contract/loop-event.ts";
export type {
  ApprovalContext,
  ApprovalDecision,
  Approve,
  ContextSource,
  DeliberateGate,
  LoopPolicies,
  PreToolTextPolicy,
  RestartPolicy,
} from "./contract/policies.ts";
export type { IterationAnswer, IterationState, LoopHooks, PassPlan, PassView } from "./contract/hooks.ts";
export type { LoopControl, StopRequest } from "./contract/loop-control.ts";
export type { LoopLimits } from "./contract/limits.ts";
export type { Agent, LoopOptions, NestedLoopOptions, Tool, ToolContext, ToolRegistry } from "./contract/loop-options.ts";
export type { LoopResult, ThoughtLogOwner } from "./contract/loop-result.ts";
export type {
  AssistantMessage,
  AssistantPart,
  Message,
  NativePart,
  NativeTurn,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "./contract/message.ts";
export type { PlainError, ProviderError, ProviderErrorCode } from "./contract/plain-error.ts";
export type {
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  ToolChoice,
} from "./contract/provider.ts";
export type {
  Issue,
  JsonSchema,
  StandardResult,
  StandardSchema,
  StandardSchemaProps,
  Validation,
  ToolSchema,
} from "./contract/schema.ts";
export type { ResponseTarget, Session } from "./contract/session.ts";
export type { StreamResult } from "./contract/stream-result.ts";
export type { Ending, LoopStatus, StreamStatus, Termination } from "./contract/termination.ts";
export type { ToolArgs, ToolInput, ToolOutput, Unvalidated } from "./contract/tool-definition.ts";
export type { ContextRestart, NestedSpending, ToolCall, ToolHistoryEntry, ToolOutcome } from "./contract/tool-outcome.ts";
export type { ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./contract/tool.ts";
export type { Pricing, Usage } from "./contract/usage.ts";
export { FatalToolError, isFatalToolError } from "./errors/fatal-tool-error.ts";
export { isLoopError, LoopError, type LoopErrorCode, type LoopErrorDetails, type LoopErrorOf } from "./errors/loop-error.ts";
export { isProviderError, providerError, type ProviderErrorFacts, toProviderError } from "./errors/provider-error.ts";
export { type MemoryJournal, memoryJournal, type SavedJournal } from "./journal/memory-journal.ts";
export { parseToolArguments, type ParsedArguments } from "./kit/parse-arguments.ts";
export { RunScope, type Cause, type Slot } from "./kit/run-scope.ts";
export { createLoopEvents } from "./loop/create-loop-events.ts";
export { createLoopControl } from "./loop/loop-control.ts";
export { type Bounds, type NextStep, nextStep } from "./loop/next-step.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { createDeliberateMode } from "./policies/deliberate-mode/deliberate-mode.ts";
export { type FallbackOptions, withFallback } from "./providers/with-fallback.ts";
export { type RetryOptions, withRetry } from "./providers/with-retry.ts";
export { buildResult, type ResultFacts } from "./stages/build-result.ts";
export { detectContextRestart } from "./stages/context-restart.ts";
export type { DispatchPorts } from "./stages/dispatch-call.ts";
export { executeToolCall, type ToolCallPorts } from "./stages/execute-tool-call.ts";
export type { GuardPorts } from "./stages/guard-stream.ts";
export type { PreparePorts } from "./stages/prepare-call.ts";
export { streamOnce, type StreamPorts } from "./stages/stream-once.ts";
export { applyStep } from "./state/apply-step.ts";
export type { TurnContent } from "./state/judge-finish.ts";
export {
  createLoopState,
  type HookAnswer,
  type InboxAnswer,
  type InboxMessage,
  type InitialState,
  type LoopState,
  type ReopenAnswer,
  type SettledCall,
  type StepResult,
  type Turn,
} from "./state/loop-state.ts";
export { type ContextStashOptions, createContextStash } from "./tools/context-stash.ts";
export { type AgentToolFields, defineAgentTool } from "./tools/define-agent-tool.ts";
export { type ArgsOf, defineTool, type FromSchema } from "./tools/define-tool.ts";
export { createToolRegistry, type MutableToolRegistry } from "./tools/registry.ts";
export { isToolResult, toolResult, type ToolResultFields } from "./tools/tool-result.ts";
