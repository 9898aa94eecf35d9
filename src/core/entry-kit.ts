// What the other entries use of the core beside what it publishes. Nothing of it is published.

export { followSignal } from "./cancellation/follow-signal.ts";
export { CancelScope } from "./cancellation/cancel-scope.ts";
export {
  type Check,
  checkFields,
  type Checks,
  invalidOption,
  is,
  isFunction,
  isText,
  numberWithin,
  oneOf,
} from "./errors/check-fields.ts";
export { isLoopError, LoopError } from "./errors/loop-error.ts";
export { assertProvider } from "./errors/provider-check.ts";
export { isProviderError, providerError, toProviderError } from "./errors/provider-error.ts";
export { nextStep, type NextStep } from "./loop/next-step.ts";
export { detectContextRestart } from "./loop/restart/detect-context-restart.ts";
export { runToolLoop } from "./loop/run-tool-loop.ts";
export { resolveLimits, resolveTimeouts } from "./loop/run/resolve-limits.ts";
export type { Bounds } from "./loop/run/resolve-policies.ts";
export type { ToolAnswer } from "./loop/run/run.ts";
export { applyStep } from "./loop/state/apply-step.ts";
export { userTextOf } from "./loop/state/last-user-text.ts";
export { findLoop } from "./loop/state/loop-detection.ts";
export {
  createLoopState,
  type HookAnswer,
  type InboxAnswer,
  type LoopState,
  type OutputAnswer,
  type ReopenAnswer,
  type SettledCall,
  type StepResult,
  suspensionOf,
} from "./loop/state/loop-state.ts";
export { recordVersion, type RunRecord, type RunStart } from "./loop/state/run-record.ts";
export {
  callKey,
  type CallPlace,
  decisionKey,
  editKey,
  endingKey,
  inboxKey,
  isCallKey,
  isLastLook,
  lastInboxKey,
  nextKeyAfter,
  iterationOf,
  retryKey,
  retryOf,
  runKey,
  stepKey,
  streamKey,
} from "./loop/state/step-key.ts";
export { checkAnswer } from "./loop/state/check-answer.ts";
export { earlyOutcomesOf } from "./loop/state/transcript.ts";
export { executeToolCall } from "./loop/tool-call/execute-tool-call.ts";
export {
  type BegunRecord,
  questionId,
  type RecordedDecision,
  refusedBy,
  unfitBy,
  type Verdict,
} from "./loop/tool-call/recorded-answers.ts";
export { describeMisfit } from "./policies/structured-output.ts";
export { type Answerer, answererOf, AttemptLog } from "./providers/attempt-log.ts";
export { continuesTurn } from "./providers/attempt-reader.ts";
export { iterate } from "./providers/guard-stream.ts";
export { argumentSchema, issue } from "./tools/argument-schema.ts";
export { assertTool } from "./tools/check-tool.ts";
export { isStandardSchema, toJsonSchema } from "./tools/json-schema.ts";
export { refuseTool } from "./tools/refuse-tool.ts";
export { createToolRegistry, toRegistry } from "./tools/registry.ts";
export { toFailure, type ToolEnding, toOutcome } from "./tools/to-outcome.ts";
export { toolResult, type ToolResultFields } from "./tools/tool-result.ts";
export { validateArgs } from "./tools/validate-args.ts";
export type { Clock } from "./types/clock.ts";
export type { ContentPart } from "./types/content.ts";
export type { Journal, Step, StepKind } from "./types/journal.ts";
export type { Json } from "./types/json.ts";
export type { LoopEmitter, LoopEvent, LoopEvents, LoopEventType, ResultEvent, TriggerMatch } from "./types/loop-event.ts";
export type { LoopOptions, NestedLoopOptions, Tool, ToolContext, ToolRegistry } from "./types/loop-options.ts";
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
export type { ProviderError, ProviderErrorCode } from "./types/plain-error.ts";
export type {
  AttemptSpending,
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  Provider,
  RequestTranscript,
} from "./types/provider.ts";
export type { ResultCacher, ResultStore, StoredResult } from "./types/results.ts";
export type { Issue, JsonSchema, StandardResult, StandardSchema, ToolSchema, Validation } from "./types/schema.ts";
export type { StreamResult } from "./types/stream-result.ts";
export type { Ending, LoopStatus, EndReason } from "./types/termination.ts";
export type { ShownTool, ToolChange } from "./types/tool-change.ts";
export type { NestedSpending, ToolCall, ToolOutcome } from "./types/tool-outcome.ts";
export type { NeedsApproval, ToolBudget, ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";
export type { Usage } from "./types/usage.ts";
export { addUsage, noUsage } from "./utils/add-usage.ts";
export { assertNever } from "./utils/assert-never.ts";
export { hiddenContent, isContent } from "./utils/chunk-text.ts";
export { longestTimerMs, systemClock } from "./utils/clock.ts";
export { cutText } from "./utils/cut-text.ts";
export { describeValue, quote } from "./utils/describe-value.ts";
export { encodeBase64 } from "./utils/encode-base64.ts";
export { countBytes, estimateTokens, tokensOfBytes } from "./utils/estimate-tokens.ts";
export { type FileFacts, followOwnLinks, isOwn, tightMode } from "./utils/file-trust.ts";
export { groupByRole } from "./utils/group-messages.ts";
export { isRecord, type UnknownRecord } from "./utils/is-record.ts";
export { isThenable } from "./utils/is-thenable.ts";
export { isOnWeb, locateMedia } from "./utils/media-source.ts";
export { memoize } from "./utils/memoize.ts";
export { describeRule, isWithin, type NumberRule } from "./utils/number-rule.ts";
export { parseToolArguments } from "./utils/parse-arguments.ts";
export { parseJson } from "./utils/parse-json.ts";
export { toPlainError } from "./utils/plain-error.ts";
export { promiseOrValue } from "./utils/promise-or-value.ts";
export { listOf, recordOf, textOf, textOrNone, toUsage } from "./utils/read-foreign.ts";
export { hasSucceeded, readTurn } from "./utils/read-message.ts";
export { redactSecrets } from "./utils/redact-secrets.ts";
export { digest, stableJson } from "./utils/stable-json.ts";
export { toJson } from "./utils/to-json.ts";
export { whenAllReady, whenReady } from "./utils/when-ready.ts";
export type { DeliberateGate } from "./types/policies.ts";
