// The options of a run.

import type { Message, UserMessage } from "./message.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { ToolBudget, ToolDefinition, ToolTraits } from "./tool.ts";
import type { ToolCall } from "./tool-outcome.ts";
import type { Clock, JsonSchema, Pricing, Session, StandardSchema, Timeouts, ToolSchema, Usage, Validation } from "./common.ts";
import type { Json } from "./json.ts";
import type { Journal } from "./journal.ts";
import type { LoopEmitter } from "./loop-event.ts";
import type { LoopResult } from "./loop-result.ts";
import type { ApprovalDecision, LoopPolicies } from "./policies.ts";

/** How much a run may do. Whole numbers, USD apart; absent means the default, `Infinity` none. */
export interface LoopLimits {
  /** Most iterations. Default 100. */
  readonly maxIterations?: number | undefined;
  /** The 0-based iteration before which a "still-working" notice goes out, and from which on `ToolContext.showKillHint` is true. Default 20. */
  readonly softWarnIteration?: number | undefined;
  /** Tool errors in a row that end the run. Default 5. */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /** Context restarts allowed. Default 5. */
  readonly maxRestarts?: number | undefined;
  /** Runs in a row that one control may interrupt; past it messages only queue. Default 3. */
  readonly maxInterrupts?: number | undefined;
  /** Iterations in a row with the same calls, arguments and successful results that end the run as `loop-detected`. At least 2. Default 10. */
  readonly maxIdenticalCalls?: number | undefined;
  /** Resends of a paused turn allowed. Default 10. */
  readonly maxPauses?: number | undefined;
  /** How deep runs may be nested: with 3 a run, a run in one of its tools, and one in that one's. Default 3. */
  readonly maxDepth?: number | undefined;
  /** Calls that run at once. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /** Most calls dispatched. Default none. */
  readonly maxToolCalls?: number | undefined;
  /** Most tokens, input and output. Checked before each stream. Default none. */
  readonly maxTokens?: number | undefined;
  /** Most USD, as `pricing` says; checked before each stream, with what the last one cost added to what is spent. Default none. */
  readonly maxCostUSD?: number | undefined;
  /** How a run with a `maxCostUSD` goes on after a stream without a known cost: it ends as `cost-unknown`, or counts only known costs. Default "end". */
  readonly onUnknownCost?: "continue" | "end" | undefined;
  /** Longest active time of the run in milliseconds. Default none. */
  readonly wallClockMs?: number | undefined;
}

/** Called at fixed points of a run. One that throws or takes longer than `hookMs` ends the run as `hook-failed`. */
export interface LoopHooks {
  /** Before each model stream, resends included; may change what is sent. */
  prepareIteration?(view: IterationView): IterationPlan | undefined | void | PromiseLike<IterationPlan | undefined | void>;
  /** After each batch, with the number of finished iterations. */
  onIteration?(
    iteration: number,
    state: IterationState,
  ): IterationAnswer | undefined | void | PromiseLike<IterationAnswer | undefined | void>;
}

/** The request that is about to be sent. */
export interface IterationView {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly system: string | undefined;
  readonly modelSettings: ModelSettings | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly usage: Usage;
}

/** Changes for this iteration only. */
export interface IterationPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** Names of the tools to expose; names that are not there are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Not heeded where no tool may run any more. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** The state of a run after a batch. */
export interface IterationState {
  /** Number of finished iterations, as the first argument: 1 after the first one. */
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

/**
 * Talks to a running loop from outside. Made by `createLoopControl`. Each verb answers "finished" once it is decided how
 * the run that holds the control ends, and else "accepted".
 */
export interface LoopControl {
  /** Sends a message before the next iteration, and has one more iteration made of a run that would be complete. Nothing is cut off. */
  steer(message: string | UserMessage): "accepted" | "finished";
  /**
   * Before the first call of the run: cuts the model off and ends the run as `interrupted`. From the first call on the run goes on,
   * and the message comes back in `undelivered`.
   */
  interrupt(message: string | UserMessage): "accepted" | "finished";
  /** Ends the run as `drained` before its next iteration; the iteration that runs finishes, its calls included. Can be resumed. */
  drain(): "accepted" | "finished";
  /** Ends the run as `stopped`: the model is cut, running tools get `settleMs`. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run as `killed`, at once. */
  kill(): "accepted" | "finished";
  /** True once a stop, a kill or the signal has asked for the end. */
  hasStopRequest(): boolean;
  /** True from the first call of a run to its end. */
  isToolChainActive(): boolean;
}

/** The person who stopped a run, and the reason. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}

/** Arguments that no schema has checked: JSON Schema is shown to the model, not enforced. */
export type Unvalidated = unknown;

/** The arguments that the `execute` of a tool gets: the output of its schema. */
export type ToolArgs<T extends Tool> = Parameters<T["execute"]>[0];

/** The arguments that a model sends to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends Tool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/** The value that a tool gives, its promise resolved. */
export type ToolOutput<T extends Tool> = Awaited<ReturnType<T["execute"]>>;

/** All that a run is told. `Output` is what the schema of `policies.output` makes. */
export interface LoopOptions<Output = unknown> {
  // what to run
  /** The model. */
  readonly provider: Provider;
  /** Tools, or a registry of them. Default none. */
  readonly tools?: readonly Tool[] | ToolRegistry | undefined;
  /** The conversation so far. Its calls must be answered, each once. */
  readonly messages: readonly Message[];
  /** System text; it is not among the messages. */
  readonly system?: string | undefined;
  /** Settings of every iteration; `prepareIteration` may change them. */
  readonly modelSettings?: ModelSettings | undefined;
  /** Which tools the model may use. A call of another tool is blocked. Default: the provider's. */
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
  readonly policies?: LoopPolicies<Output> | undefined;
  readonly hooks?: LoopHooks | undefined;
  // outside world
  /** Steers or ends the run from outside; serves one live run at a time. */
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
   * "retry-last" goes on behind a recorded ending of status "error", "timeout" or "stopped-by-user": the model is asked again.
   * Without effect on a run that is not recorded.
   */
  readonly resume?: "retry-last" | undefined;
  /** Decisions about calls that a run has stopped for: the `id` of each in `reason.calls`, and the decision. Needs `policies.approve`. */
  readonly decisions?: { readonly [id: string]: ApprovalDecision } | undefined;
  /** Default: the platform's. */
  readonly clock?: Clock | undefined;
  // the caller's own
  /** The user and where to answer. Tools and approvals read it. */
  readonly session?: Session | undefined;
  /** Anything; tools get it as `ctx.context`. */
  readonly context?: unknown;
}

/** A tool as its author writes it. Made by `defineTool`, which types the arguments of `execute` and `needsApproval`. */
export interface Tool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends ToolTraits<Args> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Shown to the model in place of what is made from `inputSchema`; needed where that cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Runs the tool; any plain value means success, a throw failure. */
  readonly execute: (args: Args, context: ToolContext) => Result;
  /** Makes the call a run of its own. Set by `defineAgentTool`. */
  readonly agent?: Agent | undefined;
}

