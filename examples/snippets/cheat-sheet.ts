// A summary for llms.txt: the core. If a type here differs from the real type, the compiler reports an error.

import assert from "node:assert/strict";
import * as turnwright from "turnwright";
import type {
  Approve,
  CallDecision,
  Clock,
  ContextStash,
  Journal,
  Json,
  LoopControl,
  LoopEndedError,
  LoopError,
  LoopEvent,
  LoopOptions,
  LoopResult,
  LoopStatus,
  Message,
  Middleware,
  ModelSettings,
  NestedLoopOptions,
  PlainError,
  Pricing,
  Provider,
  ProviderError,
  ProviderErrorCode,
  ResultPipeline,
  SavedJournal,
  Session,
  StandardSchema,
  StopCondition,
  StreamResult,
  StructuredOutput,
  EndReason,
  Timeouts,
  Tool,
  ToolCall,
  ToolDefinition,
  ToolChoice,
  ToolContext,
  ToolExecutor,
  ToolRegistry,
  ToolResult,
  Usage,
  UserMessage,
} from "turnwright";
import type { CompactedMessages } from "turnwright/middleware";
import type { CallOf, Deferred, DeliberateGate, LoopEmitter, ProviderMetadataPart, RunCall } from "turnwright/kit";
import type { AgentFields, ResultFields, ToolFields } from "./cheat-sheet-tools.ts";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type ContextOptions = ArgumentOf<typeof turnwright.contextRestarts>;
type EndedKind = ArgumentOf<typeof turnwright.isLoopEndedError, 1>;
type EndedResult<Kind extends EndedKind = EndedKind> = LoopResult & { readonly reason: EndReason & { readonly kind: Kind } };
type FallbackOptions = ArgumentOf<typeof turnwright.withFallback, 1>;
type FinalAnswerReserve = NonNullable<ArgumentOf<typeof turnwright.finalAnswer>["reserve"]>;
type GenerateRequest = ArgumentOf<typeof turnwright.generateWithTools, 1>;
type GenerateOptions = ArgumentOf<typeof turnwright.generateWithTools, 3>;
type Handoff = NonNullable<LoopResult["handoffs"]>[number];
type LoopDetectionOptions = ArgumentOf<typeof turnwright.detectLoops>;
type LoopErrorCode = LoopError["code"];
type MaskingOptions = ArgumentOf<typeof turnwright.maskResults>;
type MiddlewareList = NonNullable<LoopOptions["middleware"]>;
type OnIteration = ArgumentOf<typeof turnwright.onIteration>;
type PreToolTextPolicy = ArgumentOf<typeof turnwright.preToolText>;
type PrepareIteration = ArgumentOf<typeof turnwright.prepareIteration>;
type PromptCacheUse = NonNullable<LoopResult["cache"]>;
type ProviderErrorFacts = ArgumentOf<typeof turnwright.providerError, 2>;
type QuestionFields = Omit<ArgumentOf<typeof turnwright.ask, 1>, "schema">;
type RetryOptions = ArgumentOf<typeof turnwright.withRetry, 1>;
type StructuredOutputOptions = ArgumentOf<typeof turnwright.structuredOutput, 1>;
type ToolChange = ArgumentOf<NonNullable<LoopOptions["allowToolChange"]>>;
type ToolHistoryEntry = LoopResult["functionHistory"][number];
type TruncateResultsOptions = ArgumentOf<typeof turnwright.truncateResults>;
type TruncatedResults = ReturnType<typeof turnwright.truncateResults>;

type ThoughtLogOwner = NonNullable<LoopResult["thoughtLogOwner"]>;
type ToolSource = ToolRegistry | readonly Tool[];

