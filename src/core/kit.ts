// The entry `turnwright/kit`: for middleware, providers, registries, journals and hosts.

// Middleware
export { CancelScope } from "../shared/cancellation/cancel-scope.ts";
export { contextOf } from "./middleware/approve.ts";
export { sendDecision } from "./middleware/decide-call.ts";
export { askCaller } from "../shared/ask-caller.ts";
export { toContextMessage } from "./middleware/context-restarts.ts";
export { denyCall, endWith, isStepCancelled } from "./loop/seam.ts";
export { streamOnce } from "./loop/stream-once.ts";
export { detectContextRestart } from "./loop/context-restart.ts";
export { priceAttempts } from "./loop/meter.ts";
export type {
  Answer,
  CallRecorder,
  Ending,
  Hooks,
  JoinedRun,
  MiddlewareList,
  Next,
  NextCall,
  Outcome,
  Recorder,
  RequestDraft,
  ResultFields,
  RunFacts,
  State,
  Wait,
} from "./types/middleware.ts";
export type {
  ApprovalContext,
  DeliberateGate,
  CompactedMessages,
  CompactionAnswer,
  OutsideResult,
  ResultStore,
} from "./types/middleware-options.ts";
export type { GuardrailRecord } from "./types/guardrails.ts";

// Providers
export { type Check, checkFields, type Checks, is, needed } from "../shared/errors/check-fields.ts";
export { invalidOption } from "../shared/errors/loop-error.ts";
export { readSdkStream, type EventReader } from "../shared/adapters/read-sdk-stream.ts";
export { createSdkProvider, usageOf } from "../shared/adapters/sdk-provider.ts";
export { createOutputPlanner } from "../shared/adapters/output-schema.ts";
export { type MediaForms, writeMedia, writeUserMedia } from "../shared/adapters/write-media.ts";
export { AttemptLog, answererOf, continuesMessage } from "./providers/attempt-reader.ts";
export { iterateChunks } from "./providers/guard-stream.ts";
export type { FallbackOptions } from "./providers/with-fallback.ts";
export type { RetryOptions } from "./providers/with-retry.ts";
export { keepAlive } from "./providers/stream-attempts.ts";
export { finishReasonsCheck, withFinishReasons } from "../shared/judge-finish.ts";
export { hasSucceeded, readAssistantMessage } from "../shared/plain-message.ts";
export { wrapProvider } from "../shared/wrap-provider.ts";
export { toBase64 } from "../shared/media-source.ts";
export { countOf, listOf, recordOf, textOf } from "../shared/plain-error.ts";
export { isRecord } from "../shared/guards.ts";
export { memoize } from "../shared/promises.ts";
export { toArgumentsObject } from "../shared/tool-arguments.ts";
export type { AttemptSpending, RequestChange } from "./types/provider.ts";
export type { AssistantPart, ProviderMetadata, ProviderMetadataPart, ToolCallPart } from "./types/message.ts";

// Tools and registries
export { reportOf } from "./loop/nested/define-agent-tool.ts";
export { assertTool, refuseTool } from "./tools/define-tool.ts";
export { findToolChanges, handoffKey, isToolRegistry, toRegistry, toShown } from "./tools/registry.ts";
export { markSignal } from "./tools/tool-result.ts";
export type { Plain, StandardResult, ToolSchema, UserPart, Validation } from "./types/common.ts";
export type { AnyTool, ToolTraits } from "./types/tool.ts";
export type { Handoff, WaitingCall } from "./types/tool-outcome.ts";

// Journals
export { wrapJournal } from "./journal/memory-journal.ts";
export { checkStepRecord, isCompaction, isPacked } from "./loop/check-record.ts";
export { type AskedStep, inLockstep, type OrderedEngine } from "./loop/replay/lockstep.ts";
export { readRecords } from "./records/read-run.ts";

// Hosts
export { checkNeededTools, checkOptions, refuseLoopOptions } from "./loop/check-options.ts";
export { limitRules, modelSettingsChecks, optionChecks, timeoutRules, toolChoiceCheck } from "./loop/option-table.ts";
export { toReason, toWaitingCall, waitsOf } from "./loop/waiting-calls.ts";
export type { EmittedPart, LoopEmitter, LoopEventType, TriggerMatch } from "./types/loop-event.ts";
export type { EntryOptions, ExecutableTool, RunOptions, StopRequest } from "./types/loop-options.ts";
export type { CallOf, ContextOf, InheritedContextOption, RunCall } from "./types/typed-call.ts";

