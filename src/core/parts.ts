// The entry `turnwright/parts`: parts of the loop for code that streams a model without the loop, and types that signatures name.

export type { LoopErrorCode } from "../shared/errors/loop-error.ts";
export { type Cancellable, type CancelReason, CancelScope } from "../shared/cancellation/cancel-scope.ts";
export { detectContextRestart } from "./loop/restart/context-restart.ts";
export type { CacheWatcher, StreamWatch } from "./loop/run/ports.ts";
export type { GuardPorts } from "./providers/guard-stream.ts";
export { streamOnce, type StreamPorts } from "./loop/stream/stream-once.ts";
export type { MessageContent } from "../shared/judge-finish.ts";

export type { EndedKind, EndedResult, ReasonOf } from "./errors/loop-ended-error.ts";
export type { LoopErrorDetails, LoopErrorOf } from "../shared/errors/loop-error.ts";
export type { ErrorWord } from "../shared/errors/error-words.ts";
export type { ProviderErrorFacts } from "../shared/errors/provider-error.ts";
export type { GenerateRequest } from "./loop/generate-with-tools.ts";
export type { ContextReleaseTool, ReleaseRequest } from "./loop/restart/context-tools.ts";
export type { ContextStashOptions } from "./loop/restart/context-tools.ts";
export type {
  AgentReport,
  AgentContext,
  AgentTool,
  AgentToolFields,
  DefineAgentTool,
  Inherited,
  PreparedOptions,
} from "./tools/define-agent-tool.ts";
export type { TruncateResultsOptions, TruncatedResults } from "./middleware/truncate-results.ts";
export type { ContextOptions } from "./middleware/context-restarts.ts";
export type { ContextRestartFields } from "./loop/restart/context-restart.ts";
export type { ArgsOf, DefineTool, FromSchema } from "./tools/define-tool.ts";
export type {
  BegunCall,
  Compaction,
  Handoffs,
  MessageWatch,
  Answer,
  CallRecorder,
  Ending,
  Hooks,
  MiddlewareList,
  Next,
  Outcome,
  PromptCacheWatch,
  Recorder,
  RequestDraft,
  RunFacts,
  State,
  StreamRecorder,
  Wait,
} from "./types/middleware.ts";
export type { WaitOptions } from "./types/wait.ts";
export type { ToolFilter } from "./tools/merge-registries.ts";
export type { MutableToolRegistry, ToolSource } from "./tools/registry.ts";
export type { ToolResultFields } from "./tools/tool-result.ts";
export type {
  Issue,
  MediaContent,
  ResponseTarget,
  StandardResult,
  StandardSchemaProps,
  ToolSchema,
  UserPart,
  Validation,
} from "./types/common.ts";
export type { DenyingGuardrail, GuardrailRecord, GuardrailRefusal } from "./types/guardrails.ts";
export type { Plain } from "./types/common.ts";
export type {
  CallEvent,
  CallSummary,
  DeltaEvent,
  EmittedPart,
  EventBase,
  EventSink,
  LoopAction,
  LoopEmitter,
  LoopEventType,
  ResultEvent,
  TriggerMatch,
} from "./types/loop-event.ts";
export type {
  ExecutableTool,
  IterationAnswer,
  IterationPlan,
  IterationState,
  IterationView,
  OnIteration,
  PrepareIteration,
  StopRequest,
  Unvalidated,
  QuestionFields,
  EntryOptions,
  NestedRunOptions,
  RunOptions,
} from "./types/loop-options.ts";
export type { PartialResult, ThoughtLogOwner } from "./types/loop-result.ts";
export type {
  AssistantPart,
  GivenMessage,
  ProviderMetadata,
  ProviderMetadataPart,
  TextPart,
  ToolCallPart,
} from "./types/message.ts";
export type {
  ApprovalContext,
  CompactedMessages,
  CompactionAnswer,
  ExtractedResult,
  ExtractionFacts,
  FinalAnswerReserve,
  LoopDetectionOptions,
  MaskingOptions,
  PreToolTextPolicy,
  OutsideResult,
  RestartPolicy,
  ResultStore,
  StopContext,
  StopDecision,
  StoredResult,
  StructuredOutputOptions,
} from "./types/policies.ts";
export type {
  CacheBreakCause,
  PartDigest,
  PromptCacheBreak,
  PromptCacheUse,
  LastRequest,
  RequestPrefix,
  StreamCache,
} from "./types/prompt-cache.ts";
export type {
  AttemptSpending,
  CallBasis,
  PartStart,
  RequestAdjustment,
  RequestedOutput,
  RequestTranscript,
} from "./types/provider.ts";
export type { CostUnknownWhy, StreamStatus } from "./types/termination.ts";
export type {
  ContextRelease,
  ContextRestart,
  Handoff,
  NestedSpending,
  ShownTool,
  ToolChange,
  ToolChangeKind,
  ToolHistoryEntry,
  ToolQuestion,
  WaitingCall,
} from "./types/tool-outcome.ts";
export type {
  CallArgs,
  CallOf,
  CallResult,
  ContextFor,
  ContextOf,
  ContextOption,
  InheritedContextOption,
  RunCall,
  RunCallFacts,
  ToolArgs,
  ToolInput,
  ToolOutput,
} from "./types/typed-call.ts";
export type { AnyTool, ApprovalView, Deferred, ToolBudget, ToolTraits } from "./types/tool.ts";
export type { ParsedArguments } from "../shared/json.ts";
