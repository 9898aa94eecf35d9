import type { GivenMessage, Message, UserMessage } from "./message.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { ToolBudget, ToolDefinition, ToolTraits } from "./tool.ts";
import type { ToolCall, ToolChange } from "./tool-outcome.ts";
import type { MiddlewareList } from "./middleware.ts";
import type {
  Clock,
  Json,
  JsonSchema,
  Pricing,
  Session,
  StandardSchema,
  Timeouts,
  ToolSchema,
  Usage,
  Validation,
} from "./common.ts";
import type { Journal } from "./journal.ts";
import type { EmittedPart, LoopEmitter } from "./loop-event.ts";
import type { CallDecision, OutsideResult } from "./middleware-options.ts";
import type { WaitOptions } from "./wait.ts";
import type { ContextFor, ContextOption, InheritedContextOption } from "./typed-call.ts";

/** The limits of a run. All are whole numbers, except the cost. `Infinity` means no limit. */
export interface LoopLimits {
  /** The maximum number of iterations. After that, the run ends as `max-iterations`. Default 100. */
  readonly maxIterations?: number | undefined;
  /**
   * A "still-working" notice is sent before this iteration, counted from 0. `ToolContext.showKillHint` is true in this and all
   * later iterations. Default 20.
   */
  readonly softWarnIteration?: number | undefined;
  /**
   * The number of consecutive tool errors after which the run ends as `tool-error-cap`. The failed calls in one message count as one
   * error. A message with a successful call resets the count. Default 5.
   */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /**
   * The maximum number of consecutive runs that one control's `interrupt` can end. After that, `interrupt` only queues its
   * messages. Default 3.
   */
  readonly maxInterrupts?: number | undefined;
  /**
   * The maximum number of times that an iteration is continued after the service paused it. After that, the run ends as `max-pauses`.
   * Default 10.
   */
  readonly maxPauses?: number | undefined;
  /** The maximum number of nesting levels, including the outermost run. With 1, tools cannot start nested runs. Default 3. */
  readonly maxDepth?: number | undefined;
  /** The maximum number of tool calls that run at the same time. Additional calls wait. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /**
   * The maximum number of tool calls that the run starts. If a message has more calls than may still start, the first ones may run and the
   * others get the outcome "limit", even if one of the first is denied. The model may then answer without tools. If it asks for more calls,
   * the run ends as `max-tool-calls`. Default: no limit.
   */
  readonly maxToolCalls?: number | undefined;
  /**
   * The maximum number of input and output tokens, including nested runs. Checked before each stream: if the limit is reached, the run
   * ends as `max-tokens`. Default: no limit.
   */
  readonly maxTokens?: number | undefined;
  /**
   * The maximum cost in USD, as computed by `pricing`. Checked before each stream: the run ends as `max-cost` if one more stream
   * costing as much as the previous one would exceed the limit. Default: no limit.
   */
  readonly maxCostUSD?: number | undefined;
  /**
   * How a run with `maxCostUSD` reacts to a stream with an unknown cost: "end" ends the run as `cost-unknown`, and "continue"
   * counts only known costs. Default "end".
   */
  readonly onUnknownCost?: "continue" | "end" | undefined;
  /**
   * The maximum active time of the run, in milliseconds. After that, the run ends as `wall-clock`. The time between two executions does not
   * count. Default: no limit.
   */
  readonly wallClockMs?: number | undefined;
}

/** Called before each model stream, including continuations. The returned plan may change the request. */
export type PrepareIteration = (
  view: IterationView,
) => IterationPlan | undefined | void | PromiseLike<IterationPlan | undefined | void>;

/** Called after the tool calls in each iteration, with the number of finished iterations. */
export type OnIteration = (
  iteration: number,
  state: IterationState,
) => IterationAnswer | undefined | void | PromiseLike<IterationAnswer | undefined | void>;

/** The request that the loop is about to send. */
export interface IterationView {
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly system: string | undefined;
  readonly modelSettings: ModelSettings | undefined;
  readonly toolChoice: ToolChoice | undefined;
  readonly usage: Usage;
}