// #region core
interface Core {
  // runs
  runToolLoop(options: LoopOptions): Promise<LoopResult>; // rejects with a LoopError for misuse only
  streamToolLoop(options: LoopOptions): AsyncIterable<LoopEvent> & { readonly result: Promise<LoopResult> };
  // runs the loop and returns the answer; throws the errors of unwrap, such as IterationLimitError and AbortedError
  generateWithTools(
    provider: Provider,
    request: GenerateRequest, // { prompt } or { messages }; system?, modelSettings?, toolChoice?
    toolExecutor: ToolExecutor, // { definitions, execute(name, args, context) }
    options?: GenerateOptions, // maxIterations (10 requests to the model), maxCostUSD, pricing, onIteration, abortSignal
  ): Promise<LoopResult>;
  // steer(message), interrupt(message), drain(), stop({ requester?, note? }), kill(), hasStopRequest(), isToolChainActive()
  createLoopControl(): LoopControl;
  createLoopEvents(): LoopEmitter; // an eventemitter3: events.on("text-delta", ({ text }) => ...)
  // tools
  defineTool(tool: ToolFields): Tool<unknown>; // the schema types the arguments of execute
  defineAgentTool(tool: AgentFields): Tool<unknown>; // each call is a nested run
  runNested(context: ToolContext, options: NestedLoopOptions, name?: string): Promise<LoopResult>; // a run inside the call of a tool, or inside a hook
  emitText(context: ToolContext): LoopEmitter; // `events` for runNested: writes the nested text to the user's stream
  createToolRegistry(tools?: readonly Tool[]): ToolRegistry & { register(tool: Tool): void; unregister(name: string): boolean };
  mergeRegistries(...sources: ToolSource[]): ToolRegistry; // throws LoopError "duplicate-tool" if two tools have the same name
  withPrefix(source: ToolSource, prefix: string): ToolRegistry;
  withFilter(source: ToolSource, filter: Iterable<string> | ((definition: ToolDefinition) => boolean)): ToolRegistry; // other tools cannot be called
  toolResult(fields: ResultFields): ToolResult;
  defer(options?: { fromPage?: boolean }): Deferred; // a tool returns it if its result comes later, from outside
  // asks a person; a durable tool runs again after the answer; with `wait`, the tool waits in this process
  ask<Output>(context: ToolContext, question: QuestionFields & { schema: StandardSchema<unknown, Output> }): Promise<Output>;
  ask(context: ToolContext, question: QuestionFields & { schema?: undefined }): Promise<string>;
  contextRestart(fields: {
    type: `context_restart_${string}`;
    enhanced_context_item?: object | null; // added to the context items
    disable_tools?: readonly string[];
    pending_context_key?: string; // a key in the stash of contextRestarts
  }): ToolResult;
  FatalToolError: new (message?: string, options?: ErrorOptions) => Error; // thrown by a tool, ends the run
  isToolResult(value: unknown): value is ToolResult;
  isCallOf<T extends Tool, Call extends object>(tool: T, call: Call): call is Extract<CallOf<T, Call>, Call>; // narrows name, args, result
  createContextStash(options?: {
    ttlMs?: number;
    maxEntries?: number;
    clock?: Pick<Clock, "now">;
    createKey?: () => string;
  }): ContextStash;
  // stop conditions, for stopWhen
  iterationCountIs(count: number): StopCondition;
  hasToolCall(names: string | readonly string[]): StopCondition; // the call does not run; it is in result.pendingCalls
  toolCallCountIs(calls: number): StopCondition;
  tokenBudget(tokens: number): StopCondition;
  textMatches(pattern: string | RegExp): StopCondition;
  createContextRelease(): Tool<never>; // the tool context_release: the model releases results that it no longer needs
  // middleware, in the recommended order; your bundle contains only the ones that you import
  onIteration(ask: OnIteration): Middleware; // after the calls; { abort: true } ends the run
  maskResults(options?: MaskingOptions): Middleware; // clears old results from requests, not from the transcript
  contextRestarts(options?: ContextOptions): Middleware; // effects, stash, items, maxRestarts
  prepareIteration(plan: PrepareIteration): Middleware; // changes the next request
  eagerTools(): Middleware; // starts calls of tools with `eager` while the model still streams
  deferTools(): Middleware; // hides tools with `deferred` until a search has found them
  structuredOutput<Output>(schema: StandardSchema<unknown, Output>, options?: StructuredOutputOptions): StructuredOutput<Output>; // result.output
  detectLoops(options?: LoopDetectionOptions): Middleware; // threshold, action, maxCycle, compareResults
  limitIdenticalCalls(options?: { readonly max?: number | undefined }): Middleware; // max: the same calls with the same results, default 10
  stopWhen(condition: StopCondition | readonly StopCondition[]): Middleware;
  finalAnswer(options?: { readonly reserve?: FinalAnswerReserve }): Middleware; // one more iteration without tools at a limit
  preToolText(policy?: PreToolTextPolicy): Middleware; // ends the run after a message with both text and tool calls
  gateTools(gate: DeliberateGate): Middleware; // active, allowedNames, triggerMatchByToolName, retain
  processResults(pipeline: ResultPipeline): Middleware; // processor, extractor, cacher
  truncateResults(options: TruncateResultsOptions): TruncatedResults; // maxTokens or maxBytes, keep
  approve(policy?: Approve): Middleware; // (call, context) => approve, deny, modify or ask
  // providers
  withRetry(provider: Provider, options?: RetryOptions): Provider; // retries after retryable errors, until content arrives
  withFallback(providers: readonly Provider[], options?: FallbackOptions): Provider; // uses the next provider after an error or a timeout
  providerError(code: ProviderErrorCode, message: string, facts?: ProviderErrorFacts): ProviderError; // status, retryable, retryAfterMs, cause
  toProviderError(thrown: unknown): ProviderError; // classifies an error of an SDK
  isProviderError(value: unknown): value is ProviderError;
  explainErrors(): void; // only in a bundle: adds the full messages of errors
  enableJournals(): void; // only in a bundle: adds the code for approvals and for a journal of your own
  repairMessages(messages: readonly Message[]): readonly Message[]; // adds missing results, removes results without a call
  parseToolArguments(text: string): { readonly args: unknown } | { readonly problem: "malformed" }; // "" means {}
  // journals
  memoryJournal(saved?: SavedJournal): Journal & { keys(): readonly string[]; toJSON(): SavedJournal };
  // errors
  LoopError: new (code: LoopErrorCode, details: never, options?: ErrorOptions) => LoopError;
  isLoopError(value: unknown, code?: LoopErrorCode): value is LoopError;
  isFatalToolError(value: unknown): value is Error;
  // the errors that unwrap throws; each has the fields `result` and `reason`
  unwrap<Result extends LoopResult>(result: Result): Result; // throws for each status but "completed"
  isLoopEndedError(value: unknown, ...kinds: EndedKind[]): value is LoopEndedError;
  LoopEndedError: new (result: EndedResult) => LoopEndedError; // its subclasses:
  IterationLimitError: new (result: EndedResult<"max-iterations">) => LoopEndedError;
  CostLimitError: new (result: EndedResult<"max-cost" | "cost-unknown">) => LoopEndedError;
  AbortedError: new (result: EndedResult<"stopped" | "killed" | "aborted" | "iteration-abort">) => LoopEndedError;
  ProviderFailedError: new (result: EndedResult<"provider-error">) => LoopEndedError;
  TimedOutError: new (result: EndedResult<"stream-idle" | "first-chunk" | "stream-too-long" | "wall-clock">) => LoopEndedError;
  SuspendedError: new (result: EndedResult<"drained" | "approval-required" | "result-required">) => LoopEndedError;
}
// #endregion core

