// What the author of an adapter may import. Adapters of this package import nothing else of it.

// the types that an adapter implements and reads
export type { Clock, Timeouts } from "./types/clock.ts";
export type { ContentPart, UserPart } from "./types/content.ts";
export type { Json } from "./types/json.ts";
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
export type { LoopLimits } from "./types/limits.ts";
export type { LoopEvent, LoopEvents, LoopEventType } from "./types/loop-event.ts";
export type { LoopOptions, Tool, ToolContext, ToolRegistry } from "./types/loop-options.ts";
export type { JsonSchema } from "./types/schema.ts";
export type { LoopStatus, StreamStatus, EndReason } from "./types/termination.ts";
export type { ToolOutcome } from "./types/tool-outcome.ts";
export type { ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";
export type { Pricing, Usage } from "./types/usage.ts";

// errors, as data and for misuse
export { checkFields, checkRequired, invalidOption, is, isFilled, oneOf } from "./errors/check-fields.ts";
export type { Check, Checks } from "./errors/check-fields.ts";
export { finishReasonsCheck, withFinishReasons } from "./providers/finish-words.ts";
export type { FinishWords } from "./providers/finish-words.ts";
export { isLoopError, LoopError } from "./errors/loop-error.ts";
export type { LoopErrorCode, LoopErrorDetails } from "./errors/loop-error.ts";
export { defaultRetryable, isProviderError, providerError, toProviderError } from "./errors/provider-error.ts";
export type { ProviderErrorFacts } from "./errors/provider-error.ts";
export { toPlainError } from "./utils/plain-error.ts";
export { redactSecrets, redactText } from "./utils/redact-secrets.ts";

// reading what an SDK streams
export { checkAnswer, openAnswer } from "./providers/answer-body.ts";
export { AnswerIds, cutByAnother } from "./providers/one-answer.ts";
export { readSdkStream } from "./providers/read-sdk-stream.ts";
export type { EventReader } from "./providers/read-sdk-stream.ts";

// reading foreign data
export { assertNever } from "./utils/assert-never.ts";
export { describeValue, quote } from "./utils/describe-value.ts";
export { dropPromise } from "./utils/drop-promise.ts";
export { isRecord } from "./utils/is-record.ts";
export type { UnknownRecord } from "./utils/is-record.ts";
export { copyFields, countOf, filledOrNone, listOf, recordOf, textOf, textOrNone } from "./utils/read-foreign.ts";
export { endArguments, parseToolArguments } from "./utils/parse-arguments.ts";
export { FinishedCalls, isSameArguments } from "./utils/finished-calls.ts";
export { parseJson } from "./utils/parse-json.ts";
export { growUsage, reconcileUsage } from "./utils/reconcile-usage.ts";
export { isSameJson } from "./utils/same-json.ts";
export { toJson } from "./utils/to-json.ts";

// tools from elsewhere
export { digest, stableJson } from "./utils/stable-json.ts";
export { createToolRegistry } from "./tools/registry.ts";
export { toolResult } from "./tools/tool-result.ts";

// writing requests
export { writeToolMedia, writeUserMedia } from "./providers/write-media.ts";
export type { MediaForms, MediaPlace } from "./providers/write-media.ts";
export { hasSucceeded, readTurn, toArgumentsObject } from "./utils/read-message.ts";
export { encodeBase64 } from "./utils/encode-base64.ts";
export { isOnWeb, isTextType, locateMedia, readText, toBase64 } from "./utils/media-source.ts";
export type { MediaPart, ReadableMedia } from "./utils/media-source.ts";
export { groupByRole } from "./utils/group-messages.ts";
export { findRecent } from "./utils/find-recent.ts";
export { memoize } from "./utils/memoize.ts";
export { setField } from "./utils/set-field.ts";
export { toSettingFields } from "./utils/setting-fields.ts";
export { toWireName } from "./utils/wire-name.ts";
