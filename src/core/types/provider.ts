// Models: what they are sent, and what one stream gave.

import type { Clock, PlainError, ProviderError, Timeouts, Usage } from "./common.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { NestedSpending, ShownTool, ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { CostUnknownWhy, EndReason, StreamStatus } from "./termination.ts";

/**
 * A model behind an interface of one method. Adapters wrap a vendor's SDK in it; a wrapper wraps another provider.
 */
export interface Provider {
  /** The service of the model, as `gen_ai.provider.name` has it: "openai", "anthropic". */
  readonly id: string;
  readonly model: string;
  /** API family that policies may ask for. */
  readonly family?: string | undefined;
  /** Streams one iteration. It ends with exactly one `finish` chunk, or with an `error` chunk, or throws. */
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>;
}

/** The request of one iteration. Valid while the stream runs. */
export interface ModelRequest {
  /** The messages to send: a frozen list, made when it is read. Read it while the stream runs. */
  readonly messages: readonly Message[];
  readonly system?: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  /** 0-based iteration. */
  readonly iteration: number;
  /** The data of the `finish` chunk of a "continue" continuation, to go on from there. */
  readonly continuationToken?: string | undefined;
  /** The run so far as it is kept, for wrappers that look back at it. Not what is sent: `messages` is. */
  readonly transcript?: RequestTranscript | undefined;
}

/** The transcript of the run that asks: all of it, with nothing masked and no context items. */
export interface RequestTranscript {
  readonly messages: readonly Message[];
  /** How many of them the run was given. All behind them is its own. */
  readonly given: number;
}

/** Comes with a request: the means to cancel it, and the clock to wait with. */
export interface ModelCall {
  /** Fires when the iteration is cut. */
  readonly signal: AbortSignal;
  /**
   * Says that the stream is alive although no chunk came. It puts a limit of silence off to twelve times its length at most, unless
   * the provider itself is "waiting" for a time that it limits.
   */
  heartbeat(state?: "waiting" | void): void;
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /**
   * Whether the limits of the run leave one more request, after attempts of this call that have used so much. Who makes several requests in
   * one stream asks before each one after the first. Where the answer is false, end the stream with the failure of the last attempt: the
   * run ends with the limit as its reason. Undefined where there are no limits.
   */
  mayAsk?: ((spent: readonly AttemptSpending[]) => boolean) | undefined;
}

/** The usage of one attempt, and the provider and model whose prices apply. */
export interface AttemptSpending {
  readonly provider: string;
  readonly model: string;
  /** Undefined where nobody said. */
  readonly usage: Usage | undefined;
}

/** Which tools the model may use. */
export type ToolChoice = "auto" | "required" | "none" | { readonly name: string };

/** Settings that every wire has; others go through `extra`. */
export interface ModelSettings {
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  /** Fields of the wire's own request body, put in last and as they are. */
  readonly extra?: { readonly [field: string]: Json } | undefined;
}

/** Why the model stopped, in the same words for every wire. What the loop makes of each is in docs/concepts/endings.md. */
export type FinishReason =
  | "stop"
  | "tool-calls"
  | "length"
  | "context-full"
  | "refusal"
  | "content-filter"
  | "paused"
  | "continue"
  | "malformed-call"
  | "error"
  | "unknown";

/** One piece of a model's stream. */
export type ModelChunk =
  // text
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "refusal-delta"; readonly text: string }
  // tool calls: `key` ties the fragments of one call together; only `call-ready` is required
  | { readonly type: "call-start"; readonly key: string; readonly id?: string | undefined; readonly name: string }
  | { readonly type: "call-args-delta"; readonly key: string; readonly text: string }
  /** Complete. A call without it counts as cut off and is not run. */
  | {
      readonly type: "call-ready";
      readonly key: string;
      readonly id?: string | undefined;
      readonly name: string;
      /** Parsed arguments; anything where `problem` is set. */
      readonly args: unknown;
      readonly argsText?: string | undefined;
      readonly problem?: "malformed" | "truncated" | undefined;
    }
  // bookkeeping
  /** A snapshot replaces what the attempt has said before; a delta adds to it. */
  | { readonly type: "usage"; readonly usage: Usage; readonly mode: "snapshot" | "delta" }
  /** A part of the provider metadata, echoed verbatim on the next iteration. */
  | { readonly type: "provider-metadata"; readonly item: Json }
  /** Text that is shown below the answer. */
  | { readonly type: "details"; readonly text: string }
  /** The last one of a run becomes `result.thoughtLog`. */
  | { readonly type: "thought-log"; readonly payload: unknown }
  /** Of a wrapping provider: who answers from here on, and whose usage, prices and provider metadata follow. */
  | {
      readonly type: "attempt-start";
      /** From 1 in each stream. */
      readonly attempt: number;
      readonly provider: string;
      readonly model: string;
      readonly family?: string | undefined;
    }
  /** Of a wrapping provider: what the attempt has said is taken back; what it has used stays. */
  | { readonly type: "attempt-discarded"; readonly attempt: number; readonly error: ProviderError }
  /** Last and once; only where the service said so. */
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw?: string | undefined;
      readonly token?: string | undefined;
    }
  | { readonly type: "error"; readonly error: ProviderError };

/** The result of one iteration. Plain data: the journal keeps it as the record of a model step. */
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
  /** Outcomes of the calls that were started while the stream went on. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
  /**
   * Outcomes of the calls that were refused when the stream ended: unknown tools, arguments that are broken, cut off or do not fit, and
   * calls that the gate or `toolChoice` blocks. A replay refuses the same calls, whatever schemas and gate say by then.
   */
  readonly refusals?: readonly ToolOutcome[] | undefined;
  /** Ids of calls whose schemas take their time: what they say is recorded by itself. */
  readonly lateChecks?: readonly string[] | undefined;
  /** Spending inside calls that an attempt started early before it was taken back, and that the next attempt did not ask for again. */
  readonly eagerSpent?: readonly NestedSpending[] | undefined;
  readonly finish?: FinishReason | undefined;
  /** The point from which a "continue" continuation goes on. */
  readonly token?: string | undefined;
  readonly providerMetadata: readonly Json[];
  /** Undefined where the provider did not say. Discarded attempts included. */
  readonly usage?: Usage | undefined;
  /** USD; undefined where unknown. */
  readonly costUSD?: number | undefined;
  /** The first attempt that `pricing` could not price; absent without `pricing`. */
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
  /** Facts about the calls that a resumed run needs beside the record of the run. Absent if that record says all. */
  readonly basis?: CallBasis | undefined;
  readonly error?: PlainError | undefined;
  /** A stop condition said that the run ends here. */
  readonly stop?: { readonly reason?: string | undefined } | undefined;
  readonly durationMs: number;
}

/** The tools that the calls of a stream were made for. */
export interface CallBasis {
  /** Whether `policies.approve` was there to decide about them. */
  readonly asks?: true | undefined;
  /** Called tools that came, or changed, after the run began. */
  readonly tools?: { readonly [name: string]: ShownTool } | undefined;
}
