// The entry `turnwright/provider-kit`: functions for adapters to model services. The adapters in this package import nothing else
// from the core.

export { type Check, checkFields, type Checks, is, isFilled, needed, type Rule } from "./errors/check-fields.ts";
export { invalidOption, isLoopError } from "./errors/loop-error.ts";
export { keepBody } from "./errors/error-facts.ts";
export type { ErrorWord } from "./errors/error-words.ts";
export { providerError, type ProviderErrorFacts } from "./errors/provider-error.ts";
export { errorWordsCheck } from "./errors/provider-checks.ts";
export { toProviderError } from "./errors/read-sdk-error.ts";
export {
  createSdkProvider,
  groupByRole,
  type MetadataReader,
  pushError,
  readOwnItems,
  type RecordedMessage,
  type RoleGroup,
  saysTheSame,
  type SdkProviderFacts,
  type TokenCounts,
  toSettingFields,
  usageOf,
} from "./providers/sdk-provider.ts";
export { checkBody, openAnswer } from "./providers/sdk-provider.ts";
export { adapterChecks, type AdapterOptions, modelCheck, refuseBare } from "./providers/adapter-options.ts";
export { finishReasonsCheck, type FinishWords, withFinishReasons, meaningOf } from "./providers/judge-finish.ts";
export { EventTail } from "./providers/event-filter.ts";
export { type EventReader, readSdkStream, type SdkStream } from "./providers/read-sdk-stream.ts";
export { Answer, createEventReader, isCleanEnd } from "./providers/read-answer.ts";
export { keepAlive } from "./providers/stream-attempts.ts";
export { wrapProvider } from "../shared/wrap-provider.ts";
export { createOutputPlanner, isClientOf, type OutputPlan, type OutputRules } from "./providers/output-schema.ts";
export { toObjectSchema, mapSchemas } from "./providers/object-schema.ts";
export { resolveReference } from "./tools/root-schema.ts";
export {
  findParameters,
  type IdRule,
  idRules,
  toWireId,
  continueText,
  openingText,
  resultsReadText,
} from "./providers/wire-names.ts";
export { toWellFormed } from "./providers/well-formed.ts";
export { type ForcedChoice, isForced, toForcedText } from "./providers/forced-choice.ts";
export { createMediaFitter, type MediaLimits } from "./providers/fit-media.ts";
export { createRefusedReasoning, type RefusedReasoning, type SdkAnswer } from "./providers/refused-parts.ts";
export { readServiceChanges, reportTo } from "./providers/request-changes.ts";
export { type MediaForms, type MediaPlace, writeMedia, writeUserMedia } from "./providers/write-media.ts";
export type { Clock, ContentPart, JsonSchema, ProviderError, ProviderErrorCode, Usage } from "./types/common.ts";
export type { Json } from "./types/common.ts";
export type {
  AssistantMessage,
  AssistantPart,
  Message,
  ProviderMetadata,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "./types/message.ts";
export type {
  FinishReason,
  ModelCall,
  ModelChunk,
  ModelRequest,
  ModelSettings,
  Provider,
  RequestChange,
  ToolChoice,
} from "./types/provider.ts";
export type { ToolDefinition } from "./types/tool.ts";
export { assertNever } from "../shared/guards.ts";
export { growUsage, reconcileUsage } from "../shared/count-usage.ts";
export { isRecord, setField, type UnknownRecord } from "../shared/guards.ts";
export { digest, parseJson, parseToolArguments, toJson } from "../shared/json.ts";
export {
  encodeBase64,
  isOnWeb,
  isTextType,
  type MediaPart,
  type ReadableMedia,
  readText,
  toBase64,
} from "../shared/media-source.ts";
export { copyFields, countOf, filledOrNone, listOf, recordOf, textOf } from "../shared/plain-error.ts";
export { memoize } from "../shared/promises.ts";
export { takeStart } from "../shared/texts.ts";
export { hasSucceeded, type PlainMessage, readAssistantMessage } from "./providers/plain-message.ts";
export {
  type CallFacts,
  type CallReadyChunk,
  endArguments,
  findRecent,
  FinishedCalls,
  isSameArguments,
  toWireName,
  toArgumentsObject,
} from "../shared/tool-arguments.ts";
