// Models: their requests, and the result of one stream.

import type { Clock, PlainError, ProviderError, Timeouts, Usage } from "./common.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { NestedSpending, ShownTool, ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { CostUnknownWhy, EndReason, StreamStatus } from "./termination.ts";

/**
 * A model with a common interface of one method. Adapters implement it with a vendor's API; a wrapper implements it with another
 * provider.
 */
export interface Provider {
  /** The service of the model, named as in `gen_ai.provider.name`: "openai", "anthropic". */
  readonly id: string;
  readonly model: string;
  /** API family, for policies that depend on it. */
  readonly family?: string | undefined;
  /** Streams one iteration. The stream ends with exactly one `finish` chunk, with an `error` chunk, or by throwing. */
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>;
}

/** The request of one iteration. Valid only while the stream runs. */
export interface ModelRequest {
  /** The messages to send: a frozen list, built when it is read. Read it while the stream runs. */
  readonly messages: readonly Message[];
  readonly system?: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  /** 0-based iteration. */
  readonly iteration: number;
  /** The `token` of the `finish` chunk that asked for a "continue" continuation. Continue from there. */
  readonly continuationToken?: string | undefined;
  /** The full transcript of the run, for wrappers that inspect it. Providers send `messages`, not this. */
  readonly transcript?: RequestTranscript | undefined;
}

/** The full transcript of the run, without masking and without context items. */
export interface RequestTranscript {
  readonly messages: readonly Message[];
  /** How many of the messages were passed to the run. The run made the others. */
  readonly given: number;
}

/** Comes with a request: the means to cancel it, and the clock to wait with. */
export interface ModelCall {
  /** Fires when the iteration is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Reports that the stream is alive although no chunk came. It extends a limit on silence to at most twelve times its length.
   * There is no such maximum while the provider itself is "waiting" for a time that it limits.
   */
  heartbeat(state?: "waiting" | void): void;
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /**
   * Returns true if the limits of the run allow one more request after these attempts. A provider that makes several requests in
   * one stream calls it before each one after the first. If it returns false, end the stream with the failure of the last
   * attempt; the run then ends with the limit as its reason. Undefined if there are no limits.
   */
  mayAsk?: ((spent: readonly AttemptSpending[]) => boolean) | undefined;
}

/** The usage of one attempt, and the provider and model that it is priced by. */
export interface AttemptSpending {
  readonly provider: string;
  readonly model: string;
  /** Undefined if the provider did not report any. */
  readonly usage: Usage | undefined;
}

/** The tools that the model may use. */
export type ToolChoice = "auto" | "required" | "none" | { readonly name: string };

/** Settings that every model service has. Others go through `extra`. */
export interface ModelSettings {
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  /** Fields of the service's own request body. They are added last and unchanged. */
  readonly extra?: { readonly [field: string]: Json } | undefined;
}

/** Why the model stopped. All providers use the same words. docs/concepts/endings.md explains how the loop treats each. */
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
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "refusal-delta"; readonly text: string }
  // Tool calls. `key` ties the fragments of one call together; only `call-ready` is required.
  | { readonly type: "call-start"; readonly key: string; readonly id?: string | undefined; readonly name: string }
  | { readonly type: "call-args-delta"; readonly key: string; readonly text: string }
  /** The call is complete. A call without this chunk counts as cut off and is not run. */
  | {
      readonly type: "call-ready";
      readonly key: string;
      readonly id?: string | undefined;
      readonly name: string;
      /** Parsed arguments, or any value if `problem` is set. */
      readonly args: unknown;
      readonly argsText?: string | undefined;
      readonly problem?: "malformed" | "truncated" | undefined;
    }
  /** A snapshot replaces the earlier usage of the attempt; a delta adds to it. */
  | { readonly type: "usage"; readonly usage: Usage; readonly mode: "snapshot" | "delta" }
  /** A part of the provider metadata, sent back verbatim in the next iteration. */
  | { readonly type: "provider-metadata"; readonly item: Json }
  /** Text that is shown below the answer. */
  | { readonly type: "details"; readonly text: string }
  /** The last one of a run becomes `result.thoughtLog`. */
  | { readonly type: "thought-log"; readonly payload: unknown }
  /**
   * Sent by a wrapping provider: the provider that streams from here on. The usage, prices and provider metadata that follow are
   * its own.
   */
  | {
      readonly type: "attempt-start";
      /** Counts from 1 in each stream. */
      readonly attempt: number;
      readonly provider: string;
      readonly model: string;
      readonly family?: string | undefined;
    }
  /** Sent by a wrapping provider: the output of the attempt is discarded; its usage still counts. */
  | { readonly type: "attempt-discarded"; readonly attempt: number; readonly error: ProviderError }
  /** The last chunk, sent once, and only if the service itself reported the end. */
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw?: string | undefined;
      readonly token?: string | undefined;
    }
  | { readonly type: "error"; readonly error: ProviderError };

/** The result of one stream. Plain data: the journal keeps it as the record of a model step. */
export interface StreamResult {
  readonly status: StreamStatus;
  /** Why the iteration ended; absent on `tool-calls` and on continuations. */
  readonly reason?: EndReason | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly thoughtLog?: Json | undefined;
  /** In the order in which the model asked for them. */
  readonly calls: readonly ToolCall[];
  /** Outcomes of the calls that were started during the stream. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
  /**
   * Outcomes of the calls that were refused when the stream ended. These have an unknown tool or unusable arguments, or are
   * blocked by the gate or `toolChoice`. A replay refuses the same calls, even if the schemas or the gate have changed.
   */
  readonly refusals?: readonly ToolOutcome[] | undefined;
  /** Ids of calls with asynchronous schemas. Their validations are recorded in steps of their own. */
  readonly lateChecks?: readonly string[] | undefined;
  /** Spending of runs inside calls that a discarded attempt started early, and that the next attempt did not repeat. */
  readonly eagerSpent?: readonly NestedSpending[] | undefined;
  readonly finish?: FinishReason | undefined;
  /** The point from which a "continue" continuation goes on. */
  readonly token?: string | undefined;
  readonly providerMetadata: readonly Json[];
  /** Undefined if the provider did not report it. Discarded attempts included. */
  readonly usage?: Usage | undefined;
  /** USD; undefined if unknown. */
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
  /** Set if `toolChoice` allowed no tool, or only one. Other calls are blocked. */
  readonly toolChoice?: "none" | { readonly name: string } | undefined;
  /** Facts about the calls that a resumed run needs besides the record of the run. Absent if none are needed. */
  readonly basis?: CallBasis | undefined;
  readonly error?: PlainError | undefined;
  /** Set if a stop condition ended the run here. */
  readonly stop?: { readonly reason?: string | undefined } | undefined;
  readonly durationMs: number;
}

/** The circumstances in which the calls of a stream were made. */
export interface CallBasis {
  /** True if `policies.approve` was set. */
  readonly asks?: true | undefined;
  /** Called tools that were added or changed after the run began. */
  readonly tools?: { readonly [name: string]: ShownTool } | undefined;
}