/** Changes to the request, for the next stream only. */
export interface IterationPlan {
  readonly provider?: Provider | undefined;
  readonly modelSettings?: ModelSettings | undefined;
  /** The names of the tools that the model can see. Unknown names are ignored. */
  readonly tools?: readonly string[] | undefined;
  /** Replaces the `toolChoice` option. Ignored if no tool may run, as in the extra iteration of `finalAnswer`. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly system?: string | undefined;
}

/** The state of a run after the tool calls in an iteration. */
export interface IterationState {
  /** The number of finished iterations, like the first argument of `onIteration`. It is 1 after the first iteration. */
  readonly iteration: number;
  /** The cost so far in USD. Undefined if any cost is unknown. */
  readonly cumulativeCost: number | undefined;
  readonly messageCount: number;
  readonly lastToolCalls: readonly ToolCall[];
}

/** Returned by `onIteration` to end the run as `iteration-abort`. */
export interface IterationAnswer {
  readonly abort: true;
  readonly reason?: string | undefined;
}

/**
 * Controls a running loop from outside. Created by `createLoopControl`. Methods return "finished" instead of "accepted" if the run's ending
 * has already been decided.
 */
export interface LoopControl {
  /**
   * Adds a message before the next iteration. The current iteration is completed first. A run that would otherwise be complete
   * runs one more iteration.
   */
  steer(message: string | UserMessage): "accepted" | "finished";
  /**
   * If no tool call in the run has started, cuts the model off and ends the run as `interrupted`. Otherwise the run continues,
   * and the message is returned in `undelivered`.
   */
  interrupt(message: string | UserMessage): "accepted" | "finished";
  /** Ends the run as `drained` after the current iteration and its calls. The run can be resumed. */
  drain(): "accepted" | "finished";
  /** Ends the run as `stopped`. The model is cut off, and running tools get `timeouts.toolCleanupMs` to clean up. */
  stop(request?: StopRequest): "accepted" | "finished";
  /** Ends the run immediately, as `killed`. */
  kill(): "accepted" | "finished";
  /**
   * Answers a question that a tool asked with `ask` and `wait: true`. `id` is the `id` of its `question-asked` event.
   * Returns "unknown" if no question with this `id` is waiting for an answer. Throws LoopError "invalid-decision" if the answer is
   * neither a result nor a failure, or if it comes from a web page that may not answer.
   */
  answer(id: string, answer: OutsideResult): "accepted" | "unknown";
  /** True once `stop` or `kill` has been called, or the run's `signal` has been aborted. */
  hasStopRequest(): boolean;
  /** True from the run's first tool call until the run ends. */
  isToolChainActive(): boolean;
}

/** The person who stopped a run, and why. */
export interface StopRequest {
  readonly requester?: string | undefined;
  readonly note?: string | undefined;
}

/** The type of arguments that are not validated, because the tool has a plain JSON Schema. */
export type Unvalidated = unknown;

/**
 * All options for a run. `Output` is the output type of the schema in `structuredOutput`. `T` is the union of the tool
 * types, and determines the type of `context`. The `context` option is required if a tool needs a context. Default: any tools,
 * with a context of any type.
 */
export type LoopOptions<Output = unknown, T extends Tool = Tool> = RunOptions<Output, T> & ContextOption<T>;

/**
 * `LoopOptions` without the options in `Own`, which are set by the entry point that starts the run. The `context` option is required if a
 * tool needs a context.
 */
export type EntryOptions<Own extends keyof RunOptions, Output = unknown, T extends Tool = Tool> = Omit<
  RunOptions<Output, T>,
  Own
> &
  ContextOption<T>;

/** All options for a run except `context`. */
export interface RunOptions<Output = unknown, T extends Tool = Tool> {
  /** The provider, including the model that the run uses. */
  readonly provider: Provider;
  /** An array of tools, or a tool registry. Default: no tools. */
  readonly tools?: readonly T[] | ToolRegistry | undefined;
  /** The conversation so far. Each tool call in the messages must have exactly one result. */
  readonly messages: readonly GivenMessage[];
  /** The system prompt, which is not part of `messages`. */
  readonly system?: string | undefined;
  /** The model settings for every iteration. `prepareIteration` may change them for one stream. */
  readonly modelSettings?: ModelSettings | undefined;
  /**
   * Limits which tools the model may call. Calls to other tools are blocked. "required" and `{ name }` force calls until the model has made
   * one. With `stopWhen`, they force a call in each iteration. Default: the provider's default.
   */
  readonly toolChoice?: ToolChoice | undefined;
  /** Any value. Tools can read it as `context.messageIdMap`. */
  readonly messageIdMap?: unknown;
  readonly limits?: LoopLimits | undefined;
  readonly timeouts?: { readonly [Name in keyof Timeouts]?: number | undefined } | undefined;
  /** Computes the cost of each stream. Without this option, `costUSD` is undefined. */
  readonly pricing?: Pricing | undefined;
  /** Optional features, outermost first. Entries that are `false` or `undefined` are ignored. Default: none. */
  readonly middleware?: MiddlewareList<Output> | undefined;
  /**
   * Called in a resumed run for each tool change that is incompatible with a recorded call that has not ended. Return `true` to accept the
   * change. Otherwise, and by default, the run rejects with LoopError "tools-changed".
   */
  readonly allowToolChange?: ((change: ToolChange) => boolean) | undefined;
  /** Sends messages to the run, or ends it. Only one run at a time can use a control. */
  readonly control?: LoopControl | undefined;
  /** When this signal is aborted, the run ends immediately as `aborted`, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The emitter for the run's events. Created by `createLoopEvents`. */
  readonly events?: LoopEmitter | undefined;
  /** Records the run's steps. Default: a new memory journal. */
  readonly journal?: Journal | undefined;
  /** The id of the run, needed to resume it. Default: generated. */
  readonly runId?: string | undefined;
  /**
   * The version of your code, such as a release or a commit. It is recorded in the journal, and `inspectJournal` returns it. A run
   * may be continued with a different version. Default: no version is recorded.
   */
  readonly version?: string | undefined;
  /**
   * "retry-last" sends another request to the model if the recorded run ended with the status "error", "timeout" or
   * "stopped-by-user". It has no effect on a journal without records.
   */
  readonly resume?: "retry-last" | undefined;
  /**
   * The answers to waiting calls: decisions, results, and the answers to `context.wait`. The keys are the values of `id` in
   * `reason.calls`.
   */
  readonly answers?: { readonly [id: string]: CallDecision | Json } | undefined;
  /**
   * The current time for waits with `until`, in milliseconds since 1970. A durable engine that replays runs passes its recorded time.
   * Default: the system time.
   */
  readonly now?: number | undefined;
  /** The source of time. Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** Information about the user, and preferences for the answer. Tools and approvals can read it. */
  readonly session?: Session | undefined;
}

/**
 * A tool. Define it with `defineTool`, which types the arguments of `execute` and `needsApproval`. `Context` is the type of the
 * `context` option that the tool needs. The general type `Tool` includes tools with any arguments and any context.
 */
export interface Tool<
  Args = never,
  Schema extends ToolSchema = ToolSchema,
  Result = unknown,
  Context = ContextFor<Args>,
  Name extends string = string,
> extends ToolTraits<Args, Context> {
  readonly name: Name;
  readonly description: string;
  readonly inputSchema: Schema;
  /** The schema that the model sees instead of the JSON Schema of `inputSchema`. Needed if `inputSchema` cannot be converted. */
  readonly jsonSchema?: JsonSchema | undefined;
  /**
   * Runs the tool. Any plain return value means success, an error means failure, and `defer()` means that the result
   * comes later. With a generator, each yielded value is a preliminary result, and the return value is the result. If the generator returns
   * undefined, the last yielded value is the result.
   *
   * Without `execute`, each call waits for a result from outside. The run is suspended until `answers` contains the result.
   */
  readonly execute?: ((args: Args, context: ToolContext<Context>) => Result) | undefined;
  /** Validates each result from outside. An invalid result is refused. Default: any JSON data is accepted. */
  readonly outputSchema?: StandardSchema | undefined;
}

/** A tool with `execute`, which runs in this process. */
export interface ExecutableTool<
  Args = never,
  Schema extends ToolSchema = ToolSchema,
  Result = unknown,
  Context = ContextFor<Args>,
  Name extends string = string,
> extends Tool<Args, Schema, Result, Context, Name> {
  readonly execute: (args: Args, context: ToolContext<Context>) => Result;
}

/** The options for a nested run, without `context`. */
export type NestedRunOptions<Output = unknown, T extends Tool = Tool> = Pick<RunOptions<Output, T>, "messages"> & {
  readonly [Name in Exclude<keyof RunOptions, "messages">]?: RunOptions<Output, T>[Name] | undefined;
};

/**
 * The options for a nested run. Provider, pricing, timeouts, clock, session and context default to those of the outer run. Tools,
 * middleware and limits are not inherited. However, the nested run cannot use more than what is left of the outer run's limits. `Outer` is
 * the type of the outer run's context: the `context` option is required if the tools need a different context.
 */
export type NestedLoopOptions<Output = unknown, T extends Tool = Tool, Outer = unknown> = NestedRunOptions<Output, T> &
  InheritedContextOption<T, Outer>;

/** The second argument of a tool's `execute`. `Context` is the type of the `context` option. */
export interface ToolContext<Context = unknown> {
  /** The id of the run. A tool that defers its result can send this id and `callId` to the system that produces the result. */
  readonly runId: string;
  readonly callId: string;
  readonly name: string;
  /** The number of the iteration that made the call, counted from 0. */
  readonly iteration: number;
  /**
   * Aborted if the run is stopped, killed or aborted, or if this call times out. Pass it to every function that accepts a signal.
   */
  readonly signal: AbortSignal;
  /** Reports that the tool is still working, which restarts `idleTimeoutMs`. */
  heartbeat(): void;
  /** Sends `data` to listeners in a `tool-progress` event. Also restarts `idleTimeoutMs`. */
  progress(data: unknown): void;
  /**
   * Writes a part to the user's stream, in a `tool-emit` event. The model never sees the part, and no journal records it. Each part
   * restarts `idleTimeoutMs`. After the call has ended, parts are ignored.
   *
   * Throws LoopError "invalid-option" if the part is invalid: `name` must be a string of 1 to 64 letters, digits, "_" or "-", and
   * `data` must be plain data.
   */
  emit(part: EmittedPart<unknown>): void;
  /** The transcript so far, as a frozen array that is created when this property is read. */
  readonly messages: readonly Message[];
  /** The context items so far, as a frozen array that is created when this property is read. */
  readonly contextItems: readonly Json[];
  /**
   * The deferred tools that a tool with `findsTools` may find in this iteration, including tools that the model has found before. Undefined
   * in a context that does not come from a run.
   */
  readonly findableTools: readonly ToolDefinition[] | undefined;
  /** The value of the run's `messageIdMap` option. */
  readonly messageIdMap: unknown;
  readonly provider: { readonly id: string; readonly model: string };
  /** True in iteration `limits.softWarnIteration` and all later ones. A user interface may then offer to kill the run. */
  readonly showKillHint: boolean;
  /** True if the tool must not show progress notices to users. */
  readonly suppressProgressNotices: boolean;
  /** The remaining amount of each of the run's limits. */
  readonly budget: ToolBudget;
  /**
   * A key that is the same in every execution of this call, even after a crash. Pass it to services that deduplicate requests.
   */
  readonly idempotencyKey: string;
  readonly session: Session;
  /** The value of the run's `context` option. */
  readonly context: Context;
  /** The nesting depth: the number of outer runs. */
  readonly depth: number;
  /**
   * Runs `body` once. Later executions return the recorded value. An error from `body` is recorded too. Steps that run at the same
   * time need different names. Available only in tools with `durable: true`.
   */
  step<T>(name: string, body: () => T | PromiseLike<T>): Promise<T>;
  /**
   * Waits for an answer from outside, passed in `answers` under the call's id. The run is suspended when nothing else can
   * continue. `facts` are shown with the question. Available only in tools with `durable: true`.
   */
  wait<Answer = Json>(what: string, facts: Json, options?: WaitOptions<Answer> & { readonly until?: undefined }): Promise<Answer>;
  wait<Answer = Json>(what: string, facts: Json, options: WaitOptions<Answer>): Promise<Answer | null>;
  /**
   * Calls another of the run's tools, with the same checks as a call from the model. Rejects if the call has no result. A call that ends
   * the run does so even if its error is caught. Available only in tools with `durable: true`.
   */
  call(tool: string, args: Json): Promise<Json>;
}

/** Provides the tools and runs them. Created by `createToolRegistry`. Your own object with these methods also works. */
export interface ToolRegistry {
  /**
   * Returns the current tools. Called at the start of the run and before each stream. Must return a new array if the tools have
   * changed, and should return the same array otherwise.
   */
  definitions(): readonly ToolDefinition[];
  /** Runs one tool. Returns the result, a generator that ends with the result, or a promise for either. */
  executeTool(name: string, args: unknown, context: ToolContext): unknown;
  /** Validates the arguments before the tool runs. Without this method, tools receive the model's arguments unchanged. */
  validate?(name: string, args: unknown): Validation | Promise<Validation>;
  /** Validates a result from outside. Without this method, any JSON data is accepted. */
  validateResult?(name: string, result: unknown): Validation | Promise<Validation>;
}
