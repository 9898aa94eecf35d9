// The public surface of the core.

export type { Clock, Timeouts } from "./types/clock.ts";
export type { ContentPart, MediaContent, UserPart } from "./types/content.ts";
export type { ContextStash } from "./types/context-stash.ts";
export type { Journal, Step, StepKind } from "./types/journal.ts";
export type { Json, Plain } from "./types/json.ts";
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
} from "./types/loop-event.ts";
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
} from "./types/policies.ts";
export type {
  ExtractedResult,
  ExtractionFacts,
  MaskingPolicy,
  ResultCacher,
  ResultExtractor,
  ResultPipeline,
  ResultStore,
  StoredResult,
} from "./types/results.ts";
export type { IterationAnswer, IterationState, LoopHooks, IterationPlan, IterationView } from "./types/hooks.ts";
export type { LoopControl, StopRequest } from "./types/loop-control.ts";
export type { LoopLimits } from "./types/limits.ts";
export type { Agent, LoopOptions, NestedLoopOptions, Tool, ToolContext, ToolRegistry } from "./types/loop-options.ts";
export type { LoopResult, PartialResult, ThoughtLogOwner } from "./types/loop-result.ts";
export type {
  AssistantMessage,
  AssistantPart,
  Message,
  ProviderMetadataPart,
  ProviderMetadata,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "./types/message.ts";
export type { PlainError, ProviderError, ProviderErrorCode } from "./types/plain-error.ts";
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
} from "./types/provider.ts";
export type {
  Issue,
  JsonSchema,
  StandardResult,
  StandardSchema,
  StandardSchemaProps,
  Validation,
  ToolSchema,
} from "./types/schema.ts";
export type { ResponseTarget, Session } from "./types/session.ts";
export type { StopCondition, StopContext, StopDecision } from "./types/stop-condition.ts";
export type { CallBasis, StreamResult } from "./types/stream-result.ts";
export type { CostUnknownWhy, Ending, LoopStatus, StreamStatus, EndReason } from "./types/termination.ts";
export type { ToolArgs, ToolInput, ToolOutput, Unvalidated } from "./types/tool-types.ts";
export type {
  ContextRelease,
  ContextRestart,
  NestedSpending,
  PendingApproval,
  ToolCall,
  ToolHistoryEntry,
  ToolOutcome,
} from "./types/tool-outcome.ts";
export type { ShownTool, ToolChange, ToolChangeKind } from "./types/tool-change.ts";
export type { ApprovalView, NeedsApproval, ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";
export type { Pricing, Usage } from "./types/usage.ts";
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
export { parseToolArguments, type ParsedArguments } from "./utils/parse-arguments.ts";
export { createLoopEvents } from "./loop/create-loop-events.ts";
export { type GenerateOptions, type GenerateRequest, generateWithTools, type ToolExecutor } from "./loop/generate-with-tools.ts";
export { createLoopControl } from "./loop/control/loop-control.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { unwrap } from "./loop/unwrap.ts";
export { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./policies/stop-when.ts";
export { truncateResults, type TruncateResultsOptions } from "./policies/truncate-results.ts";
export { type FallbackOptions, withFallback } from "./providers/with-fallback.ts";
export { type RetryOptions, withRetry } from "./providers/with-retry.ts";
export { type ContextReleaseTool, createContextRelease, type ReleaseRequest } from "./tools/context-release.ts";
export { contextRestart, type ContextRestartFields } from "./tools/context-restart.ts";
export { type ContextStashOptions, createContextStash } from "./loop/restart/context-stash.ts";
export { type AgentToolFields, defineAgentTool } from "./tools/define-agent-tool.ts";
export { type ArgsOf, defineTool, type FromSchema } from "./tools/define-tool.ts";
export { createToolRegistry, type MutableToolRegistry } from "./tools/registry.ts";
export { isToolResult, toolResult, type ToolResultFields } from "./tools/tool-result.ts";
export { mergeRegistries } from "./tools/merge-registries.ts";
export { type ToolFilter, withFilter } from "./tools/with-filter.ts";
export { withPrefix } from "./tools/with-prefix.ts";
export type { ToolSource } from "./tools/registry.ts";
