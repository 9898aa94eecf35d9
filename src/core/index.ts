// The public surface of the core.

export type {
  Clock,
  ContentPart,
  Issue,
  JsonSchema,
  Masking,
  MediaContent,
  PlainError,
  Pricing,
  ProviderError,
  ProviderErrorCode,
  ResponseTarget,
  Session,
  StandardResult,
  StandardSchema,
  StandardSchemaProps,
  Timeouts,
  ToolSchema,
  Usage,
  UserPart,
  Validation,
} from "./types/common.ts";
export type {
  ApprovalContext,
  ApprovalDecision,
  Approve,
  ContextSource,
  ContextStash,
  DeliberateGate,
  ExtractedResult,
  ExtractionFacts,
  LoopDetection,
  LoopDetectionOptions,
  LoopPolicies,
  MaskingOptions,
  PreToolTextPolicy,
  RestartPolicy,
  ResultCacher,
  ResultExtractor,
  ResultPipeline,
  ResultProcessing,
  ResultStore,
  StopCondition,
  StopContext,
  StopDecision,
  StoredResult,
  StructuredOutput,
  StructuredOutputOptions,
} from "./types/policies.ts";
export type { Journal, Step, StepKind } from "./types/journal.ts";
export type { Json, Plain } from "./types/json.ts";
export type {
  CallEvent,
  CallSummary,
  DeltaEvent,
  EventBase,
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
  Agent,
  IterationAnswer,
  IterationPlan,
  IterationState,
  IterationView,
  LoopControl,
  LoopHooks,
  LoopLimits,
  LoopOptions,
  NestedLoopOptions,
  StopRequest,
  Tool,
  ToolArgs,
  ToolContext,
  ToolInput,
  ToolOutput,
  ToolRegistry,
  Unvalidated,
} from "./types/loop-options.ts";
export type { LoopResult, PartialResult, ThoughtLogOwner } from "./types/loop-result.ts";
export type {
  AssistantMessage,
  AssistantPart,
  Message,
  ProviderMetadata,
  ProviderMetadataPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "./types/message.ts";
export type {
  AttemptSpending,
  CallBasis,
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  RequestTranscript,
  StreamResult,
  ToolChoice,
} from "./types/provider.ts";
export type { CostUnknownWhy, Ending, EndReason, LoopStatus, StreamStatus } from "./types/termination.ts";
export type {
  ContextRelease,
  ContextRestart,
  NestedSpending,
  PendingApproval,
  ShownTool,
  ToolCall,
  ToolChange,
  ToolChangeKind,
  ToolHistoryEntry,
  ToolOutcome,
} from "./types/tool-outcome.ts";
export type { ApprovalView, NeedsApproval, ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";
export {
  AbortedError,
  CostLimitError,
  type EndedKind,
  type EndedResult,
  isLoopEndedError,
  IterationLimitError,
  LoopEndedError,
  ProviderFailedError,
  type ReasonOf,
  SuspendedError,
  TimedOutError,
} from "./errors/loop-ended-error.ts";
export { FatalToolError, isFatalToolError } from "./errors/fatal-tool-error.ts";
export { isLoopError, LoopError, type LoopErrorCode, type LoopErrorDetails, type LoopErrorOf } from "./errors/loop-error.ts";
export { isProviderError, providerError, type ProviderErrorFacts, toProviderError } from "./errors/provider-error.ts";
export { type MemoryJournal, memoryJournal, type SavedJournal } from "./journal/memory-journal.ts";
export { type ParsedArguments, parseToolArguments } from "./utils/tool-arguments.ts";
export { createLoopEvents, type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { type GenerateOptions, type GenerateRequest, generateWithTools, type ToolExecutor } from "./loop/generate-with-tools.ts";
export { createLoopControl } from "./loop/control/loop-control.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { unwrap } from "./loop/unwrap.ts";
export { hasToolCall, iterationCountIs, textMatches, tokenBudget, toolCallCountIs } from "./policies/stop-when.ts";
export { truncateResults, type TruncatedResults, type TruncateResultsOptions } from "./loop/tool-call/truncate-results.ts";
export { processResults } from "./loop/tool-call/process-results.ts";
export { detectLoops } from "./loop/state/detect-loops.ts";
export { maskResults } from "./loop/run/mask-results.ts";
export { structuredOutput } from "./loop/stream/structured-output.ts";
export { type FallbackOptions, withFallback } from "./providers/with-fallback.ts";
export { type RetryOptions, withRetry } from "./providers/with-retry.ts";
export { contextRestart, type ContextRestartFields } from "./tools/context-restart.ts";
export { type ContextReleaseTool, createContextRelease, type ReleaseRequest } from "./loop/restart/context-release.ts";
export { type ContextStashOptions, createContextStash } from "./loop/restart/context-stash.ts";
export { type AgentToolFields, defineAgentTool } from "./loop/tool-call/define-agent-tool.ts";
export { type ArgsOf, defineTool, type FromSchema } from "./tools/define-tool.ts";
export { createToolRegistry, type MutableToolRegistry, type ToolSource } from "./tools/registry.ts";
export { isToolResult, toolResult, type ToolResultFields } from "./tools/to-outcome.ts";
export { mergeRegistries, type ToolFilter, withFilter, withPrefix } from "./tools/merge-registries.ts";
