// The types of a run in progress, of its requests and of its tool calls. A run owns the mutable state, and the parts that act on it:
// events, journal, limits, scope and features. The code of an optional feature comes with the value that the user passes, so unused
// features are not bundled.

import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Clock, Session, Timeouts, Json, Masking, Usage } from "../../types/common.ts";
import type { IterationPlan, LoopOptions, LoopControl, ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { Message } from "../../types/message.ts";
import type {
  Provider,
  RequestedOutput,
  StreamResult,
  RequestTranscript,
  AttemptSpending,
  ModelCall,
  ModelRequest,
} from "../../types/provider.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { EndReason } from "../../types/termination.ts";
import type { ToolCall, ToolOutcome, ShownTool, ToolChange } from "../../types/tool-outcome.ts";
import type { CallEvent, LoopEvent } from "../../types/loop-event.ts";
import type { Journal } from "../../types/old-journal.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type {
  Approve,
  CompactedMessages,
  Compaction,
  CompactionAnswer,
  Handoffs,
  OutsideResult,
  ResultProcessing,
  StopCondition,
  StructuredOutput,
  LoopDetection,
} from "../../types/policies.ts";
import type { GuardrailRecord, Guardrails } from "../../types/guardrails.ts";
import type { Deadline, DeadlinePorts } from "../../cancellation/deadline.ts";
import type { IdleTimer } from "../../cancellation/signals.ts";
import type { HandOver, LoopState, Repetition } from "../state/loop-state.ts";
import type { SettledCall, InboxMessage } from "../state/step-result.ts";
import type { Asked, CallQuestions, Decisions } from "./decisions.ts";
import type { LoopEventSink } from "./emit.ts";
import type { JournalTraffic } from "./journal-call.ts";
import type { Meter } from "./meter.ts";
import type { Park, Parking } from "./parking.ts";
import type { RunBounds } from "./limits.ts";
import type { JoiningRegistry, Wave } from "../../tools/wave.ts";
import { sharedMap } from "../../utils/guards.ts";
import type { PromptCacheUse, PromptCacheWatch, StreamCache } from "../../types/prompt-cache.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { CycleRules } from "../state/step-key.ts";

/** A call that may run, with the final arguments for its tool. */
export interface ReadyCall {
  readonly kind: "ready";
  readonly call: ToolCall;
  readonly definition: ToolDefinition;
  /** The arguments for the tool. Validated arguments are the output of the schema. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Set if the call may no longer run. The call then ends with this outcome, unless the journal has recorded another outcome. */
  readonly unfit?: ToolOutcome | undefined;
  /** Set for a recorded call whose tool has changed. The arguments must be validated before the tool runs. */
  readonly unvalidated?: true | undefined;
  /** Called instead of the tool in the registry. Set for an agent tool whose nested run has ended. */
  readonly execute?: (() => unknown) | undefined;
}

/** The part of a run that a tool call uses. */
/** Counts the advice in the results of one message. Limited, because a model may make thousands of mistakes. */
export interface Advice {
  hints: number;
  names: number;
  listed: number;
  explained: number;
}

export interface ToolCallPorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The tools that the model may call in this iteration. */
  readonly exposed: ReadonlyMap<string, ToolDefinition>;
  /** The tools that have changed after their calls were recorded. Recorded calls are not checked against the new definitions. */
  readonly changed?: ReadonlyMap<string, unknown> | undefined;
  /** The tool names that `policies.gate` allows. Undefined if the gate is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** The `toolChoice` that the loop enforces, because servers and models may ignore it. Default: any tool may run. */
  readonly choice?: StreamResult["toolChoice"];
  /** Counts the advice that the results of the same message have given. Default: none so far. */
  readonly advice?: Advice | undefined;
  /** Returns true if the registry still contains the tool that the model saw. Default: the registry is not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Creates the second argument of `execute`. The `signal` and the `heartbeat` of this context come from `deadline`. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Called with each value that the generator of a tool yields, until the call is over. Must not throw. */
  onYield?(call: ToolCall, value: unknown): void;
  /** Returns the questions that the tool asked with `context.ask`. Default: no questions. */
  questionsIn?(call: ToolCall): CallQuestions | undefined;
  /** Called with the metadata of a tool result, which only event listeners get. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends after the loop stopped waiting for it. */
  onLate?(call: ToolCall, success: boolean): void;
}

