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

/** The limits of a run. All are whole numbers, except the cost. `Infinity` means no limit. */
export interface LoopLimits {
  /** The maximum number of iterations. Default 100. */
  readonly maxIterations?: number | undefined;
  /**
   * A "still-working" notice is sent before this iteration, counted from 0. From this iteration on, `ToolContext.showKillHint` is
   * true. Default 20.
   */
  readonly softWarnIteration?: number | undefined;
  /** The number of consecutive tool errors that ends the run. Default 5. */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /** The maximum number of context restarts. Default 5. */
  readonly maxRestarts?: number | undefined;
  /**
   * The maximum number of consecutive runs that one control may interrupt. After that, messages to `interrupt` are only queued.
   * Default 3.
   */
  readonly maxInterrupts?: number | undefined;
  /**
   * The number of consecutive iterations with the same calls, arguments and successful results that ends the run as
   * `loop-detected`. At least 2. Default 10.
   */
  readonly maxIdenticalCalls?: number | undefined;
  /** The maximum number of times that a paused iteration is continued. Default 10. */
  readonly maxPauses?: number | undefined;
  /** The maximum number of levels of runs, including the outermost run. With 1, a tool cannot start a nested run. Default 3. */
  readonly maxDepth?: number | undefined;
  /** The maximum number of calls that run at the same time. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /** The maximum number of calls that the run starts. Default: no limit. */
  readonly maxToolCalls?: number | undefined;
  /** The maximum number of input and output tokens. Checked before each stream. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /**
   * The maximum cost in USD, as computed by `pricing`. Checked before each stream: the run ends if the cost so far plus the cost of
   * the last stream exceeds the limit. Default: no limit.
   */
  readonly maxCostUSD?: number | undefined;
  /**
   * How a run with `maxCostUSD` reacts to a stream whose cost is unknown. "end" ends the run as `cost-unknown`. "continue" counts
   * only known costs. Default "end".
   */
  readonly onUnknownCost?: "continue" | "end" | undefined;
  /** The maximum active time of the run, in milliseconds. Default: no limit. */
  readonly wallClockMs?: number | undefined;
}

/**
 * Functions that are called at fixed points of a run. A hook that throws an error or takes longer than `timeouts.hookMs` ends the
 * run as `hook-failed`.
 */
