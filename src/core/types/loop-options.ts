// The options of a run.

import type { Message, UserMessage } from "./message.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { Deferred, ToolBudget, ToolDefinition, ToolTraits } from "./tool.ts";
import type { ToolCall } from "./tool-outcome.ts";
import type { Clock, JsonSchema, Pricing, Session, StandardSchema, Timeouts, ToolSchema, Usage, Validation } from "./common.ts";
import type { Json } from "./json.ts";
import type { Journal } from "./journal.ts";
import type { LoopEmitter } from "./loop-event.ts";
import type { LoopResult } from "./loop-result.ts";
import type { CallDecision, LoopPolicies } from "./policies.ts";

/** Limits of a run. All are whole numbers except USD. An omitted limit has its default; `Infinity` means no limit. */
export interface LoopLimits {
  /** Most iterations. Default 100. */
  readonly maxIterations?: number | undefined;
  /** The 0-based iteration before which a "still-working" notice is sent. From it on, `ToolContext.showKillHint` is true. Default 20. */
  readonly softWarnIteration?: number | undefined;
  /** Number of consecutive tool errors that ends the run. Default 5. */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /** Context restarts allowed. Default 5. */
  readonly maxRestarts?: number | undefined;
  /** How many runs in a row one control may interrupt. After that, interrupting messages are only queued. Default 3. */
  readonly maxInterrupts?: number | undefined;
  /**
   * Number of consecutive iterations with the same calls, arguments and successful results that ends the run as `loop-detected`.
   * At least 2. Default 10.
   */
  readonly maxIdenticalCalls?: number | undefined;
  /** How often a paused iteration may be continued. Default 10. */
  readonly maxPauses?: number | undefined;
  /** How many runs may be nested. With 3: a run, a run in one of its tools, and a run in a tool of that. Default 3. */
  readonly maxDepth?: number | undefined;
  /** Calls that run at the same time. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /** Most calls dispatched. Default none. */
  readonly maxToolCalls?: number | undefined;
  /** Most tokens, input and output. Checked before each stream. Default none. */
  readonly maxTokens?: number | undefined;
  /**
   * Most USD, as `pricing` computes it. Before each stream, the cost of the last stream is added to the cost so far, and the sum
   * is checked. Default none.
   */
  readonly maxCostUSD?: number | undefined;
  /**
   * How a run with `maxCostUSD` reacts to a stream of unknown cost. "end" ends it as `cost-unknown`; "continue" counts only known
   * costs. Default "end".
   */
  readonly onUnknownCost?: "continue" | "end" | undefined;
  /** Longest active time of the run in milliseconds. Default none. */
  readonly wallClockMs?: number | undefined;
}

/**
 * Functions that are called at fixed points of a run. A hook that throws or takes longer than `timeouts.hookMs` ends the run as
 * `hook-failed`.
 */
