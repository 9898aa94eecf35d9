// The `turnwright/kit` entry point: for authors of middleware, providers, tool registries, journals and hosts.

// For middleware authors
export { CancelScope } from "../shared/cancellation/cancel-scope.ts";
export { contextOf } from "./middleware/approve.ts";
export { sendDecision } from "./middleware/decide-call.ts";
export { toContextMessage } from "./middleware/context-restarts.ts";
export { beginCall, useCall } from "./loop/early-calls.ts";
export { denyCall, endWith } from "./loop/seam.ts";
export { addSpending, findSpentLimit, validatedArgs } from "./loop/middleware-tools.ts";
export { streamOnce } from "./loop/stream-once.ts";
export { detectContextRestart } from "./loop/context-restart.ts";
export type {
  Answer,
  BegunCall,
  CallRecorder,
  Ending,
  Hooks,
  Next,
  Outcome,
  Recorder,
  RequestDraft,
  ResultFields,
  RunFacts,
  State,
  Wait,
} from "./types/middleware.ts";
export type { DeliberateGate, ResultExtractor } from "./types/middleware-options.ts";

// For provider authors
export { type Check, checkFields, type Checks, is, needed } from "../shared/errors/check-fields.ts";
export { invalidOption } from "../shared/errors/loop-error.ts";
export { readSdkStream, type EventReader } from "../shared/adapters/read-sdk-stream.ts";
export { createSdkProvider, usageOf } from "../shared/adapters/sdk-provider.ts";
export { createOutputPlanner } from "../shared/adapters/output-schema.ts";
export { type MediaForms, writeMedia, writeUserMedia } from "../shared/adapters/write-media.ts";
export { iterateChunks } from "./providers/guard-stream.ts";
export { keepAlive } from "./providers/stream-attempts.ts";
export { finishReasonsCheck, withFinishReasons } from "../shared/judge-finish.ts";
export { hasSucceeded, readAssistantMessage } from "../shared/plain-message.ts";
export { wrapProvider } from "../shared/wrap-provider.ts";
export { toBase64 } from "../shared/media-source.ts";
export { countOf, listOf, recordOf, textOf } from "../shared/plain-error.ts";
export { isRecord } from "../shared/guards.ts";
export { type AnswerSource, listSources } from "../shared/list-sources.ts";
export { memoize } from "../shared/promises.ts";
export { toArgumentsObject } from "../shared/tool-arguments.ts";
export type { AssistantPart, ProviderMetadataPart, ToolCallPart } from "./types/message.ts";

// For tool and registry authors
export { reportOf } from "./loop/nested/define-agent-tool.ts";
export { assertTool, refuseTool } from "./tools/define-tool.ts";
export { handoffKey, isToolRegistry, toRegistry, toShown } from "./tools/registry.ts";
export { markSignal } from "./tools/tool-result.ts";
export type { Plain, ToolSchema, Validation } from "./types/common.ts";
export type { WaitingCall } from "./types/tool-outcome.ts";

// For journal authors
export { wrapJournal } from "./journal/memory-journal.ts";
export { checkStepRecord, isCompaction, isPacked } from "./loop/check-record.ts";
export { type AskedStep, inLockstep, type OrderedEngine } from "./loop/replay/lockstep.ts";
export { readRecords } from "./records/read-run.ts";

// For authors of hosts that run many loops
export { checkNeededTools, checkOptions, refuseLoopOptions } from "./loop/check-options.ts";
export { limitRules, optionChecks, requestChecks, timeoutRules } from "./loop/option-table.ts";
export { toReason, toWaitingCall, waitsOf } from "./loop/durability/waiting-calls.ts";
export type { LoopEmitter } from "./types/loop-event.ts";
export type { ExecutableTool } from "./types/loop-options.ts";
export type { CallOf, ContextOf, RunCall } from "./types/typed-call.ts";

// Types that the exported functions return
export type { ContextReleaseTool } from "./loop/context-tools.ts";
export type { MemoryJournal } from "./loop/journals.ts";
export type { TruncatedResults } from "./middleware/truncate-results.ts";
export type { RecordedRun } from "./records/read-run.ts";
export type { AgentReport, AgentTool } from "./loop/nested/define-agent-tool.ts";
export type { MutableToolRegistry } from "./tools/registry.ts";
export type { ApprovalContext } from "./types/middleware-options.ts";
export type { ContextRestart } from "./types/tool-outcome.ts";
export type { AnyTool, Deferred } from "./types/tool.ts";
export type { OutputPlan } from "../shared/adapters/output-schema.ts";
export type { PlainMessage } from "../shared/plain-message.ts";