/** A finished stream whose `iteration-end` event was not emitted yet. */
export interface OpenIteration {
  readonly result: StreamResult;
  readonly continuation: number;
  readonly earlier: readonly ToolCall[];
  readonly live: boolean;
}

export interface FirstTools {
  readonly shown: { readonly [name: string]: ShownTool };
  /** The registry's definitions when the first record was written. Undefined if an earlier execution wrote the record. */
  readonly registered: readonly ToolDefinition[] | undefined;
}

interface RecordedTools {
  readonly asks: boolean;
  readonly tools: ReadonlyMap<string, ShownTool>;
  /** The changes to each tool since its calls were recorded, by tool name. Omits changes that do not affect these calls. */
  readonly changes: ReadonlyMap<string, readonly ToolChange[]>;
}

export interface VisibleTools {
  readonly tools: readonly ToolDefinition[];
  /** The tools that the model may call, by name: the visible tools, and then the deferred tools that are not loaded yet. */
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  readonly findable: readonly ToolDefinition[];
  /** If this text is the same in two iterations, the same deferred tools are visible. Empty if no tool is deferred. */
  readonly stamp: string;
  /**
   * The list from the registry. The tools are reused while the registry returns this list. Empty if the tools are for one
   * iteration only.
   */
  readonly source: readonly ToolDefinition[];
  readonly registered: readonly ToolDefinition[];
  /** The tools from the record of the iteration. Set only in a replayed iteration. */
  readonly recorded?: RecordedTools | undefined;
  readonly hiddenCount: number;
  readonly hasEager: boolean;
  readonly hasApproval: boolean;
}

export interface RequestViews extends RequestTranscript {
  sent(): readonly Message[];
}

export interface LoopDetector extends LoopDetection, LoopRule {
  readonly cycles: CycleRules;
  begin(): Repetition;
}

export interface Masked {
  readonly calls: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export type MaskingSource = Pick<
  LoopState,
  "messages" | "iteration" | "iterationStart" | "functionHistory" | "forcedIterations" | "releases"
>;

export interface MaskedView {
  /** The messages to send. They are valid after `update` was called for the iteration. */
  readonly messages: readonly Message[];
  /** Returns those iterations in `force` that still have results to mask. */
  findForced(force: ReadonlySet<number>): readonly number[];
  /** Masks old results before a stream. Returns the newly masked results, or undefined if no result was masked. */
  update(state: MaskingSource): Masked | undefined;
}

export interface ResultMasking extends Masking {
  readonly force: ReadonlySet<number> | undefined;
  createView(): MaskedView;
}

/** Watches the requests of one stream. */
export interface StreamWatch {
  /** Called with each request body of the stream, as `sending` of the model call. */
  readonly sending: NonNullable<ModelCall["sending"]>;
  /** Called after the stream has ended. Returns the facts about its requests, and makes `sending` ignore all further requests. */
  read(spendings: readonly AttemptSpending[], priceOf: (usage: Usage, by: AttemptSpending) => unknown): StreamCache | undefined;
}

/** Watches the prompt cache of one run. Created by the value of `policies.promptCache`. */
export interface CacheWatcher {
  /** Begins to watch the requests of a stream. */
  watch(request: ModelRequest): StreamWatch;
  /** Takes the recorded requests of a replayed stream, so that the next request is compared with these records. */
  replay(cache: StreamCache): void;
  /** Returns the sums for the result of the run. */
  sum(results: readonly StreamResult[]): PromptCacheUse;
}

export interface CacheWatch extends PromptCacheWatch {
  createWatcher(): CacheWatcher;
}

export interface RunCallPorts extends ToolCallPorts {
  isCurrent(definition: ToolDefinition): boolean;
  takeMetadata(call: ToolCall): unknown;
  /** The position of each call within its iteration, by call id. Kept until the run ends, because a tool may finish late. */
  readonly places: Map<string, number>;
  indexOf(callId: string): number;
  /** The calls of the current iteration whose end was already emitted, by call id. */
  readonly ended: Map<string, ToolOutcome["kind"]>;
  /** The ids of the calls of the current iteration that wait for a decision or a result. */
  readonly waiting: Set<string>;
  /** The waves of calls that the registry runs together, by call id. */
  readonly waves: Map<string, Wave>;
  addNested(callId: string, nested: NestedRun): void;
  countNested(callId: string): number;
  takeNested(callId: string): readonly NestedRun[] | undefined;
  questionsOf(callId: string): CallQuestions;
}

export interface NestedRun {
  readonly run: Run;
  readonly result: Promise<LoopResult>;
}

/** A run that holds its resources but has not started its first step. Call either `drive` or `run.release`. */
export interface StartedRun {
  readonly run: Run;
  drive(): Promise<LoopResult>;
}

/** The call that contains a nested run. `run` is the outer run. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** True if the nested run records its steps in the outer run's journal. Default false. */
  readonly sharesJournal?: boolean | undefined;
  readonly park?: Park | undefined;
  readonly tap?: ((event: LoopEvent) => void) | undefined;
  /** True if the nested run must wait after its replay until the outer run lets it continue. Default false. */
  readonly awaitsTurn?: boolean | undefined;
}

