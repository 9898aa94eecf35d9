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
export type { Json, Plain } from "./contract/json.ts";
export type {
  DeltaEvent,
  EventBase,
  CallEvent,
  CallSummary,
  EventSink,
  LoopAction,
  LoopEmitter,
  LoopEvent,
  LoopEvents,
  LoopEventType,
  ResultEvent,
  TriggerMatch,
} from "./contract/loop-event.ts";
export type {
  ApprovalContext,
  ApprovalDecision,
  Approve,
  ContextSource,
  DeliberateGate,
  LoopDetection,
  LoopPolicies,
  OutputPolicy,
  PreToolTextPolicy,
  RestartPolicy,
} from "./contract/policies.ts";
export type {
  ExtractedResult,
  ExtractionFacts,
  MaskingPolicy,
  ResultCacher,
  ResultExtractor,
  ResultPipeline,
  ResultStore,
  StoredResult,
} from "./contract/results.ts";
export type { IterationAnswer, IterationState, LoopHooks, PassPlan, PassView } from "./contract/hooks.ts";
export type { LoopControl, StopRequest } from "./contract/loop-control.ts";
export type { LoopLimits } from "./contract/limits.ts";
export type { Agent, LoopOptions, NestedLoopOptions, Tool, ToolContext, ToolRegistry } from "./contract/loop-options.ts";
export type { LoopResult, PartialResult, ThoughtLogOwner } from "./contract/loop-result.ts";
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
  AttemptSpending,
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  RequestTranscript,
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
export type { StopCondition, StopContext, StopDecision } from "./contract/stop-condition.ts";
export type { CallBasis, StreamResult } from "./contract/stream-result.ts";
export type { CostUnknownWhy, Ending, LoopStatus, StreamStatus, Termination } from "./contract/termination.ts";
export type { ToolArgs, ToolInput, ToolOutput, Unvalidated } from "./contract/tool-types.ts";
export type {
  ContextRelease,
  ContextRestart,
  NestedSpending,
  PendingApproval,
  ToolCall,
  ToolHistoryEntry,
  ToolOutcome,
} from "./contract/tool-outcome.ts";
export type { ShownTool, ToolChange, ToolChangeKind } from "./contract/tool-change.ts";
export type { ApprovalView, NeedsApproval, ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./contract/tool.ts";
export type { Pricing, Usage } from "./contract/usage.ts";
export type { EndedKind, ReasonOf } from "./errors/describe-ending.ts";
export { FatalToolError, isFatalToolError } from "./errors/fatal-tool-error.ts";
export {
  AbortedError,
  CostLimitError,
  type EndedResult,
  isLoopEndedError,
  IterationLimitError,
  LoopEndedError,
  ProviderFailedError,
  SuspendedError,
  TimedOutError,
} from "./errors/loop-ended-error.ts";
export { isLoopError, LoopError, type LoopErrorCode, type LoopErrorDetails, type LoopErrorOf } from "./errors/loop-error.ts";
export { isProviderError, providerError, type ProviderErrorFacts, toProviderError } from "./errors/provider-error.ts";
export { type MemoryJournal, memoryJournal, type SavedJournal } from "./journal/memory-journal.ts";
export { parseToolArguments, type ParsedArguments } from "./kit/parse-arguments.ts";
export { RunScope, type Cause, type Slot } from "./kit/run-scope.ts";
export { createLoopEvents } from "./loop/create-loop-events.ts";
export { type GenerateOptions, type GenerateRequest, generateWithTools, type ToolExecutor } from "./loop/generate-with-tools.ts";
export { createLoopControl } from "./loop/run/loop-control.ts";
export { type NextStep, nextStep } from "./loop/next-step.ts";
export type { Bounds } from "./loop/options/resolve-policies.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { unwrap } from "./loop/unwrap.ts";
export { createDeliberateMode } from "./policies/deliberate-mode/deliberate-mode.ts";
export type { LoopRule } from "./policies/loop-detection.ts";
export { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./policies/stop-when.ts";
export { truncateResults, type TruncateResultsOptions } from "./policies/truncate-results.ts";
export { type FallbackOptions, withFallback } from "./providers/with-fallback.ts";
export { type RetryOptions, withRetry } from "./providers/with-retry.ts";
export { buildResult, type ResultFacts } from "./stages/build-result.ts";
export { detectContextRestart } from "./stages/context-restart.ts";
export type { DispatchPorts } from "./stages/dispatch-call.ts";
export { executeToolCall, type ToolCallPorts } from "./stages/execute-tool-call.ts";
export type { GuardPorts } from "./stages/guard-stream.ts";
export type { PreparePorts } from "./stages/prepare-call.ts";
export type { EagerPorts } from "./stages/eager-calls.ts";
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
  type OutputAnswer,
  type ReleasedResults,
  type ReopenAnswer,
  type SettledCall,
  type StepResult,
  type Turn,
  type BeforeTurn,
} from "./state/loop-state.ts";
export type { IdenticalCalls } from "./state/identical-calls.ts";
export type { CountedPass, Repeats, Repetition } from "./state/repetition.ts";
export { type ContextReleaseTool, createContextRelease, type ReleaseRequest } from "./tools/context-release.ts";
export { contextRestart, type ContextRestartFields } from "./tools/context-restart.ts";
export { type ContextStashOptions, createContextStash } from "./tools/context-stash.ts";
export { type AgentToolFields, defineAgentTool } from "./tools/define-agent-tool.ts";
export { type ArgsOf, defineTool, type FromSchema } from "./tools/define-tool.ts";
export { createToolRegistry, type MutableToolRegistry } from "./tools/registry.ts";
export type { CacheRequest } from "./tools/result-cache/cache-request.ts";
export { createResultCache, type ResultCache, type ResultCacheOptions } from "./tools/result-cache/result-cache.ts";
export { isToolResult, toolResult, type ToolResultFields } from "./tools/tool-result.ts";