export interface LoopHooks {
  /** Called before each model stream, continuations included. May change the request. */
  prepareIteration?(view: IterationView): IterationPlan | undefined | void | PromiseLike<IterationPlan | undefined | void>;
  /** Called after each batch, with the number of finished iterations. */
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

/** Changes for this stream only. */
export interface IterationPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** Names of the tools to show. Unknown names are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Ignored if no tool may run any more. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** The state of a run after a batch. */
export interface IterationState {
  /** Number of finished iterations, as the first argument: 1 after the first one. */
  readonly iteration: number;
  /** USD so far; undefined if unknown. */
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
 * Controls a running loop from outside. Made by `createLoopControl`. Each verb returns "finished" once the ending of its run is
 * decided, and "accepted" before that.
 */
export interface LoopControl {
  /** Sends a message before the next iteration. A run that would be complete makes one more iteration. Nothing is cut off. */
  steer(message: string | UserMessage): "accepted" | "finished";
  /**
   * Before the first tool call of the run: cuts the model off and ends the run as `interrupted`. After it: the run goes on, and
   * the message is returned in `undelivered`.
   */
  interrupt(message: string | UserMessage): "accepted" | "finished";
  /** Ends the run as `drained` before its next iteration. The current iteration finishes, its calls included. The run can be resumed. */
  drain(): "accepted" | "finished";
  /** Ends the run as `stopped`. The model is cut off, and running tools get `settleMs` to finish. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run as `killed`, at once. */
  kill(): "accepted" | "finished";
  /** True once a stop, a kill or the signal requested the end of the run. */
  hasStopRequest(): boolean;
  /** True from the first call of a run to its end. */
  isToolChainActive(): boolean;
}

/** The person who stopped a run, and the reason. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}

/** The type of arguments that no schema validates. JSON Schema is only shown to the model. */
export type Unvalidated = unknown;

/** The arguments that the `execute` of a tool gets: the output of its schema. */
export type ToolArgs<T extends Tool> = Parameters<NonNullable<T["execute"]>>[0];

/** The arguments that a model sends to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends Tool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/** The value that a tool returns, with its promise resolved. */
export type ToolOutput<T extends Tool> = Awaited<ReturnType<NonNullable<T["execute"]>>>;

/** All options of a run. `Output` is the output type of the schema in `policies.output`. */
export interface LoopOptions<Output = unknown> {
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
  /** Limits which tools the model may use. A call of another tool is blocked. Default: the provider's. */
  readonly toolChoice?: ToolChoice | undefined;
  /** Facts that the model sees at the end of every request. Context restarts add to them. */
  readonly contextItems?: readonly Json[] | undefined;
  /** Any value; tools read it as `ctx.messageIdMap`. */
  readonly messageIdMap?: unknown;
  /** Repairs `messages` instead of rejecting them: drops results without a call, and answers calls without a result. Default false. */
  readonly repair?: boolean | undefined;
  readonly limits?: LoopLimits | undefined;
  readonly timeouts?: { readonly [Name in keyof Timeouts]?: number | undefined } | undefined;
  /** Prices each stream. Without it, `costUSD` is undefined. */
  readonly pricing?: Pricing | undefined;
  readonly policies?: LoopPolicies<Output> | undefined;
  readonly hooks?: LoopHooks | undefined;
  /** Steers or ends the run from outside. A control serves one live run at a time. */
  readonly control?: LoopControl | undefined;
  /** Aborts the run: like a kill, with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Emits the events of the run; made by `createLoopEvents`. */
  readonly events?: LoopEmitter | undefined;
  /** Records the run. Default: a new memory journal. */
  readonly journal?: Journal | undefined;
  /** Identifies the run, so that it can be resumed. Default: generated. */
  readonly runId?: string | undefined;
  /**
   * "retry-last" continues a recorded run that ended with status "error", "timeout" or "stopped-by-user", by sending the model
   * another request. No effect on a run that is not recorded.
   */
  readonly resume?: "retry-last" | undefined;
  /** Decisions about calls that wait, and their results, by the `id` of each call in `reason.calls`. */
  readonly decisions?: { readonly [id: string]: CallDecision } | undefined;
  /** Default: the clock of the platform. */
  readonly clock?: Clock | undefined;
  /** The user, and how to answer. Tools and approvals read it. */
  readonly session?: Session | undefined;
  /** Any value; tools read it as `ctx.context`. */
  readonly context?: unknown;
}

/** A tool as its author writes it. Made by `defineTool`, which types the arguments of `execute` and `needsApproval`. */
export interface Tool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends ToolTraits<Args> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Shown to the model instead of the JSON Schema made from `inputSchema`. Needed if `inputSchema` cannot be converted. */
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Runs the tool. Any plain value means success, throwing means failure, and `context.defer()` means that the result comes later.
   * Without `execute`, each call waits for a result from outside: the run is suspended until `decisions` has one.
   */
  readonly execute?: ((args: Args, context: ToolContext) => Result) | undefined;
  /** Checks each result that comes from outside. A result that does not fit is refused. Default: any plain data. */
  readonly outputSchema?: StandardSchema | undefined;
  /** Makes each call a run of its own. Set by `defineAgentTool`. */
  readonly agent?: Agent | undefined;
}

/** A tool that runs in this process: one with `execute`. */
export interface ExecutableTool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends Tool<
  Args,
  Schema,
  Result
> {
  readonly execute: (args: Args, context: ToolContext) => Result;
}

/** Turns a tool call into a run, and the result of that run into the result of the call. Made by `defineAgentTool`. */
export interface Agent {
  readonly kind: "agent";
  /** Returns the options of the nested run. A replay calls it again, so it must return the same options for the same arguments. */
  prepare(args: unknown, context: ToolContext): NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** Returns the result of the call, as the `execute` of a tool would. */
  toResult(result: LoopResult): unknown;
}

/**
 * The options of a nested run. Provider, pricing, timeouts, clock, session and context default to those of the outer run. Tools,
 * policies, hooks and limits are its own, within the rest of the outer run's limits.
 */
export type NestedLoopOptions = Pick<LoopOptions, "messages"> & {
  readonly [Name in Exclude<keyof LoopOptions, "messages">]?: LoopOptions[Name] | undefined;
};

/** The second argument of `execute`. */
export interface ToolContext {
  readonly callId: string;
  readonly name: string;
  /** 0-based iteration that contains the call. */
  readonly iteration: number;
  /** Fires on stop, kill, abort and the timeout of this call. Pass it to every function that takes a signal. */
  readonly signal: AbortSignal;
  /** Reports that the tool is alive; restarts `idleTimeoutMs`. */
  heartbeat(): void;
  /** Reports progress to listeners (event `tool-progress`); counts as a heartbeat. */
  progress(data: unknown): void;
  /** The transcript so far: a frozen list, built when it is read. */
  readonly messages: readonly Message[];
  /** The context items so far: a frozen list, built when it is read. */
  readonly contextItems: readonly Json[];
  /** The `messageIdMap` option of the run. */
  readonly messageIdMap: unknown;
  readonly provider: { readonly id: string; readonly model: string };
  /** True from `limits.softWarnIteration` on: a user interface may offer to kill the run. */
  readonly showKillHint: boolean;
  /** True if users must not see progress notices. */
  readonly suppressProgressNotices: boolean;
  /** The rest of the run's limits. */
  readonly budget: ToolBudget;
  /** The same for each execution of this call, also after a crash. Pass it to services that deduplicate requests. */
  readonly idempotencyKey: string;
  readonly session: Session;
  /** The `context` option of the run. */
  readonly context: unknown;
  /** The number of runs around this one. */
  readonly depth: number;
  /**
   * Return this from `execute` if the result comes later, for example from a webhook or a person. The call waits, and the run is
   * suspended once nothing else can go on. Not for tools with `eager`, nor inside the `runToolLoop` of another tool: such a call
   * fails.
   */
  defer(): Deferred;
  /**
   * Runs a loop inside this call, one level deeper. It ends with the call, and shares the rest of the outer run's tokens and
   * calls. Its usage counts for the outer run, whose listeners receive its events with a `path`. Rejects with LoopError
   * "depth-exceeded", and for misuse like the function `runToolLoop`.
   */
  runToolLoop(options: NestedLoopOptions): Promise<LoopResult>;
}

/** Finds and runs the tools of the loop. `createToolRegistry` makes one from tools; any object of this shape works. */
export interface ToolRegistry {
  /** Returns the current tools. Called at the start and before each stream. The same array means that nothing has changed. */
  definitions(): readonly ToolDefinition[];
  /** Runs one tool; returns a value or a promise of one. */
  executeTool(name: string, args: unknown, context: ToolContext): unknown;
  /** Validates arguments before the tool is dispatched. Without it, tools get the model's arguments unchanged. */
  validate?(name: string, args: unknown): Validation | Promise<Validation>;
  /** Validates a result that comes from outside. Without it, any plain data is accepted. */
  validateResult?(name: string, result: unknown): Validation | Promise<Validation>;
  /**
   * Returns the agent of a tool whose calls are runs, else undefined. Without this method the loop calls `executeTool`, and such
   * a run cannot be resumed midway.
   */
  agentOf?(name: string): Agent | undefined;
}