export interface Run {
  readonly options: LoopOptions;
  readonly runId: string;
  /** A random id of this execution. Another execution with the same journal has another token. */
  readonly token: string;
  readonly registry: JoiningRegistry;
  readonly state: LoopState;
  readonly bounds: RunBounds;
  readonly timeouts: Timeouts;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly traffic: JournalTraffic;
  readonly scope: CancelScope;
  readonly events: LoopEventSink;
  readonly alarm: IdleTimer;
  readonly control: ControlClaim | undefined;
  readonly decisions: Decisions;
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  readonly stopConditions: readonly StopCondition[];
  readonly features: Features;
  readonly ports: RunCallPorts;
  /** The number of outer runs. The maximum number of nested levels is `maxDepth`. */
  readonly depth: number;
  readonly maxDepth: number;
  readonly meter: Meter;
  readonly outer: Run | undefined;
  /** The ids of the calls that contain this run, each followed by a slash. Empty for the outermost run. */
  readonly path: string;
  /** True for a nested run that records its steps in the outer run's journal. The outer run then decides about retries. */
  readonly sharesJournal: boolean;
  readonly park: Park | undefined;
  /** True while a nested run may only replay its records, because other calls of the iteration are still replaying. */
  awaitsTurn: boolean;
  /** Resolves when the run may take new steps. Undefined if the run never had to wait. */
  turn: Promise<void> | undefined;
  /** The nested runs that wait in the current iteration. Undefined if there are no nested runs. */
  parking: Parking | undefined;
  view: MaskedView | undefined;
  readonly cacheWatcher: CacheWatcher | undefined;
  /** The changes of requests that the run has reported with `request-adjusted`. */
  readonly toldChanges: Set<string>;
  /** The guard of the current request. Undefined without `policies.guardrails`. */
  guard: RequestGuard | undefined;
  /** The nested runs that use this run's journal and still hold resources. */
  readonly sharingRuns: Set<Run>;
  failure: { readonly error: unknown } | undefined;
  nest(options: LoopOptions, nesting: Nesting): StartedRun;
  visibleTools: VisibleTools;
  toolChoice: StreamResult["toolChoice"];
  /** The tools in the first record of the run. Undefined for a run that cannot be resumed. */
  firstTools: FirstTools | undefined;
  codeVersion: string | undefined;
  /** True if all steps of this iteration were replayed so far. Set by `runIteration` and `readInbox`, cleared by a new step. */
  isIterationReplayed: boolean;
  /**
   * "begun" after the first replayed step with an effect, "over" after the `replay-end` event. Nested runs that share the journal
   * do not use this field.
   */
  replayPhase: "none" | "begun" | "over";
  /**
   * The newest stream's calls as they were checked at the end of the stream, by call id. Undefined if the stream was replayed.
   */
  prepared: ReadonlyMap<string, ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome>> | undefined;
  requestViews: RequestViews | undefined;
  openIteration: OpenIteration | undefined;
  release(): void;
}

export interface ResultProcessor extends ResultProcessing {
  process(run: Run, settled: readonly SettledCall[]): readonly SettledCall[] | PromiseLike<readonly SettledCall[]>;
}

export interface RequestGuard {
  /** Resolves to the records of the input checks. Undefined if the request has no new input. A rejection is already handled. */
  readonly checked: Promise<readonly GuardrailRecord[]> | undefined;
  /** Returns a provider whose stream contains only checked text. */
  wrap(provider: Provider): Provider;
  /** Adds the records of the output checks to the result. If a check refused the output, also sets the ending. */
  judge(result: StreamResult): StreamResult;
}