// #region options
interface Options {
  provider: Provider;
  messages: readonly Message[];
  tools?: readonly Tool[] | ToolRegistry;
  system?: string;
  modelSettings?: ModelSettings; // maxOutputTokens, temperature, topP, stopSequences, seed, extra
  toolChoice?: ToolChoice; // "auto" | "required" | "none" | { name }
  messageIdMap?: unknown;
  limits?: Limits;
  timeouts?: { readonly [Name in keyof Timeouts]?: number };
  middleware?: MiddlewareList; // optional features, the outermost first
  allowToolChange?: (change: ToolChange) => boolean; // on resume, if recorded calls no longer fit a tool; default: LoopError "tools-changed"
  pricing?: Pricing; // (usage, { provider, model }) => USD | undefined
  control?: LoopControl;
  signal?: AbortSignal; // an abort acts like kill, with the signal's reason
  events?: LoopEmitter;
  journal?: Journal;
  runId?: string;
  version?: string; // of your code; recorded, and returned by inspectJournal
  answers?: { [id: string]: CallDecision | Json }; // keyed by the id in reason.calls of a suspended run; results from outside are { kind: "result", result } or { kind: "failed", error }
  resume?: "retry-last"; // calls the model again over the journal of a run that ended with an error, a timeout or a stop
  now?: number; // the time that ends waits with `until`, in milliseconds since 1970; default: the system time
  clock?: Clock;
  session?: Session; // conversationId, userId, locale, responseTarget, surfaceUserErrors, detailsLabel
  context?: unknown;
}

