// Providers: their requests, their chunks, and the result of one stream.

import type { Clock, PlainError, ProviderError, Timeouts, Usage } from "./common.ts";
import type { Json } from "./json.ts";
import type { Message } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { NestedSpending, ShownTool, ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { CostUnknownWhy, EndReason, StreamStatus } from "./termination.ts";

/**
 * The common interface for models. An adapter implements it with the API of a model service, and a wrapper implements it with
 * another provider.
 */
export interface Provider {
  /** The model service, named as in the OpenTelemetry attribute `gen_ai.provider.name`: "openai", "anthropic". */
  readonly id: string;
  readonly model: string;
  /** The family of the provider API, for policies that depend on it. */
  readonly family?: string | undefined;
  /** Streams one iteration. The stream ends with exactly one `finish` chunk, with an `error` chunk, or by throwing. */
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>;
}

/** The request of one iteration. Valid only while the stream runs. */
export interface ModelRequest {
  /** The messages to send, as a frozen array. The array is built when it is read, so read it while the stream runs. */
  readonly messages: readonly Message[];
  readonly system?: string | undefined;
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  /** The `token` of the `finish` chunk with the reason "continue". The new stream must continue from that point. */
  readonly continuationToken?: string | undefined;
  /** The full transcript of the run, for wrappers that inspect it. Providers must send `messages` instead. */
  readonly transcript?: RequestTranscript | undefined;
}

/** The full transcript of the run, without masking and without context items. */
export interface RequestTranscript {
  readonly messages: readonly Message[];
  /** How many of the messages were passed to the run. The other messages were added by the run. */
  readonly given: number;
}

/** The context of a request: its abort signal, its limits, and the clock to wait with. */
export interface ModelCall {
  /** Aborted when the iteration is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Reports that the stream is alive although no chunk has arrived. Heartbeats extend a limit on silence to at most twelve times
   * its length. Pass "waiting" while the provider itself waits, for a time that it limits. There is no maximum then.
   */
  heartbeat(state?: "waiting" | void): void;
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /**
   * Returns true if the limits of the run allow one more request after these attempts. A provider that sends several requests in
   * one stream must call it before each request except the first. If it returns false, end the stream with the failure of the last
   * attempt. The run then ends with the limit as its reason. Undefined if there are no limits.
   */
  mayAsk?: ((spent: readonly AttemptSpending[]) => boolean) | undefined;
}

/** The usage of one attempt, and the provider and model for its price. */
export interface AttemptSpending {
  readonly provider: string;
  readonly model: string;
  /** Undefined if the provider reported no usage. */
  readonly usage: Usage | undefined;
}

/** The tools that the model may use. */
export type ToolChoice = "auto" | "required" | "none" | { readonly name: string };

/** Settings that every model service has. Use `extra` for other settings. */
export interface ModelSettings {
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  /** Fields for the request body of the provider API. They are added last, unchanged. */
  readonly extra?: { readonly [field: string]: Json } | undefined;
}

/** Why the model stopped. All providers use these values. docs/concepts/endings.md explains what the loop does for each of them. */
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
  // Chunks of tool calls. All chunks of one call have the same `key`. Only `call-ready` is required.
  | { readonly type: "call-start"; readonly key: string; readonly id?: string | undefined; readonly name: string }
  | { readonly type: "call-args-delta"; readonly key: string; readonly text: string }
  /** The call is complete. A call without this chunk is treated as cut off, and does not run. */
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
  /** A snapshot replaces the earlier usage of the attempt, and a delta is added to it. */
  | { readonly type: "usage"; readonly usage: Usage; readonly mode: "snapshot" | "delta" }
  /** A part of the provider metadata, which is sent back unchanged in the next iteration. */
  | { readonly type: "provider-metadata"; readonly item: Json }
  /** Text to show below the answer. */
  | { readonly type: "details"; readonly text: string }
  /** The last chunk of this type in a run becomes `result.thoughtLog`. */
  | { readonly type: "thought-log"; readonly payload: unknown }
  /**
   * Sent by a provider that wraps others. Names the provider of the following chunks, whose prices apply and who may read the
   * provider metadata.
   */
  | {
      readonly type: "attempt-start";
      /** Counts from 1 in each stream. */
      readonly attempt: number;
      readonly provider: string;
      readonly model: string;
      readonly family?: string | undefined;
      /** Set to true if the output of this attempt will not be discarded, so that a page can show it immediately. Default false. */
      readonly isFinal?: boolean | undefined;
    }
  /** Sent by a provider that wraps others. The output of the attempt is discarded, but its usage is still counted. */
  | { readonly type: "attempt-discarded"; readonly attempt: number; readonly error: ProviderError }
  /** The last chunk of a stream. Sent once, and only if the service itself reported the end of the message. */
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw?: string | undefined;
      readonly token?: string | undefined;
    }
  | { readonly type: "error"; readonly error: ProviderError };