/** How a call becomes a run, and the run's result the call's. Made by `defineAgentTool`. */
export interface Agent {
  readonly kind: "agent";
  /** Returns the options of the nested run. A replay calls it again: it must return the same for the same arguments. */
  prepare(args: unknown, context: ToolContext): NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** Returns the result of the call, as a tool's `execute` would. */
  toResult(result: LoopResult): unknown;
}

/**
 * The options of a nested run. Its provider, pricing, timeouts, clock, session and context are those of the run around it unless said
 * otherwise; its tools, policies, hooks and limits are its own, within what is left of the outer run's limits.
 */
export type NestedLoopOptions = Pick<LoopOptions, "messages"> & {
  readonly [Name in Exclude<keyof LoopOptions, "messages">]?: LoopOptions[Name] | undefined;
};

/** The second argument of a tool. */
export interface ToolContext {
  readonly callId: string;
  readonly name: string;
  /** 0-based iteration that asked for the call. */
  readonly iteration: number;
  /** Fires on stop, kill, abort and this call's timeout. Hand it to everything that takes one. */
  readonly signal: AbortSignal;
  /** Says that the tool is alive: extends `idleTimeoutMs`. */
  heartbeat(): void;
  /** Tells listeners how far the tool is (event `tool-progress`), and is a heartbeat. */
  progress(data: unknown): void;
  /** The transcript so far: a frozen list, made when it is read. */
  readonly messages: readonly Message[];
  /** The context items so far: a frozen list, made when it is read. */
  readonly contextItems: readonly Json[];
  /** As the caller gave it. */
  readonly messageIdMap: unknown;
  readonly provider: { readonly id: string; readonly model: string };
  /** True from the soft warning on: a user interface may offer to kill the run. */
  readonly showKillHint: boolean;
  /** True where users are not to see progress notices. */
  readonly suppressProgressNotices: boolean;
  /** The rest of the run's limits. */
  readonly budget: ToolBudget;
  /** Equal for each execution of this call, also after a crash: hand it to services that deduplicate. */
  readonly idempotencyKey: string;
  readonly session: Session;
  /** The caller's own `context` option. */
  readonly context: unknown;
  /** How many runs there are around this one. */
  readonly depth: number;
  /**
   * Runs a loop inside this call: one level deeper, ended with the call, and within what is left of the outer run's tokens and calls.
   * Its usage counts for the outer run, whose listeners hear its events with a `path`. Rejects with LoopError "depth-exceeded", and
   * for misuse as the function `runToolLoop` does.
   */
  runToolLoop(options: NestedLoopOptions): Promise<LoopResult>;
}

/** Finds and runs the tools of the loop. `createToolRegistry` makes one from tools; any object of this shape works. */
export interface ToolRegistry {
  /** The tools as they are now. Asked at the start and before each stream; the same array means nothing has changed. */
  definitions(): readonly ToolDefinition[];
  /** Runs one tool; a value or a promise of one. */
  executeTool(name: string, args: unknown, context: ToolContext): unknown;
  /** Checks arguments before the tool is dispatched. Without it tools get the model's arguments as they are. */
  validate?(name: string, args: unknown): Validation | Promise<Validation>;
  /** How a tool's calls become runs, where they do. Without it the loop asks `executeTool`, and such a run cannot be resumed midway. */
  agentOf?(name: string): Agent | undefined;
}
