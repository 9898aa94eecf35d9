import type { Json } from "./json.ts";
import type { PlainError } from "./plain-error.ts";
import type { FinishReason } from "./provider.ts";
import type { ShownTool } from "./tool-change.ts";
import type { CostUnknownWhy, StreamStatus, EndReason } from "./termination.ts";
import type { NestedSpending, ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { Usage } from "./usage.ts";

/** What one iteration gave. Plain data: it is what the journal keeps of a model step. */
export interface StreamResult {
  readonly status: StreamStatus;
  /** Why the iteration ended so; absent on `tool-calls` and on continuations that are resent. */
  readonly reason?: EndReason | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly thoughtLog?: Json | undefined;
  /** In the order in which the model asked for them. */
  readonly calls: readonly ToolCall[];
  /** What became of the calls that were started while the stream went on. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
  /**
   * Outcomes of the calls that were refused when the stream ended: unknown tools, arguments that are broken, cut off or do not fit, and
   * calls that the gate or `toolChoice` blocks. A replay refuses the same calls, whatever schemas and gate say by then.
   */
  readonly refusals?: readonly ToolOutcome[] | undefined;
  /** Ids of calls whose schemas take their time: what they say is recorded by itself. */
  readonly lateChecks?: readonly string[] | undefined;
  /** What was used inside calls that were started early by an attempt which was taken back, and that the next attempt did not ask for again. */
  readonly eagerSpent?: readonly NestedSpending[] | undefined;
  readonly finish?: FinishReason | undefined;
  /** Where a "continue" continuation goes on. */
  readonly token?: string | undefined;
  readonly providerMetadata: readonly Json[];
  /** Undefined where the provider did not say. Discarded attempts included. */
  readonly usage?: Usage | undefined;
  /** USD; undefined where unknown. */
  readonly costUSD?: number | undefined;
  /** Who made the first attempt that `pricing` could not price; absent without `pricing`. */
  readonly unpriced?:
    | { readonly provider: string; readonly model: string; readonly why?: CostUnknownWhy | undefined }
    | undefined;
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
  /** Names of the tools that the model was shown. */
  readonly visibleTools: readonly string[];
  /** Set if `toolChoice` let the model call no tool, or only one: other calls are blocked. */
  readonly toolChoice?: "none" | { readonly name: string } | undefined;
  /** What a resumed run has to know of the calls beside the record of the run. Absent where that says all. */
  readonly basis?: CallBasis | undefined;
  readonly error?: PlainError | undefined;
  /** A stop condition said that the run ends here. */
  readonly stop?: { readonly reason?: string | undefined } | undefined;
  readonly durationMs: number;
}

/** What the calls of a stream were made against. */
export interface CallBasis {
  /** Whether `policies.approve` was there to decide about them. */
  readonly asks?: true | undefined;
  /** Called tools that came, or changed, after the run began. */
  readonly tools?: { readonly [name: string]: ShownTool } | undefined;
}
