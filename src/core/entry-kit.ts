// Internal exports of the core, for the other entries of this package.

export { CancelScope } from "../shared/cancellation/cancel-scope.ts";
export { followSignal, longestTimerMs, systemClock } from "../shared/signals.ts";
export {
  type Check,
  checkField,
  checkFields,
  type Checks,
  type Choice,
  describeRule,
  refuseOption,
  is,
  isFilled,
  isFunction,
  isText,
  isWithin,
  needed,
  type NumberRule,
} from "../shared/errors/check-fields.ts";
export { memoryJournal, wrapJournal } from "./journal/memory-journal.ts";
export { checkStepRecord, isCompaction, isPacked } from "./run/check-record.ts";
export { type AskedStep, inLockstep, type OrderedEngine } from "./run/journals.ts";
export { waitsOf } from "./run/waiting-calls.ts";
export { type PendingCall } from "./records/read-calls.ts";
export { readRecords, type RecordedRun, type WatchRun } from "./records/read-run.ts";
export { type RecordedPlace, type Records, toRecords } from "./records/recorded-places.ts";
export { applyHandoff } from "./middleware/apply-handoff.ts";
export { toReason } from "./run/waiting-calls.ts";
export { invalidOption, isLoopError, LoopError } from "../shared/errors/loop-error.ts";
export { isProviderError, providerError } from "../shared/errors/provider-error.ts";
export { assertProvider, providerCheck } from "../shared/errors/provider-checks.ts";
export { toProviderError } from "../shared/errors/read-sdk-error.ts";
export { type AgentReport, reportOf, defineAgentTool } from "./tools/define-agent-tool.ts";
export {
  createToolRegistry,
  findableTools,
  handoffKey,
  isToolRegistry,
  type JoiningRegistry,
  toRegistry,
  toShown,
  type Wave,
  waveOf,
  wrapToolsKey,
} from "./tools/registry.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { maskResults } from "./middleware/mask-results.ts";
export { type LoopStream, streamToolLoop } from "./loop/stream-tool-loop.ts";
export { checkNeededTools, checkOptions, refuseLoopOptions } from "./run/check-options.ts";
export {
  limitChecks,
  limitRules,
  modelSettingsChecks,
  optionChecks,
  sessionChecks,
  timeoutRules,
  toolChoiceCheck,
} from "./loop/run/option-table.ts";
export { resolveLimits, resolveTimeouts } from "./loop/run/limits.ts";
export type { CacheWatcher, StreamWatch } from "./loop/run/ports.ts";
export { malformedNote, misfitNote, warnOfLoop } from "./loop/state/apply-step.ts";
export { checkMessages, toUserMessage as copyUserMessage } from "./loop/state/check-messages.ts";
export { toContextMessage } from "./middleware/context-restarts.ts";
export { fitsMessages, refusedAsTooLong, summaryTitle, toCompacted, userTextOf } from "./loop/state/transcript.ts";
export { executeToolCall } from "./loop/tool-call/execute-tool-call.ts";
export { answerQuestion, createQuestions, readQuestion } from "./loop/run/decisions.ts";
export { priceAttempts } from "./loop/run/pricing.ts";
export { streamOnce } from "./loop/stream/stream-once.ts";
export { toAbilities, toProviderFacts, wrapProvider } from "../shared/wrap-provider.ts";
export { type Answerer, answererOf, AttemptLog, continuesMessage } from "./providers/attempt-reader.ts";
export { iterateChunks } from "./providers/guard-stream.ts";
export { groupByRole } from "../shared/adapters/sdk-provider.ts";
export { keepAlive } from "./providers/stream-attempts.ts";
export { judgeFinish } from "../shared/judge-finish.ts";
export { isApproval, waitWhereNeeded, withSignal } from "./policies/approval.ts";
export { findAnswerIssue } from "./tools/answer-issue.ts";
export { isStandardSchema, issue, toJsonSchema, validateArgs } from "./tools/argument-schema.ts";
export { argumentSchema } from "./tools/own-schema.ts";
export { assertTool, refuseTool } from "./tools/define-tool.ts";
export {
  type Conclusion,
  deferred,
  deferredToPage,
  isOutsideResult,
  renderIssues,
  renderOutcome,
  toFailure,
  toOutcome,
  toPreliminary,
  wasDispatched,
} from "../shared/to-outcome.ts";
export { markSignal, toolResult, type ToolResultFields } from "./tools/tool-result.ts";
export { toEmittedPart } from "./run/tool-context.ts";
export type { Clock, ContentPart, Issue, JsonSchema, PlainError, Pricing, ProviderError } from "./types/common.ts";
export type { ProviderErrorCode, StandardResult, StandardSchema, ToolSchema, Session, Usage, UserPart } from "./types/common.ts";
export type { Validation } from "./types/common.ts";
export type { Journal } from "./types/journal.ts";
export type { Json, Plain } from "./types/common.ts";
export type {
  CallSummary,
  EmittedPart,
  LoopEmitter,
  LoopEvent,
  LoopEvents,
  LoopEventType,
  ResultEvent,
  TriggerMatch,
} from "./types/loop-event.ts";
export type {
  EntryOptions,
  LoopControl,
  LoopLimits,
  LoopOptions,
  NestedLoopOptions,
  QuestionFields,
  RunOptions,
} from "./types/loop-options.ts";
export type { StopRequest, ExecutableTool, Tool, ToolContext, ToolRegistry } from "./types/loop-options.ts";
export type { LoopResult } from "./types/loop-result.ts";
export type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "./types/message.ts";
export type { GuardrailRecord } from "./types/guardrails.ts";
export type {
  ApprovalContext,
  ApprovalDecision,
  Approve,
  CallDecision,
  CompactedMessages,
  CompactionAnswer,
  DeliberateGate,
  ResultCacher,
  ResultStore,
  StoredResult,
  OutsideResult,
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
export type { EndReason, LoopStatus, StreamStatus } from "./types/termination.ts";
export type { Handoff, NestedSpending, ToolCall, ToolOutcome, ToolQuestion, WaitingCall } from "./types/tool-outcome.ts";
export type { ContextOf, InheritedContextOption } from "./types/typed-call.ts";
export type { AnyTool, NeedsApproval, ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";
export { assertNever } from "../shared/guards.ts";
export { Deadline } from "../shared/cancellation/deadline.ts";
export { addCost, addSpending, addUsage, noUsage, reconcileUsage } from "../shared/count-usage.ts";
export { type FileFacts, followOwnLinks, isOwn, tightMode } from "../shared/file-trust.ts";
export { isEmitter, isRecord, isThenable, type UnknownRecord } from "../shared/guards.ts";
export { digest, isSameJson, parseJson, parseToolArguments, stableJson, toJson } from "../shared/json.ts";
export { encodeBase64, isOnWeb, locateMedia, type MediaPart } from "../shared/media-source.ts";
export { listOf, recordOf, textOf, textOrNone, toPlainError, toUsage, unlessMissing } from "../shared/plain-error.ts";
export { dropPromise, memoize, promiseOrValue, whenAllReady, whenReady } from "../shared/promises.ts";
export { namesSecret } from "../shared/redact-fields.ts";
export { redactSecrets, redactText } from "../shared/redact-secrets.ts";
export { estimateMedia, estimateMetadata } from "../shared/estimate-media.ts";
export { cutText, takeStart, describeValue, hiddenContent, isContent, quote } from "../shared/texts.ts";
export { hasSucceeded, readAssistantMessage } from "../shared/plain-message.ts";
export { countBytes, estimateTokens, tokensOfBytes } from "../shared/estimate-tokens.ts";
export { contextOf, sendDecision, toDenied } from "./middleware/approve.ts";
export { askCaller } from "./middleware/ask-caller.ts";
export { endWith } from "./run/seam.ts";
export type {
  Answer,
  CallRecorder,
  Compaction,
  EndedCall,
  Handoffs,
  Hooks,
  Look,
  Middleware,
  Next,
  Outcome,
  PromptCacheWatch,
  Recorder,
  RequestDraft,
  RunFacts,
  State,
  StructuredOutput,
  Wait,
} from "./types/middleware.ts";