interface Limits {
  maxIterations?: number; // 100
  softWarnIteration?: number; // 20
  maxConsecutiveToolErrors?: number; // 5
  maxInterrupts?: number; // 3, in a row on one control
  maxPauses?: number; // 10
  maxDepth?: number; // 3 levels of nested runs
  toolConcurrency?: number; // 10
  maxToolCalls?: number; // none
  maxTokens?: number; // none
  maxCostUSD?: number; // none; needs pricing
  onUnknownCost?: "continue" | "end"; // "end"
  wallClockMs?: number; // none
}

interface WaitingTimes {
  streamIdleMs: number; // 120,000
  firstChunkMs: number; // the greater of streamIdleMs and 300,000
  streamMs?: number | undefined; // 1,800,000
  toolMs: number; // 300,000
  toolCleanupMs: number; // 5,000
  approvalMs: number; // none
  callbackMs: number; // 30,000
  journalMs?: number | undefined; // 60,000
}
// #endregion options

// #region result
interface Result {
  status: LoopStatus;
  reason: EndReason;
  text: string; // the last text that was not blank, trimmed
  details: string;
  responseText: string; // text and labelled details
  thoughtLog?: Json | undefined;
  thoughtLogOwner?: ThoughtLogOwner | undefined;
  messages: readonly Message[]; // the transcript, sendable as it is
  calls: readonly RunCall[]; // of turnwright/kit: { callId, name, args, outcome, result, iteration, durationMs, ... }, typed by the tools
  functionHistory: readonly ToolHistoryEntry[]; // the same calls in another format
  streamResults: readonly StreamResult[]; // one per provider stream
  accumulatedModelParts: readonly ProviderMetadataPart[];
  agent?: string | undefined; // the last agent of createHandoffs, for `startWith` in the next run
  handoffs?: readonly Handoff[] | undefined; // from, to, reason, iteration, callId, messagesBefore
  compaction?: CompactedMessages | undefined; // the last summary, for `startWith` in the next run
  cache?: PromptCacheUse | undefined; // share, savedUSD, breaks, ...; with watchPromptCache
  usage: Usage; // inputTokens, outputTokens, totalTokens, cachedInputTokens?, cacheWriteTokens?, reasoningTokens?
  costUSD: number | undefined; // undefined if unknown
  knownCostUSD: number; // the sum of the known costs
  iterations: number;
  toolCallsExecuted: number;
  durationMs: number; // active time
  error?: PlainError | undefined;
  budgetExceeded: boolean; // the known cost is above maxCostUSD
  finalAnswer: boolean;
  output?: unknown; // the answer as plain data, typed by the schema of structuredOutput
  pendingCalls: readonly (ToolCall & { readonly waitsFor?: "approval" | "result" | "answer" | undefined })[]; // calls that a stop condition prevented, or that wait
  undelivered: readonly UserMessage[]; // messages to the control that were not sent
  journal: Journal;
  runId: string;
}
// #endregion result

turnwright satisfies Core;
expectNone<Differing<Core, typeof turnwright>>();
expectNone<Differing<Options, LoopOptions>>();
expectNone<Differing<Limits, turnwright.LoopLimits>>();
expectNone<Differing<WaitingTimes, Timeouts>>();
expectNone<Differing<Result, LoopResult>>();

/** The compiler reports an error here if the summary differs from the real types. */
const holds: {
  readonly options: (options: Options) => LoopOptions;
  readonly limits: (limits: Limits) => turnwright.LoopLimits;
  readonly timeouts: (timeouts: WaitingTimes) => Timeouts;
  readonly result: (result: LoopResult) => Result;
} = {
  options: (options) => options,
  limits: (limits) => limits,
  timeouts: (timeouts) => timeouts,
  result: (result) => result,
};
assert.deepEqual(holds.limits({ maxIterations: 2 }), { maxIterations: 2 });
