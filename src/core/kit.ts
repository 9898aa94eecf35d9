// The entry `turnwright/kit`: for middleware, providers, registries, journals and hosts.

// Middleware
export { CancelScope } from "../shared/cancellation/cancel-scope.ts";
export { contextOf } from "./middleware/approve.ts";
export { sendDecision } from "./middleware/decide-call.ts";
export { askCaller } from "../shared/ask-caller.ts";
export { toContextMessage } from "./middleware/context-restarts.ts";
export { endWith, isStepCancelled } from "./run/seam.ts";
export { streamOnce } from "./loop/stream/stream-once.ts";
export { detectContextRestart } from "./loop/restart/context-restart.ts";
export { priceAttempts } from "./loop/run/pricing.ts";
export type {
  Answer,
  CallRecorder,
  Ending,
  Hooks,
  MiddlewareList,
  Next,
  Outcome,
  Recorder,
  RequestDraft,
  RunFacts,
  State,
  Wait,
} from "./types/middleware.ts";
export type { ApprovalContext, CompactedMessages, CompactionAnswer, OutsideResult, ResultStore } from "./types/policies.ts";
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
export { reportOf } from "./tools/define-agent-tool.ts";
export { assertTool, refuseTool } from "./tools/define-tool.ts";
export {
  findableTools,
  findToolChanges,
  handoffKey,
  isToolRegistry,
  type JoiningRegistry,
  toRegistry,
  toShown,
  waveOf,
  wrapToolsKey,
} from "./tools/registry.ts";
export { markSignal } from "./tools/tool-result.ts";
export type { Plain, StandardResult, ToolSchema, UserPart, Validation } from "./types/common.ts";
export type { AnyTool, ToolTraits } from "./types/tool.ts";
export type { Handoff, WaitingCall } from "./types/tool-outcome.ts";

// Journals
export { wrapJournal } from "./journal/memory-journal.ts";
export { checkStepRecord, isCompaction, isPacked } from "./run/check-record.ts";
export { type AskedStep, inLockstep, type OrderedEngine } from "./run/replay/lockstep.ts";
export { readRecords } from "./records/read-run.ts";

// Hosts
export { checkNeededTools, checkOptions, refuseLoopOptions } from "./run/check-options.ts";
export { limitRules, modelSettingsChecks, optionChecks, timeoutRules, toolChoiceCheck } from "./loop/run/option-table.ts";
export { toReason, waitsOf } from "./run/waiting-calls.ts";
export type { EmittedPart, LoopEmitter, LoopEventType, TriggerMatch } from "./types/loop-event.ts";
export type { EntryOptions, ExecutableTool, RunOptions, StopRequest } from "./types/loop-options.ts";
export type { CallOf, ContextOf, InheritedContextOption, RunCall } from "./types/typed-call.ts";
