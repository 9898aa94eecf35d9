// What the author of an adapter may import. Adapters of this package import nothing else of it.

// the types that an adapter implements and reads

export type {
  Clock,
  ContentPart,
  JsonSchema,
  PlainError,
  Pricing,
  ProviderError,
  ProviderErrorCode,
  Timeouts,
  Usage,
  UserPart,
} from "./types/common.ts";
export type { Json } from "./types/json.ts";
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
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  RequestTranscript,
  ToolChoice,
} from "./types/provider.ts";
export type { LoopLimits, LoopOptions, Tool, ToolContext, ToolRegistry } from "./types/loop-options.ts";
export type { LoopEvent, LoopEvents, LoopEventType } from "./types/loop-event.ts";
export type { EndReason, LoopStatus, StreamStatus } from "./types/termination.ts";
export type { ToolOutcome } from "./types/tool-outcome.ts";
export type { ToolDefinition, ToolResult, ToolTraits } from "./types/tool.ts";

// errors, as data and for misuse
export {
  type Check,
  checkFields,
  checkRequired,
  type Checks,
  invalidOption,
  is,
  isFilled,
  oneOf,
} from "./errors/check-fields.ts";
export { finishReasonsCheck, type FinishWords, withFinishReasons } from "./providers/judge-finish.ts";
export { isLoopError, LoopError, type LoopErrorCode, type LoopErrorDetails } from "./errors/loop-error.ts";
export {
  defaultRetryable,
  isProviderError,
  providerError,
  type ProviderErrorFacts,
  toProviderError,
} from "./errors/provider-error.ts";
export { toPlainError } from "./utils/plain-error.ts";
export { redactSecrets, redactText } from "./utils/redact-secrets.ts";

// reading what an SDK streams
export { checkAnswer, openAnswer } from "./providers/answer-body.ts";
export { AnswerIds, cutByAnother } from "./providers/stream-attempts.ts";
export { type EventReader, readSdkStream } from "./providers/read-sdk-stream.ts";

// reading foreign data
export { assertNever } from "./utils/assert-never.ts";
export { describeValue, quote } from "./utils/texts.ts";
export { dropPromise } from "./utils/promises.ts";
export { isRecord, type UnknownRecord } from "./utils/guards.ts";
export { copyFields, countOf, filledOrNone, listOf, recordOf, textOf, textOrNone } from "./utils/plain-error.ts";
export { endArguments, FinishedCalls, isSameArguments, parseToolArguments } from "./utils/tool-arguments.ts";
export { isSameJson, parseJson, toJson } from "./utils/json.ts";
export { growUsage, reconcileUsage } from "./utils/count-usage.ts";

// tools from elsewhere
export { digest, stableJson } from "./utils/json.ts";
export { createToolRegistry } from "./tools/registry.ts";
export { toolResult } from "./tools/to-outcome.ts";

// writing requests
export { type MediaForms, type MediaPlace, writeToolMedia, writeUserMedia } from "./providers/write-media.ts";
export { hasSucceeded, readTurn, toArgumentsObject } from "./utils/texts.ts";
export {
  encodeBase64,
  isOnWeb,
  isTextType,
  locateMedia,
  type MediaPart,
  type ReadableMedia,
  readText,
  toBase64,
} from "./utils/media-source.ts";
export { groupByRole, toSettingFields } from "./utils/wire-messages.ts";
export { findRecent, toWireName } from "./utils/tool-arguments.ts";
export { memoize } from "./utils/promises.ts";
export { setField } from "./utils/guards.ts";