export interface InputOutputGuard extends Guardrails {
  /** `key` is the key of the request's journal step. */
  begin(run: Run, key: string): RequestGuard | undefined;
  /** Returns an approval function that calls the tool checks before `approve`. */
  around(approve: Approve | undefined): Approve | undefined;
}

export interface AgentTable extends Handoffs {
  readonly start: string;
  /** The number of messages before the handoff to `start`. Undefined if no earlier run made such a handoff. */
  readonly startsAfter: number | undefined;
  readonly maxHandoffs: number;
  readonly handOver: HandOver;
  /**
   * Throws LoopError "invalid-option" if the run lacks a tool of the agents, or if an agent has a `toolChoice` of a tool that it lacks.
   * `names` are the tools of the run, and `option` is the place of the option `tools`.
   */
  checkTools(names: ReadonlySet<unknown>, option: string): void;
  /** Returns the same agents with other providers. */
  mapProviders(map: (provider: Provider) => Provider): AgentTable;
  /** Returns the plan of the current agent. Throws if the agents of a resumed run lack this agent. */
  planFor(run: Run): IterationPlan;
  /**
   * Filters the messages before the newest handoff. `messages` is the transcript, in which results may be masked. Returns
   * undefined if the agent sees all messages, or if a summary has replaced the filtered ones. Returns the same object for equal
   * arguments.
   */
  filter(run: Run, messages: readonly Message[]): FilteredMessages | undefined;
}

/** The messages that an agent sees whose `history` filters the messages before its handoff. */
export interface FilteredMessages {
  readonly messages: readonly Message[];
  /** The number of messages that the filter has left, at the beginning of `messages`. */
  readonly left: number;
  /** The number of messages of the transcript that the filter got. */
  readonly before: number;
}

export interface Compactor extends Compaction {
  /**
   * Returns the summary of an earlier run. Throws LoopError "invalid-option" if the summary does not fit the messages of this
   * run.
   */
  earlierOf(messages: readonly Message[]): CompactedMessages | undefined;
  /** True if old messages must be summarized before the next request, and if there are messages to summarize. */
  isDue(run: Run): boolean;
  /** Writes the summary, in a journal step. Never rejects. */
  compact(run: Run): Promise<CompactionAnswer>;
  /** The `compactAt` of a request to this provider, in tokens. Undefined for a provider that cannot compact. */
  thresholdFor(provider: Provider): number | undefined;
}

export interface OutputReader extends StructuredOutput {
  readonly prompt: string;
  /** The schema for a provider with `structuresOutput`. Undefined with `native: false`. */
  readonly requested: RequestedOutput | undefined;
  readonly maxRetries: number;
  judge(run: Run, mayAskAgain: boolean): void | PromiseLike<void>;
}

export interface Features {
  readonly loopDetection: LoopDetector | undefined;
  readonly masking: ResultMasking | undefined;
  readonly compaction: Compactor | undefined;
  readonly results: ResultProcessor | undefined;
  readonly output: OutputReader | undefined;
  readonly promptCache: CacheWatch | undefined;
  readonly guardrails: InputOutputGuard | undefined;
  readonly handoffs: AgentTable | undefined;
}

/** Maps each control to the function that connects it to a run. All copies of the package share this map. */
export const claims: WeakMap<LoopControl, (scope: CancelScope, maxInterrupts: number) => ControlClaim> =
  /* @__PURE__ */ sharedMap("control-claims");

export interface LiveQuestion {
  readonly run: Run;
  readonly place: CallEvent;
  readonly deadline: Deadline;
  readonly asked: Asked;
}

export interface ControlClaim {
  readonly questions: Map<string, { readonly fromPage: boolean; readonly take: (answer: OutsideResult) => void }>;
  waitForAnswer(question: LiveQuestion): Promise<unknown>;
  /** The messages that the run has not taken yet, in order. New messages may be added at the end. */
  readonly messages: readonly InboxMessage[];
  takeMessages(count: number): void;
  readonly drains: boolean;
  /** Called when the first tool call of the run is about to start. Later messages cannot interrupt the run. */
  startToolChain(): void;
  /** Called after the last reading of the inbox. The methods of the control then return "finished". */
  shut(): void;
  /** Releases the control, whose methods then return "finished". Remaining messages are kept for the next run. */
  release(ending?: EndReason["kind"]): void;
}
