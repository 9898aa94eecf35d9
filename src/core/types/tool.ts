import type { ContentPart, JsonSchema, Session, ToolSchema } from "./common.ts";
import type { Message } from "./message.ts";

/**
 * Properties of a tool that tell the loop how to run it. All are optional. `Args` is the type of `execute`'s arguments,
 * and `Context` is the type of `context.context`.
 */
export interface ToolTraits<Args = never, Context = never> {
  /** Set to true if a call to this tool must not run at the same time as other calls in the iteration. Default false. */
  readonly sequential?: boolean | undefined;
  /** The maximum duration of one call, in milliseconds. `Infinity` means no limit. Default: `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /**
   * The maximum time that one call may stay silent, in milliseconds. The timer restarts after each progress report or heartbeat, and stops
   * during a nested run. Default: no limit.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Set to true if running the tool twice has the same effect as running it once. Required for `retry`. Default false. */
  readonly idempotent?: boolean | undefined;
  /**
   * Retries a failed call, with up to `maxAttempts` attempts including the first. All attempts share one time limit. Only for
   * idempotent tools. Default: no retry.
   */
  readonly retry?: { readonly maxAttempts: number } | undefined;
  /**
   * Set to true if the model may call the tool repeatedly until something has changed. Equal results from the tool then do not count toward
   * `limitIdenticalCalls`. `maxIterations` and `wallClockMs` still apply. Default false.
   */
  readonly polls?: boolean | undefined;
  /**
   * Set to `false` if the model does not need another iteration after this tool. The run then ends if the message also has text,
   * and if all called tools have `requiresFollowUp: false` and succeeded. The run needs `preToolText()`. Default true.
   */
  readonly requiresFollowUp?: boolean | undefined;
  /**
   * Set to true to start each call when its arguments are complete, while the model is still streaming. Only for tools that
   * change nothing, because such a call runs again after a crash. Ignored if something could still prevent the call: `approve`,
   * `needsApproval`, `stopWhen`, `maxToolCalls`, or `detectLoops` with the action "stop". Default false.
   */
  readonly eager?: boolean | undefined;
  /**
   * Set to true if `approve` must decide about each call before it runs. Pass a function if only some calls need a
   * decision. Without `approve`, a call that needs a decision ends the run as `approval-required`. If the function
   * throws, the outcome of the call is `approval-failed`. Default false.
   */
  readonly needsApproval?: boolean | NeedsApproval<Args, Context> | undefined;
  /**
   * Set to "safe" if a call that may already have run before a crash can safely run again. With "never", such a call gets the outcome
   * `interrupted`. Only a durable journal can show that a call may have run. Default "never".
   */
  readonly replay?: "safe" | "never" | undefined;
  /**
   * Set to true for a tool that waits for answers. When its run is resumed, `execute` runs again with the recorded results of its steps, so
   * it must be deterministic except inside `context.step`. Needed for the context's `step`, `wait`, `run` and `call`, and for `ask`.
   * Default false.
   */
  readonly durable?: boolean | undefined;
  /**
   * The original name of the tool, if `name` was created from a different name. Models do not see this name. If the original name
   * changes, the loop treats the tool as a different tool. Default: none.
   */
  readonly origin?: string | undefined;
  /**
   * Set to true to hide the tool until the model has found or called it. Ignored if the registry has no `find_tools` and the provider does
   * not search, because nothing could then find the tool. The run needs `deferTools()`. Default false.
   */
  readonly deferred?: boolean | undefined;
  /** True for the tool that finds deferred tools. Set by `withToolSearch`. Default false. */
  readonly findsTools?: boolean | undefined;
  /**
   * Triggers that make the tool visible in deliberate mode if the user's text contains one of them. Read by `createDeliberateMode` with
   * `tools`. Models do not see them. A run can be resumed even if the triggers have changed. Default: no triggers.
   */
  readonly triggers?: string | readonly string[] | undefined;
  /**
   * Set to true if a result from the tool may release results of earlier calls. The run then needs `maskResults()`. Set by
   * `createContextRelease` and `createResultCache`. Default false.
   */
  readonly releasesResults?: boolean | undefined;
}

/**
 * Returns exactly `false` if a call needs no decision. Any other value requires a decision. `args` is a copy of the validated
 * arguments.
 */
export type NeedsApproval<Args = never, Context = unknown> = {
  // Uses a method instead of a function type, because methods are bivariant. A tool wrapped as `{ ...tool, execute }` therefore keeps its
  // typed function.
  decide(args: Args, view: ApprovalView<Context>): boolean | PromiseLike<boolean>;
}["decide"];

/** Information about a call that may need a decision. `Context` is the type of the `context` option. */
export interface ApprovalView<Context = unknown> {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: Context;
  readonly signal: AbortSignal;
}

/**
 * The fields of a tool that determine the types of its context, its calls and its results. The types of results and events use
 * `AnyTool` instead of `Tool`, because `Tool` itself refers to results and events.
 */
export interface AnyTool {
  readonly name: string;
  readonly inputSchema: ToolSchema;
  readonly execute?: ((args: never, context: never) => unknown) | undefined;
}

/** A tool as seen by the model and the loop: the description for the model, and the traits for the loop. */
export interface ToolDefinition extends ToolTraits {
  /** The name of the tool: 1 to 64 letters, digits, "_" or "-". Every provider accepts such names. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/**
 * The remaining amount of each limit, for a run and its outer runs. Calls in progress are already subtracted. `Infinity` means no limit.
 */
export interface ToolBudget {
  /** The remaining iterations of this run. The limits of outer runs are not included. */
  readonly iterations: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly wallClockMs: number;
  /** The remaining budget in USD. Only known costs are subtracted from it. */
  readonly costUSD: number;
}

/** The value that a tool returns if its result comes later, from outside. Created by `defer`. */
export interface Deferred {
  readonly kind: "deferred";
  /** True if a web page may send the result. */
  readonly fromPage?: true | undefined;
}

/** A tool result that carries more than a plain value. Created by `toolResult`. */
export interface ToolResult {
  readonly success: boolean;
  readonly data?: unknown;
  readonly error?: string | undefined;
  /** The reason for a failure, as text for the model. If it is absent, the model receives `error`. */
  readonly message?: string | undefined;
  /** Set to true to end the run as completed after the calls in this iteration. Default false. */
  readonly endTurn?: boolean | undefined;
  /** Text, images and files for the model, in addition to `data`. The model also receives the data and content of a failed result. */
  readonly content?: readonly ContentPart[] | undefined;
  /** Data for event listeners, which the model never sees. */
  readonly metadata?: unknown;
}
