import type { Clock, Timeouts } from "./clock.ts";
import type { Json } from "./json.ts";
import type { Journal } from "./journal.ts";
import type { LoopEmitter, TriggerMatch } from "./loop-event.ts";
import type { Message } from "./message.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { Session } from "./session.ts";
import type { Tool } from "./tool-definition.ts";
import type { ToolDefinition, ToolRegistry } from "./tool.ts";
import type { ToolCall } from "./tool-outcome.ts";
import type { Pricing, Usage } from "./usage.ts";

/** All that a run is told. */
export interface LoopOptions {
  // what to run
  /** The model. */
  readonly provider: Provider;
  /** Tools, or a registry of them. Default none. */
  readonly tools?: readonly Tool[] | ToolRegistry | undefined;
  /** The conversation so far. Its calls must be answered, each once. */
  readonly messages: readonly Message[];
  /** System text; it is not among the messages. */
  readonly system?: string | undefined;
  /** Settings of every pass; `preparePass` may change them. */
  readonly modelSettings?: ModelSettings | undefined;
  /** Which tools the model may use. Default: the provider's. */
  readonly toolChoice?: ToolChoice | undefined;
  /** Facts that are shown to the model at the end of every view; restarts add to them. */
  readonly contextItems?: readonly Json[] | undefined;
  /** Handed to tools as it is. */
  readonly messageIdMap?: unknown;
  /** Drops orphan results and answers open calls in `messages` instead of refusing them. Default false. */
  readonly repair?: boolean | undefined;
  // bounds
  readonly limits?: LoopLimits | undefined;
  readonly timeouts?: { readonly [Name in keyof Timeouts]?: number | undefined } | undefined;
  /** Prices each stream; without it `costUSD` is undefined. */
  readonly pricing?: Pricing | undefined;
  readonly policies?: LoopPolicies | undefined;
  readonly hooks?: LoopHooks | undefined;
  // outside world
  /** Ends the run from outside; serves one live run at a time. */
  readonly control?: LoopControl | undefined;
  /** Aborts the run: like a kill, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Hears the events; made by `createLoopEvents`. */
  readonly events?: LoopEmitter | undefined;
  /** Default: a new memory journal. */
  readonly journal?: Journal | undefined;
  /** Names the run, so that it can be resumed. Default: made up. */
  readonly runId?: string | undefined;
  /**
   * "retry-last" goes on behind a recorded ending of status "error", "timeout" or "stopped_by_user": the model is asked again.
   * Without effect on a run that is not recorded.
   */
  readonly resume?: "retry-last" | undefined;
  /** Default: the platform's. */
  readonly clock?: Clock | undefined;
  // the caller's own
  /** Who asks and how to answer; tools and approvals read it. */
  readonly session?: Session | undefined;
  /** Anything; tools get it as `ctx.context`. */
  readonly context?: unknown;
}

/** How much a run may do. Whole numbers; absent means the default, `Infinity` none. */
export interface LoopLimits {
  /** Most passes. Default 100. */
  readonly maxIterations?: number | undefined;
  /** The 0-based pass before which a "still-working" notice goes out, and from which on `ToolContext.showKillHint` is true. Default 20. */
  readonly softWarnIteration?: number | undefined;
  /** Tool errors in a row that end the run. Default 5. */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /** Context restarts allowed. Default 5. */
  readonly maxRestarts?: number | undefined;
  /** Resends of a paused turn allowed. Default 10. */
  readonly maxPauses?: number | undefined;
  /** Calls that run at once. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /** Most calls dispatched. Default none. */
  readonly maxToolCalls?: number | undefined;
  /** Most tokens, input and output. Checked before each pass. Default none. */
  readonly maxTokens?: number | undefined;
  /** Longest active time of the run in milliseconds. Default none. */
  readonly wallClockMs?: number | undefined;
}

/** Judgements that the caller may bring. */
export interface LoopPolicies {
  /** Blocks calls by name; does not hide tools. */
  readonly gate?: DeliberateGate | undefined;
  /** Asked about each ready call. */
  readonly approve?: Approve | undefined;
  /** What context restarts hide. */
  readonly restarts?: RestartPolicy | undefined;
  /** Grants one more pass without tools when the iteration or the tool-call limit ends the run. Default false. */
  readonly finalAnswer?: boolean | undefined;
}

/** Lets only some tools through. An empty allowlist lets none through; no allowlist, all. */
export interface DeliberateGate {
  readonly active: boolean;
  readonly allowedNames?: Iterable<string> | undefined;
  readonly triggerMatchByToolName?: ReadonlyMap<string, TriggerMatch> | undefined;
  /** Told of each successful tool while active. */
  retain?(name: string): void;
}

/** Asked once per call, after validation and before anything of the batch runs. A throw or a timeout denies. */
export type Approve = (call: ToolCall, context: ApprovalContext) => ApprovalDecision | PromiseLike<ApprovalDecision>;

/** What an approval may look at. */
export interface ApprovalContext {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: unknown;
  readonly signal: AbortSignal;
}

/** The answer of an approval. Edited arguments are validated again. */
export type ApprovalDecision =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string | undefined }
  | { readonly kind: "modify"; readonly args: Json };

/** What a context restart does besides adding its item. */
export interface RestartPolicy {
  /** Suffix of the restart type to the tools that it hides for the rest of the run. */
  readonly effects?: { readonly [suffix: string]: readonly string[] } | undefined;
}

/** Called at fixed points of a run. One that throws or takes longer than `hookMs` ends the run as `hook-failed`. */
export interface LoopHooks {
  /** Before each model stream, resends included; may change what is sent. */
  preparePass?(view: PassView): PassPlan | undefined | void | PromiseLike<PassPlan | undefined | void>;
  /** After each batch, with the number of finished iterations. */
  onIteration?(
    iteration: number,
    state: IterationState,
  ): IterationAnswer | undefined | void | PromiseLike<IterationAnswer | undefined | void>;
}

/** What is about to be sent. */
export interface PassView {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly system: string | undefined;
  readonly modelSettings: ModelSettings | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly usage: Usage;
}

/** What to change for this pass only. */
export interface PassPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** Names of the tools to expose; names that are not there are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Not heeded where no tool may run any more. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** Where a run stands after a batch. */
export interface IterationState {
  /** 0-based pass that just ended. */
  readonly iteration: number;
  /** USD so far; undefined where unknown. */
  readonly cumulativeCost: number | undefined;
  readonly messageCount: number;
  readonly lastToolCalls: readonly ToolCall[];
}

/** Ends the run as `iteration-abort`. */
export interface IterationAnswer {
  readonly abort: true;
  readonly reason?: string | undefined;
}

/** Ends a running loop from outside. Made by `createLoopControl`. */
export interface LoopControl {
  /** Ends the run as `stopped`: the model is cut, running tools get `settleMs`. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run as `killed`, at once. */
  kill(): "accepted" | "finished";
  /** True once a stop, a kill or the signal has asked for the end. */
  hasStopRequest(): boolean;
  /** True from the first call of a run to its end. */
  isToolChainActive(): boolean;
}

/** Who stopped a run, and why. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}
