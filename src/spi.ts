// What the author of an adapter may import. Adapters of this package import nothing else of it.

// the types that an adapter implements and reads
export type { Clock, Timeouts } from "./contract/clock.ts";
export type { ContentPart, UserPart } from "./contract/content.ts";
export type { Json } from "./contract/json.ts";
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
export type { LoopLimits } from "./contract/limits.ts";
export type { LoopEvent, LoopEvents, LoopEventType } from "./contract/loop-event.ts";
export type { LoopOptions, Tool, ToolContext, ToolRegistry } from "./contract/loop-options.ts";
export type { JsonSchema } from "./contract/schema.ts";
export type { LoopStatus, StreamStatus, Termination } from "./contract/termination.ts";
export type { ToolOutcome } from "./contract/tool-outcome.ts";
export type { ToolDefinition, ToolResult, ToolTraits } from "./contract/tool.ts";
export type { Pricing, Usage } from "./contract/usage.ts";

// errors, as data and for misuse
export { checkFields, checkRequired, invalidOption, is, isFilled, oneOf } from "./errors/check-fields.ts";
export type { Check, Checks } from "./errors/check-fields.ts";
export { finishReasonsCheck, withFinishReasons } from "./errors/finish-words.ts";
export type { FinishWords } from "./errors/finish-words.ts";
export { isLoopError, LoopError } from "./errors/loop-error.ts";
export type { LoopErrorCode, LoopErrorDetails } from "./errors/loop-error.ts";
export { defaultRetryable, isProviderError, providerError, toProviderError } from "./errors/provider-error.ts";
export type { ProviderErrorFacts } from "./errors/provider-error.ts";
export { toPlainError } from "./kit/plain-error.ts";
export { redactSecrets, redactText } from "./kit/redact-secrets.ts";

// reading what an SDK streams
export { checkAnswer, openAnswer } from "./errors/answer-body.ts";
export { AnswerIds, cutByAnother } from "./errors/one-answer.ts";
export { readSdkStream } from "./errors/read-sdk-stream.ts";
export type { EventReader } from "./errors/read-sdk-stream.ts";

// reading foreign data
export { assertNever } from "./kit/assert-never.ts";
export { describeValue, quote } from "./kit/describe-value.ts";
export { dropPromise } from "./kit/drop-promise.ts";
export { isRecord } from "./kit/is-record.ts";
export type { UnknownRecord } from "./kit/is-record.ts";
export { copyFields, countOf, filledOrNone, listOf, recordOf, textOf, textOrNone } from "./kit/read-foreign.ts";
export { endArguments, parseToolArguments } from "./kit/parse-arguments.ts";
export { FinishedCalls, isSameArguments } from "./kit/finished-calls.ts";
export { parseJson } from "./kit/parse-json.ts";
export { growUsage, reconcileUsage } from "./kit/reconcile-usage.ts";
export { isSameJson } from "./kit/same-json.ts";
export { toJson } from "./kit/to-json.ts";

// tools from elsewhere
export { digest, stableJson } from "./kit/stable-json.ts";
export { createToolRegistry } from "./tools/registry.ts";
export { toolResult } from "./tools/tool-result.ts";

// writing requests
export { writeToolMedia, writeUserMedia } from "./errors/write-media.ts";
export type { MediaForms, MediaPlace } from "./errors/write-media.ts";
export { hasSucceeded, readTurn, toArgumentsObject } from "./kit/read-message.ts";
export { encodeBase64 } from "./kit/encode-base64.ts";
export { isOnWeb, isTextType, locateMedia, readText, toBase64 } from "./kit/media-source.ts";
export type { MediaPart, ReadableMedia } from "./kit/media-source.ts";
export { groupByRole } from "./kit/group-messages.ts";
export { findRecent } from "./kit/find-recent.ts";
export { memoize } from "./kit/memoize.ts";
export { setField } from "./kit/set-field.ts";
export { toSettingFields } from "./kit/setting-fields.ts";
export { toWireName } from "./kit/wire-name.ts";
