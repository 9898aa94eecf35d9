import type { ContentPart, JsonSchema, Masking, Session } from "./common.ts";
import type { Message } from "./message.ts";

/** Properties that say how the loop may treat a tool. All are optional. `Args` is the type of the arguments for `execute`. */
export interface ToolTraits<Args = never> {
  /** Set to true if a call of the tool must not run at the same time as other calls of the iteration. Default false. */
  readonly sequential?: boolean | undefined;
  /** The longest duration of one call, in milliseconds. `Infinity` means no limit. Default: `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /**
   * The longest silence of one call, in milliseconds. Progress reports and heartbeats restart this limit, and a nested run suspends
   * it. Default: no limit.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Set to true if running the tool twice has the same effect as running it once. Required for `retry`. Default false. */
  readonly idempotent?: boolean | undefined;
  /**
   * Repeats a failed call, up to `maxAttempts` attempts including the first. All attempts share one time limit. Only for idempotent
   * tools. Default: no retry.
   */
  readonly retry?: { readonly maxAttempts: number } | undefined;
  /**
   * Set to `false` if the model does not need another iteration after this tool. The run then ends if the message also has text,
   * and every tool that the message called has succeeded and has `requiresFollowUp: false`. Default true.
   */
  readonly requiresFollowUp?: boolean | undefined;
  /**
   * Set to true to start a call as soon as it is complete, while the model is still streaming. Use it only for tools that change
   * nothing, because the call runs again after a crash. Ignored if something could still prevent the call: `approve`,
   * `needsApproval`, `stopWhen`, `maxToolCalls`, or a `loopDetection` that stops the run. Default false.
   */
  readonly eager?: boolean | undefined;
  /**
   * Set to true if `policies.approve` must decide before a call runs. Pass a function to require a decision only for some
   * arguments. Without `policies.approve`, such a call ends the run as `approval-required`. If the function throws, the outcome of
   * the call is `approval-failed`. Default false.
   */
  readonly needsApproval?: boolean | NeedsApproval<Args> | undefined;
  /**
   * Set to "safe" if a call that may have run before a crash can run again. "never" gives such a call the outcome `interrupted`.
   * Only a durable journal records these calls. Default "never".
   */
  readonly replay?: "safe" | "never" | undefined;
  /**
   * The original name of the tool, if `name` was made from another name. Models do not see it. If the origin changes, the loop
   * treats the tool as another tool. Default: none.
   */
  readonly origin?: string | undefined;
  /**
   * The masking to use for the results that this tool releases, if the run has no `policies.masking`. Set by
   * `createContextRelease`. Default: none.
   */
  readonly masking?: Masking | undefined;
}

/** Returns `false` if a call needs no decision. Any other value requires one. The function gets a copy of the validated arguments. */
export type NeedsApproval<Args = never> = {
  // Method parameters are bivariant. So a tool wrapped as `{ ...tool, execute }` can keep a function with typed arguments.
  decide(args: Args, view: ApprovalView): boolean | PromiseLike<boolean>;
}["decide"];

/** Facts about a call for which a decision may be needed. */
export interface ApprovalView {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: unknown;
  readonly signal: AbortSignal;
}

/** The description of a tool for the model, and the traits of the tool for the loop. */
export interface ToolDefinition extends ToolTraits {
  /** 1 to 64 letters, digits, "_" or "-", which every provider accepts. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/**
 * The rest of each limit, for a run and its outer runs. Calls that are running are already subtracted. `Infinity` if there is no
 * limit.
 */
export interface ToolBudget {
  /** The iterations left in this run. The limits of outer runs are not included. */
  readonly iterations: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly wallClockMs: number;
  /** The rest of the cost limit in USD. Only known costs are subtracted. */
  readonly costUSD: number;
}

/** The value that a tool returns if its result comes later, from outside. Made by `context.defer`. */
export interface Deferred {
  readonly kind: "deferred";
  /** True if a page may send the result. */
  readonly fromPage?: true | undefined;
}

/** A tool result with more than a value. Made by `toolResult`. */
export interface ToolResult {
  readonly success: boolean;
  readonly data?: unknown;
  readonly error?: string | undefined;
  /** The reason for a failure that the model reads. If it is absent, the model reads `error`. */
  readonly message?: string | undefined;
  /** Set to true to end the run as completed after the calls of this iteration. Default false. */
  readonly endTurn?: boolean | undefined;
  /** Text, images and files for the model, in addition to `data`. */
  readonly content?: readonly ContentPart[] | undefined;
  /** Data for event listeners. The model never reads it. */
  readonly metadata?: unknown;
}