// Types of options, events and results that programs rarely name
export type { EndedKind, EndedResult } from "./errors/loop-ended-error.ts";
export type { GenerateOptions, GenerateRequest } from "./loop/generate-with-tools.ts";
export type { ContextRestartFields } from "./loop/context-restart.ts";
export type { ContextReleaseTool, ContextStashOptions } from "./loop/context-tools.ts";
export type { StreamPorts } from "./loop/stream-once.ts";
export type { ContextOptions } from "./middleware/context-restarts.ts";
export type { IdenticalCallsOptions } from "./middleware/identical-calls.ts";
export type { TruncateResultsOptions, TruncatedResults } from "./middleware/truncate-results.ts";
export type { PendingCall } from "./records/read-calls.ts";
export type { RecordedRun, WatchRun } from "./records/read-run.ts";
export type { MemoryJournal } from "./loop/journals.ts";
export type { AgentContext, AgentReport, AgentTool, AgentToolFields } from "./loop/nested/define-agent-tool.ts";
export type { ArgsOf } from "./tools/define-tool.ts";
export type { ToolFilter } from "./tools/merge-registries.ts";
export type { MutableToolRegistry, ToolSource } from "./tools/registry.ts";
export type { ToolResultFields } from "./tools/tool-result.ts";
export type { Issue, MediaContent, ResponseTarget, StandardSchemaProps } from "./types/common.ts";
export type { DenyingGuardrail, GuardrailRefusal } from "./types/guardrails.ts";
export type { CallEvent, CallSummary, DeltaEvent, EventBase, LoopAction, ResultEvent } from "./types/loop-event.ts";
export type { QuestionFields } from "./loop/ask.ts";
export type { NestedRunOptions, OnIteration, PrepareIteration } from "./types/loop-options.ts";
export type { GivenMessage, TextPart } from "./types/message.ts";
export type { MessageWatch, StreamRecorder } from "./types/middleware.ts";
export type {
  ExtractedResult,
  ExtractionFacts,
  FinalAnswerReserve,
  LoopDetectionOptions,
  MaskingOptions,
  PreToolTextPolicy,
  RestartPolicy,
  ResultCacher,
  ResultExtractor,
  StopContext,
  StopDecision,
  StoredResult,
  StructuredOutputOptions,
} from "./types/middleware-options.ts";
export type { LastRequest, PromptCacheBreak, PromptCacheUse, StreamCache } from "./types/prompt-cache.ts";
export type { RequestAdjustment, RequestTranscript, RequestedOutput } from "./types/provider.ts";
export type { CostUnknownWhy, StreamStatus } from "./types/termination.ts";
export type {
  ContextRelease,
  ContextRestart,
  NestedSpending,
  ShownTool,
  ToolChange,
  ToolHistoryEntry,
  ToolQuestion,
} from "./types/tool-outcome.ts";
export type { ApprovalView, Deferred, ToolBudget } from "./types/tool.ts";
export type { CallArgs, ContextFor, ContextOption } from "./types/typed-call.ts";
export type { WaitOptions } from "./types/wait.ts";
export type { OutputPlan, OutputRules } from "../shared/adapters/output-schema.ts";
export type { SdkStream } from "../shared/adapters/read-sdk-stream.ts";
export type { SdkAnswer } from "../shared/adapters/refused-parts.ts";
export type { SdkProviderFacts, TokenCounts } from "../shared/adapters/sdk-provider.ts";
export type { MediaPlace } from "../shared/adapters/write-media.ts";
export type { CancelReason, Cancellable } from "../shared/cancellation/cancel-scope.ts";
export type { ErrorWord } from "../shared/errors/error-words.ts";
export type { LoopErrorCode, LoopErrorDetails, LoopErrorOf } from "../shared/errors/loop-error.ts";
export type { ProviderErrorFacts } from "../shared/errors/provider-error.ts";
export type { ParsedArguments } from "../shared/json.ts";
export type { FinishWords } from "../shared/judge-finish.ts";
export type { MediaPart, ReadableMedia } from "../shared/media-source.ts";
export type { PlainMessage } from "../shared/plain-message.ts";
export type { LoopSignal } from "../shared/to-outcome.ts";
export type { CacheBreakCause } from "./types/prompt-cache.ts";
export type { ToolChangeKind } from "./types/tool-outcome.ts";
export type { IterationAnswer, IterationPlan, IterationState, IterationView } from "./types/loop-options.ts";
export type { PartialResult } from "./types/loop-result.ts";