/** The result of one stream. It is plain data, because the journal stores it as the record of a model step. */
export interface StreamResult {
  readonly status: StreamStatus;
  /** Why the iteration ends the run. Absent if the status is `tool-calls`, and if a continuation follows. */
  readonly reason?: EndReason | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly thoughtLog?: Json | undefined;
  /** The tool calls, in the order in which the model made them. */
  readonly calls: readonly ToolCall[];
  /** The parts of the message, in order. Absent if the order is: all reasoning, all text, all calls. */
  readonly order?: readonly PartStart[] | undefined;
  /** The outcomes of the calls that were started during the stream. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
  /**
   * The outcomes of the calls that were refused when the stream ended: calls with an unknown tool or invalid arguments, and calls
   * that the gate or `toolChoice` blocked. A replay refuses the same calls, even if the schemas or the gate have changed.
   */
  readonly refusals?: readonly ToolOutcome[] | undefined;
  /** The ids of calls whose tools have asynchronous schemas. The validation of each such call is recorded in a separate step. */
  readonly lateChecks?: readonly string[] | undefined;
  /** The spending of nested runs in calls that a discarded attempt started early, and that the next attempt did not make again. */
  readonly eagerSpent?: readonly NestedSpending[] | undefined;
  readonly finish?: FinishReason | undefined;
  /** The point from which to continue, if `finish` is "continue". */
  readonly token?: string | undefined;
  readonly providerMetadata: readonly Json[];
  /** The usage, including discarded attempts. Undefined if the provider did not report it. */
  readonly usage?: Usage | undefined;
  /** The cost in USD. Undefined if it is unknown. */
  readonly costUSD?: number | undefined;
  /** The first attempt whose cost is unknown. Absent if there is none, and without the option `pricing`. */
  readonly unpriced?:
    | { readonly provider: string; readonly model: string; readonly why?: CostUnknownWhy | undefined }
    | undefined;
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
  /** The names of the tools that the model could see. */
  readonly visibleTools: readonly string[];
  /** Set if `toolChoice` allowed no tool or only one tool. Calls of other tools are blocked. */
  readonly toolChoice?: "none" | { readonly name: string } | undefined;
  /** Facts about the calls that a resumed run needs, in addition to the record of the run. Absent if there are none. */
  readonly basis?: CallBasis | undefined;
  readonly error?: PlainError | undefined;
  /** Set if a stop condition ended the run here. */
  readonly stop?: { readonly reason?: string | undefined } | undefined;
  readonly durationMs: number;
}

/** The start of a part of a streamed message. The part ends where the next part of its type starts. */
export interface PartStart {
  readonly type: "reasoning" | "text" | "call";
  /** The position of the first character in `text` or `reasoning`, or of the first call in `calls`, counted from 0. */
  readonly from: number;
}

/** The circumstances in which the model made the calls of a stream. */
export interface CallBasis {
  /** True if `policies.approve` was set. */
  readonly asks?: true | undefined;
  /** The called tools that were added or changed after the run started. */
  readonly tools?: { readonly [name: string]: ShownTool } | undefined;
}
