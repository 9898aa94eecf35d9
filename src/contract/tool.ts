import type { ContentPart } from "./content.ts";
import type { Json } from "./json.ts";
import type { Session } from "./session.ts";
import type { Message } from "./message.ts";
import type { JsonSchema, Validation } from "./schema.ts";

/** How the loop may treat a tool. All optional. */
export interface ToolTraits {
  /** Runs alone: never beside another call of the same batch. Default false. */
  readonly sequential?: boolean | undefined;
  /** Longest run of one call in milliseconds. Default `timeouts.toolMs`. */
  readonly timeoutMs?: number | undefined;
  /** Longest silence of one call in milliseconds; progress and heartbeats extend it. Default none. */
  readonly idleTimeoutMs?: number | undefined;
  /** Running it twice does what running it once does. Needed for `retry`. Default false. */
  readonly idempotent?: boolean | undefined;
  /** More attempts after a failure, within the one deadline. Only for idempotent tools. Default none. */
  readonly retry?: { readonly maxAttempts: number } | undefined;
  /** Whether a call that may have run before a crash runs again. Only a durable journal knows of such calls. Default "never". */
  readonly replay?: "safe" | "never" | undefined;
}

/** What the model is told of a tool, and how the loop may treat it. */
export interface ToolDefinition extends ToolTraits {
  /** 1 to 64 letters, digits, "_" or "-": what every provider accepts. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** What a tool gets besides its arguments. */
export interface ToolContext {
  readonly callId: string;
  readonly name: string;
  /** 0-based pass that asked for the call. */
  readonly iteration: number;
  /** Fires on stop, kill, abort and this call's timeout. Hand it to everything that takes one. */
  readonly signal: AbortSignal;
  /** Says that the tool is alive: extends `idleTimeoutMs`. */
  heartbeat(): void;
  /** Tells listeners how far the tool is (event `tool-progress`), and is a heartbeat. */
  progress(data: unknown): void;
  /** The transcript so far; a live, read-only view. */
  readonly messages: readonly Message[];
  /** The context items so far; a live, read-only view. */
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
}

/** What is left of a run's limits; `Infinity` where there is none. */
export interface ToolBudget {
  readonly iterations: number;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly wallClockMs: number;
}

/** Where the loop finds and runs its tools. `createToolRegistry` makes one from tools; anything of this shape will do. */
export interface ToolRegistry {
  /** The tools as they are now. Asked once per pass; the same array means nothing has changed. */
  definitions(): readonly ToolDefinition[];
  /** Runs one tool; a value or a promise of one. */
  executeTool(name: string, args: unknown, context: ToolContext): unknown;
  /** Checks arguments before the tool is dispatched. Without it tools get the model's arguments as they are. */
  validate?(name: string, args: unknown): Validation | Promise<Validation>;
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