export interface LoopHooks {
  /** Called before each model stream, including continuations. May change the request. */
  prepareIteration?(view: IterationView): IterationPlan | undefined | void | PromiseLike<IterationPlan | undefined | void>;
  /** Called after the calls of each iteration, with the number of finished iterations. */
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

/** Changes to the request, for this stream only. */
export interface IterationPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** The names of the tools to show to the model. Unknown names are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Ignored if no tool may run, as in the extra iteration of `policies.finalAnswer`. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** The state of a run after the calls of an iteration. */
export interface IterationState {
  /** The number of finished iterations, the same as the first argument of `onIteration`. 1 after the first iteration. */
  readonly iteration: number;
  /** The cost so far in USD. Undefined if it is unknown. */
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
 * Controls a running loop from outside. Made by `createLoopControl`. A method returns "finished" instead of "accepted" if the
 * ending of the run is already decided.
 */
export interface LoopControl {
  /**
   * Adds a message before the next iteration. If the run would otherwise be complete, it makes one more iteration. The current
   * iteration is not cut off.
   */
  steer(message: string | UserMessage): "accepted" | "finished";
  /**
   * If no tool call of the run has started, cuts the model off and ends the run as `interrupted`. Otherwise the run continues,
   * and the message is returned in `undelivered`.
   */
  interrupt(message: string | UserMessage): "accepted" | "finished";
  /** Ends the run as `drained` after the current iteration and its calls. The run can be resumed. */
  drain(): "accepted" | "finished";
  /** Ends the run as `stopped`. The model is cut off, and running tools get `timeouts.settleMs` to finish. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run immediately, as `killed`. */
  kill(): "accepted" | "finished";
  /** True after `stop` or `kill` was called, or the run's signal was aborted. */
  hasStopRequest(): boolean;
  /** True from the first tool call of the run until the run ends. */
  isToolChainActive(): boolean;
}

/** The person who stopped a run, and the reason. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}

/** The type of arguments that are not validated, because their JSON Schema is only shown to the model. */
export type Unvalidated = unknown;

/** The type of the arguments that `execute` of a tool gets: the output of its schema. */
export type ToolArgs<T extends Tool> = Parameters<NonNullable<T["execute"]>>[0];

/** The type of the arguments that a model sends to a tool: the input of its schema, before defaults and transforms. */
export type ToolInput<T extends Tool> = T["inputSchema"] extends StandardSchema<infer Input, unknown> ? Input : ToolArgs<T>;

/** The type of the value that a tool returns, after its promise is resolved. */
export type ToolOutput<T extends Tool> = Awaited<ReturnType<NonNullable<T["execute"]>>>;

/** All options of a run. `Output` is the output type of the schema in `policies.output`. */
export interface LoopOptions<Output = unknown> {
  /** The provider of the model to run. */
  readonly provider: Provider;
  /** An array of tools, or a tool registry. Default: no tools. */
  readonly tools?: readonly Tool[] | ToolRegistry | undefined;
  /** The conversation so far. Each tool call in the messages must have exactly one result. */
  readonly messages: readonly Message[];
  /** The system prompt. It is not one of the messages. */
  readonly system?: string | undefined;
  /** The model settings for every iteration. `prepareIteration` may change them for one stream. */
  readonly modelSettings?: ModelSettings | undefined;
  /** Limits which tools the model may use. A call of another tool is blocked. Default: the default of the provider. */
  readonly toolChoice?: ToolChoice | undefined;
  /** Facts that the model gets at the end of every request. Context restarts add items. Default: no items. */
  readonly contextItems?: readonly Json[] | undefined;
  /** Any value. Tools can read it as `context.messageIdMap`. */
  readonly messageIdMap?: unknown;
  /**
   * Set to true to repair invalid `messages` instead of rejecting them: drops results without a call, and adds a result to each
   * call without one. Default false.
   */
  readonly repair?: boolean | undefined;
  readonly limits?: LoopLimits | undefined;
  readonly timeouts?: { readonly [Name in keyof Timeouts]?: number | undefined } | undefined;
  /** Computes the cost of each stream. Without this option, `costUSD` is undefined. */
  readonly pricing?: Pricing | undefined;
  readonly policies?: LoopPolicies<Output> | undefined;
  readonly hooks?: LoopHooks | undefined;
  /** Steers or ends the run from outside. A control can be used by one live run at a time. */
  readonly control?: LoopControl | undefined;
  /** When this signal is aborted, the run ends immediately as `aborted`, with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Emits the events of the run. Made by `createLoopEvents`. */
  readonly events?: LoopEmitter | undefined;
  /** Records the run. Default: a new memory journal. */
  readonly journal?: Journal | undefined;
  /** Identifies the run, so that it can be resumed. Default: generated. */
  readonly runId?: string | undefined;
  /**
   * "retry-last" continues a recorded run that ended with the status "error", "timeout" or "stopped-by-user", by sending another
   * request to the model. It has no effect if the journal has no records.
   */
  readonly resume?: "retry-last" | undefined;
  /** The decisions about waiting calls, and the results of waiting calls. The keys are the values of `id` in `reason.calls`. */
  readonly decisions?: { readonly [id: string]: CallDecision } | undefined;
  /** The source of time. Default: the clock of the platform. */
  readonly clock?: Clock | undefined;
  /** Facts about the user, and preferences for the answer. Tools and approvals can read it. */
  readonly session?: Session | undefined;
  /** Any value. Tools can read it as `context.context`. */
  readonly context?: unknown;
}

/** A tool. Use `defineTool` to define one: it types the arguments of `execute` and `needsApproval`. */
export interface Tool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends ToolTraits<Args> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Shown to the model instead of the JSON Schema made from `inputSchema`. Needed if `inputSchema` cannot be converted. */
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Runs the tool. Any plain value means success, throwing means failure, and `context.defer()` means that the result comes later.
   * Without `execute`, each call waits for a result from outside: the run is suspended until `decisions` has the result.
   */
  readonly execute?: ((args: Args, context: ToolContext) => Result) | undefined;
  /**
   * Validates each result that comes from outside. A result that does not fit is refused. Default: any plain data is accepted.
   */
  readonly outputSchema?: StandardSchema | undefined;
  /** Makes each call a nested run. Set by `defineAgentTool`. */
  readonly agent?: Agent | undefined;
}

/** A tool that runs in this process, because it has `execute`. */
export interface ExecutableTool<Args = never, Schema extends ToolSchema = ToolSchema, Result = unknown> extends Tool<
  Args,
  Schema,
  Result
> {
  readonly execute: (args: Args, context: ToolContext) => Result;
}

/** Makes a nested run from a tool call, and the result of the call from the result of that run. Made by `defineAgentTool`. */
export interface Agent {
  readonly kind: "agent";
  /** Returns the options of the nested run. Called again on replay, so it must return the same options for the same arguments. */
  prepare(args: unknown, context: ToolContext): NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** Returns the result of the call, like `execute` of an ordinary tool. */
  toResult(result: LoopResult): unknown;
}

/**
 * The options of a nested run. Provider, pricing, timeouts, clock, session and context default to the values of the outer run.
 * Tools, policies, hooks and limits are not inherited. The rest of the limits of the outer run also applies to the nested run.
 */
export type NestedLoopOptions = Pick<LoopOptions, "messages"> & {
  readonly [Name in Exclude<keyof LoopOptions, "messages">]?: LoopOptions[Name] | undefined;
};

/** The second argument of `execute`. */
export interface ToolContext {
  /** The id of the run, as in its events. A call that defers can send this id with `callId` to the system that makes the result. */
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  /** The number of the iteration that contains the call, counted from 0. */
  readonly iteration: number;
  /** Aborted if the run is stopped, killed or aborted, or this call times out. Pass it to every function that accepts a signal. */
  readonly signal: AbortSignal;
  /** Reports that the tool is alive, which restarts `idleTimeoutMs`. */
  heartbeat(): void;
  /** Sends `data` to listeners, in a `tool-progress` event. Also restarts `idleTimeoutMs`. */
  progress(data: unknown): void;
  /** The transcript so far, as a frozen array. The array is built when this property is accessed. */
  readonly messages: readonly Message[];
  /** The context items so far, as a frozen array. The array is built when this property is accessed. */
  readonly contextItems: readonly Json[];
  /** The `messageIdMap` option of the run. */
  readonly messageIdMap: unknown;
  readonly provider: { readonly id: string; readonly model: string };
  /** True from the iteration `limits.softWarnIteration` on. A user interface may then offer to kill the run. */
  readonly showKillHint: boolean;
  /** True if users must not see progress notices. */
  readonly suppressProgressNotices: boolean;
  /** How much of each limit of the run is left. */
  readonly budget: ToolBudget;
  /** A key that is the same each time this call is executed, even after a crash. Pass it to services that deduplicate requests. */
  readonly idempotencyKey: string;
  readonly session: Session;
  /** The `context` option of the run. */
  readonly context: unknown;
  /** The number of outer runs. */
  readonly depth: number;
  /**
   * Return the value of this method from `execute` if the result comes later, for example from a webhook or a person. The call
   * waits, and the run is suspended when nothing else can continue. The call fails if the tool has `eager`, or if another tool
   * started the run with `context.runToolLoop`. A page may send the result only with `fromPage: true`, default false.
   */
  defer(options?: { readonly fromPage?: boolean | undefined }): Deferred;
  /**
   * Starts a nested run in this call. The nested run ends with the call, at the latest. It shares what is left of the token and
   * call limits of the outer run. Its usage is added to the usage of the outer run. Listeners of the outer run also get the
   * events of the nested run, with a `path`. Rejects with LoopError "depth-exceeded", and with the errors of the function
   * `runToolLoop`.
   */
  runToolLoop(options: NestedLoopOptions): Promise<LoopResult>;
}

/** Finds and runs the tools of the loop. Made by `createToolRegistry`. You can also pass your own object with these methods. */
export interface ToolRegistry {
  /**
   * Returns the current tools. Called at the start and before each stream. Must return a new array if the tools have changed, and
   * should return the same array otherwise.
   */
  definitions(): readonly ToolDefinition[];
  /** Runs one tool. Returns a value or a promise. */
  executeTool(name: string, args: unknown, context: ToolContext): unknown;
  /** Validates arguments before the tool runs. Without this method, tools get the model's arguments unchanged. */
  validate?(name: string, args: unknown): Validation | Promise<Validation>;
  /** Validates a result that comes from outside. Without this method, any plain data is accepted. */
  validateResult?(name: string, result: unknown): Validation | Promise<Validation>;
  /**
   * Returns the agent of an agent tool, or undefined for other tools. Without this method, the loop calls `executeTool` for agent
   * tools. If a nested run is then interrupted, it cannot be resumed in the middle.
   */
  agentOf?(name: string): Agent | undefined;
}
