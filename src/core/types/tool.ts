import type { ContentPart, JsonSchema, Masking, Session } from "./common.ts";
import type { Message } from "./message.ts";

/** How the loop may treat a tool. All optional. `Args` is the type of the arguments of `execute`. */
export interface ToolTraits<Args = never> {
  /** Runs alone, never at the same time as another call of the batch. Default false. */
  readonly sequential?: boolean | undefined;
  /** Longest duration of one call in milliseconds; `Infinity` means none. Default `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /** Longest silence of one call in milliseconds. Progress and heartbeats restart it, and a nested run suspends it. Default none. */
  readonly idleTimeoutMs?: number | undefined;
  /** Running the tool twice has the same effect as running it once. Needed for `retry`. Default false. */
  readonly idempotent?: boolean | undefined;
  /** Retries after a failure, within the same deadline. Only for idempotent tools. Default none. */
  readonly retry?: { readonly maxAttempts: number } | undefined;
  /**
   * Set to `false` if the model does not need another iteration after this tool. The run ends when the message also has text and
   * every tool it called succeeded with `requiresFollowUp: false`. Default true.
   */
  readonly requiresFollowUp?: boolean | undefined;
  /**
   * Starts a call as soon as it is complete, while the model is still streaming. For read-only tools, because a crash runs them
   * again. Not used if anything could still prevent the call: `approve`, `needsApproval`, `stopWhen`, `maxToolCalls`, or
   * `loopDetection` that stops. Default false.
   */
  readonly eager?: boolean | undefined;
  /**
   * Requires a decision by `policies.approve` before a call runs. Pass a function to decide by the arguments. Without
   * `policies.approve`, such a call ends the run as `approval-required`. If the function throws, the call is `approval-failed`.
   * Default false.
   */
  readonly needsApproval?: boolean | NeedsApproval<Args> | undefined;
  /** "safe" runs a call again that may have run before a crash. Only a durable journal records such calls. Default "never". */
  readonly replay?: "safe" | "never" | undefined;
  /**
   * The tool's original name, if `name` was made from it. Models do not see it. If it changes, the tool counts as another tool.
   * Default none.
   */
  readonly origin?: string | undefined;
  /** Clears the results that this tool releases, in a run without `policies.masking`. Set by `createContextRelease`. Default none. */
  readonly masking?: Masking | undefined;
}

/** Returns `false` if a call needs no decision; any other value requires one. It gets its own copy of the validated arguments. */
export type NeedsApproval<Args = never> = {
  // A method type is bivariant: a tool wrapped as `{ ...tool, execute }` can keep a function that names its arguments.
  decide(args: Args, view: ApprovalView): boolean | PromiseLike<boolean>;
}["decide"];

/** Facts about a call that needs a decision. */
export interface ApprovalView {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: unknown;
  readonly signal: AbortSignal;
}

/** The description of a tool for the model, and its traits for the loop. */
export interface ToolDefinition extends ToolTraits {
  /** 1 to 64 letters, digits, "_" or "-", which every provider accepts. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The rest of the limits of a run and of the runs around it, less the calls that are running. `Infinity` if there is no limit. */
export interface ToolBudget {
  /** Of this run only. */
  readonly iterations: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly wallClockMs: number;
  /** Counts known costs only. */
  readonly costUSD: number;
}

/** Returned by a tool whose result comes later, from outside. Made by `ctx.defer`. */
export interface Deferred {
  readonly kind: "deferred";
}

/** A tool result with more than a value. Made by `toolResult`. */
export interface ToolResult {
  readonly success: boolean;
  readonly data?: unknown;
  readonly error?: string | undefined;
  /** Shown to the model as the reason, in preference to `error`. */
  readonly message?: string | undefined;
  /** Ends the run as completed after this batch. */
  readonly endTurn?: boolean | undefined;
  /** Text, images and files for the model, besides `data`. */
  readonly content?: readonly ContentPart[] | undefined;
  /** For listeners only; the model never reads it. */
  readonly metadata?: unknown;
}
