// The entry `turnwright/provider-kit`: functions for adapters to model services. The adapters in this package import nothing else
// from the core.

export { type Check, checkFields, type Checks, is, isFilled, needed, type Rule } from "../shared/errors/check-fields.ts";
export { invalidOption, isLoopError } from "../shared/errors/loop-error.ts";
export { keepBody } from "../shared/errors/error-facts.ts";
export type { ErrorWord } from "../shared/errors/error-words.ts";
export { providerError, type ProviderErrorFacts } from "../shared/errors/provider-error.ts";
export { errorWordsCheck } from "../shared/errors/provider-checks.ts";
export { toProviderError } from "../shared/errors/read-sdk-error.ts";
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
} from "../shared/adapters/sdk-provider.ts";
export { checkBody, openAnswer } from "../shared/adapters/sdk-provider.ts";
export { adapterChecks, type AdapterOptions, modelCheck, refuseBare } from "../shared/adapters/adapter-options.ts";
export { finishReasonsCheck, type FinishWords, withFinishReasons, meaningOf } from "../shared/judge-finish.ts";
export { EventTail } from "../shared/adapters/event-filter.ts";
export { type EventReader, readSdkStream, type SdkStream } from "../shared/adapters/read-sdk-stream.ts";
export { Answer, createEventReader, isCleanEnd } from "../shared/adapters/read-answer.ts";
export { keepAlive } from "./providers/stream-attempts.ts";
export { wrapProvider } from "../shared/wrap-provider.ts";
export { createOutputPlanner, isClientOf, type OutputPlan, type OutputRules } from "../shared/adapters/output-schema.ts";
export { toObjectSchema, mapSchemas } from "../shared/adapters/object-schema.ts";
export { resolveReference } from "../shared/root-schema.ts";
export {
  findParameters,
  type IdRule,
  idRules,
  toWireId,
  continueText,
  openingText,
  resultsReadText,
} from "../shared/adapters/wire-names.ts";
export { toWellFormed } from "../shared/adapters/well-formed.ts";
export { type ForcedChoice, isForced, toForcedText } from "../shared/forced-choice.ts";
export { createMediaFitter, type MediaLimits } from "../shared/adapters/fit-media.ts";
export { createRefusedReasoning, type RefusedReasoning, type SdkAnswer } from "../shared/adapters/refused-parts.ts";
export { readServiceChanges, reportTo } from "../shared/adapters/request-changes.ts";
export { type MediaForms, type MediaPlace, writeMedia, writeUserMedia } from "../shared/adapters/write-media.ts";
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
export { hasSucceeded, type PlainMessage, readAssistantMessage } from "../shared/plain-message.ts";
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
