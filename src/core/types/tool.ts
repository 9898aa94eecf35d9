import type { ContentPart, JsonSchema, Masking, Session } from "./common.ts";
import type { Message } from "./message.ts";

/** How the loop may treat a tool. All optional. `Args` are what `execute` gets. */
export interface ToolTraits<Args = never> {
  /** Runs alone: never beside another call of the same batch. Default false. */
  readonly sequential?: boolean | undefined;
  /** Longest run of one call in milliseconds; `Infinity` means none. Default `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /** Longest silence of one call in milliseconds; progress and heartbeats extend it, and a nested run suspends it. Default none. */
  readonly idleTimeoutMs?: number | undefined;
  /** Running it twice does what running it once does. Needed for `retry`. Default false. */
  readonly idempotent?: boolean | undefined;
  /** More attempts after a failure, within the one deadline. Only for idempotent tools. Default none. */
  readonly retry?: { readonly maxAttempts: number } | undefined;
  /** False: where the model says something in the same iteration, and every call of it succeeds and says so, the run is over. Default true. */
  readonly requiresFollowUp?: boolean | undefined;
  /**
   * Starts a call as soon as it is complete, while the model goes on speaking. For tools that only read: a crash runs them again. Off
   * where something could still forbid the call: `approve`, `needsApproval`, `stopWhen`, `maxToolCalls`, `loopDetection` that stops. Default false.
   */
  readonly eager?: boolean | undefined;
  /**
   * Each call needs a decision before it runs; a function of the arguments says which calls do. `policies.approve` decides. Without that
   * policy a run stops for such a call as `approval-required`. If a function throws, the call is `approval-failed`. Default false.
   */
  readonly needsApproval?: boolean | NeedsApproval<Args> | undefined;
  /** Whether a call that may have run before a crash runs again. Only a durable journal knows of such calls. Default "never". */
  readonly replay?: "safe" | "never" | undefined;
  /**
   * The tool's name where it comes from, when `name` was made from that. Models do not see it; a name that stands for another one is
   * another tool. Default none.
   */
  readonly origin?: string | undefined;
  /** Clears the results that this tool releases, in a run without `policies.masking`. `createContextRelease` sets it. Default none. */
  readonly masking?: Masking | undefined;
}

/**
 * Says whether a call needs a decision. It gets the validated arguments, as `execute` does, in a copy of its own. Any answer but `false`
 * needs one.
 */
export type NeedsApproval<Args = never> = {
  // The type of a method: a tool that is wrapped as `{ ...tool, execute }` keeps a function that names its arguments.
  decide(args: Args, view: ApprovalView): boolean | PromiseLike<boolean>;
}["decide"];

/** The view of a call that is to be decided about. */
export interface ApprovalView {
  /** The id of the call. */
  readonly callId: string;
  /** The name of the called tool. */
  readonly name: string;
  readonly iteration: number;
  readonly messages: readonly Message[];
  readonly session: Session;
  readonly context: unknown;
  readonly signal: AbortSignal;
}

/** The description of a tool for the model, and its traits for the loop. */
export interface ToolDefinition extends ToolTraits {
  /** 1 to 64 letters, digits, "_" or "-": what every provider accepts. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The rest of a run's limits and of those of the runs around it, running calls counted; `Infinity` if there is none. */
export interface ToolBudget {
  /** Of the run itself. */
  readonly iterations: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly wallClockMs: number;
  /** Known costs only. */
  readonly costUSD: number;
}

/** A result that says more than a value. Made by `toolResult`. */
export interface ToolResult {
  readonly success: boolean;
  readonly data?: unknown;
  readonly error?: string | undefined;
  /** Preferred over `error` as the reason that the model reads. */
  readonly message?: string | undefined;
  /** Ends the run as completed after this batch. */
  readonly endTurn?: boolean | undefined;
  /** Text, images and files for the model beside `data`. */
  readonly content?: readonly ContentPart[] | undefined;
  /** For listeners only; the model never reads it. */
  readonly metadata?: unknown;
}
