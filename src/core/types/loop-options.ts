// What a run is told. Tools are part of it, and a tool may start a run of its own: these types know each other, and share a file.

import type { Clock, Timeouts } from "./clock.ts";
import type { LoopHooks } from "./hooks.ts";
import type { Json } from "./json.ts";
import type { Journal } from "./journal.ts";
import type { LoopLimits } from "./limits.ts";
import type { LoopControl } from "./loop-control.ts";
import type { LoopEmitter } from "./loop-event.ts";
import type { LoopResult } from "./loop-result.ts";
import type { Message } from "./message.ts";
import type { ApprovalDecision, LoopPolicies } from "./policies.ts";
import type { ModelSettings, Provider, ToolChoice } from "./provider.ts";
import type { JsonSchema, ToolSchema, Validation } from "./schema.ts";
import type { Session } from "./session.ts";
import type { ToolBudget, ToolDefinition, ToolTraits } from "./tool.ts";
import type { Pricing } from "./usage.ts";

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
  /** What was decided about calls that a run has stopped for: the `id` of each in `reason.calls`, and the decision. Needs `policies.approve`. */
  readonly decisions?: { readonly [id: string]: ApprovalDecision } | undefined;
  /** Default: the platform's. */
  readonly clock?: Clock | undefined;
  // the caller's own
  /** Who asks and how to answer; tools and approvals read it. */
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

/** How a call becomes a run, and the run's result the call's. */
export interface Agent {
  /** What the nested run is told. Asked again on replay: it must say the same for the same arguments. */
  prepare(args: unknown, context: ToolContext): NestedLoopOptions | PromiseLike<NestedLoopOptions>;
  /** What the call gives, as a tool's `execute` would. */
  toResult(result: LoopResult): unknown;
}

/**
 * What a nested run is told. Its provider, pricing, timeouts, clock, session and context are those of the run around it unless said
 * otherwise; its tools, policies, hooks and limits are its own, within what is left of the outer run's limits.
 */
export type NestedLoopOptions = Pick<LoopOptions, "messages"> & {
  readonly [Name in Exclude<keyof LoopOptions, "messages">]?: LoopOptions[Name] | undefined;
};

/** What a tool gets besides its arguments. */
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
  /** What is left of the run's limits. */
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

/** Where the loop finds and runs its tools. `createToolRegistry` makes one from tools; anything of this shape will do. */
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
