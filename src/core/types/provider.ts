// Types for adapters and wrappers that stream model responses: requests, chunks, and the result of a stream.

import type { Clock, Json, JsonSchema, PlainError, ProviderError, Timeouts, Usage } from "./common.ts";
import type { GuardrailRecord } from "./guardrails.ts";
import type { Message } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { NestedSpending, ShownTool, ToolCall, ToolOutcome } from "./tool-outcome.ts";
import type { CostUnknownWhy, EndReason, StreamStatus } from "./termination.ts";
import type { StreamCache } from "./prompt-cache.ts";

/**
 * The common interface of all models. An adapter implements this interface on top of a model service's API, and a wrapper implements it on
 * top of another provider.
 */
export interface Provider {
  /** The name of the model service, as in the OpenTelemetry attribute `gen_ai.provider.name`: "openai", "anthropic". */
  readonly id: string;
  readonly model: string;
  /** The provider's API family, for middleware that depends on the family. */
  readonly family?: string | undefined;
  /** True if the service can replace old messages with a summary on its own. Requests may then have `compactAt`. Default false. */
  readonly compacts?: boolean | undefined;
  /**
   * True if the service itself searches deferred tools. Requests then contain all deferred tools, marked with `deferred: true`, and
   * no tool added by `withToolSearch`. Default false.
   */
  readonly searchesTools?: boolean | undefined;
  /**
   * True if the provider itself sends the answer's schema, or describes it. Requests may then have `output`, and `system` then does not
   * contain the instructions for the answer. Default false.
   */
  readonly structuresOutput?: boolean | undefined;
  /** Streams one response from the model. The stream ends with exactly one `finish` chunk, an `error` chunk or a thrown error. */
  stream(request: ModelRequest, call: ModelCall): AsyncIterable<ModelChunk>;
}

/** The request for one iteration. Valid only while the stream for this request is open. */
export interface ModelRequest {
  /**
   * The messages to send, as a frozen array. The array is created when this property is read, so read it before the
   * stream ends.
   */
  readonly messages: readonly Message[];
  readonly system?: string | undefined;
  /**
   * The visible tools. `deferred` is true only for a provider with `searchesTools`, and only for tools that the provider has to
   * find.
   */
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: ModelSettings | undefined;
  /** The number of the iteration, counted from 0. */
  readonly iteration: number;
  /** "summary" for a request that only summarizes old messages. Absent for all other requests. */
  readonly purpose?: "summary" | undefined;
  /**
   * The `token` from the `finish` chunk with the reason "continue". The stream must continue the message from the point that the
   * token marks.
   */
  readonly continuationToken?: string | undefined;
  /**
   * The number of input tokens at which the service should replace old messages with a summary. Set only for a provider with
   * `compacts`.
   */
  readonly compactAt?: number | undefined;
  /**
   * The schema of the answer, from `structuredOutput`. Set only for a provider with `structuresOutput`. If the service cannot accept the
   * schema in this request, the provider must add the instructions to the system text.
   */
  readonly output?: RequestedOutput | undefined;
  /** The run's full transcript, for wrappers that inspect the transcript. Providers must send `messages` instead. */
  readonly transcript?: RequestTranscript | undefined;
}

/** The answer's schema in two forms. */
export interface RequestedOutput {
  /** The JSON Schema of the answer. The object is the same in each request of a run. */
  readonly schema: JsonSchema;
  /** The text that asks the model for an answer that matches the schema. */
  readonly instructions: string;
}

/** The run's full transcript, without masking and without the context items. */
export interface RequestTranscript {
  readonly messages: readonly Message[];
  /** The number of messages that the caller passed to the run. They are at the beginning of the transcript. */
  readonly given: number;
}

/** The context of a request: its abort signal, its limits, and the clock for waiting. */
export interface ModelCall {
  /** A signal that is aborted when the iteration is cancelled. */
  readonly signal: AbortSignal;
  /**
   * Reports that the stream is alive although no chunk has arrived. Heartbeats extend `streamIdleMs` and `firstChunkMs` to at most twelve
   * times their length. If the provider has its own time limit for a wait, pass "waiting" during this wait. The loop then sets no maximum.
   */
  heartbeat(state?: "waiting" | void): void;
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  /**
   * Returns true if the run's limits allow one more request after the attempts in `spent`. A provider that may send several
   * requests in one stream must call this method before each additional request. If the method returns false, end the stream
   * with the last attempt's failure. The run then ends because of the limit. Undefined if there are no limits.
   */
  mayAsk?: ((spent: readonly AttemptSpending[]) => boolean) | undefined;
  /**
   * Reports the body of each request exactly as it is handed to the SDK, just before the SDK is called. `sender` is the
   * provider that sends the body. The body must not be changed afterwards. Undefined unless the run watches the prompt cache.
   */
  sending?: ((body: unknown, sender: Pick<Provider, "id" | "model">) => void) | undefined;
  /**
   * Adds JSON data to the answer's record, as `notes[name]`, so that a resumed run has it too. A later note with the same name replaces it.
   * For wrappers that middleware puts around the provider.
   */
  note?: ((name: string, value: Json) => void) | undefined;
  /**
   * Applies the output checks of `guardrails` to a stream. Only for wrappers that record chunks: a wrapper that applies this function to
   * its inner provider's stream never records refused text. Without such a wrapper, the loop itself checks the
   * provider's stream.
   */
  guard?: ((stream: AsyncIterable<ModelChunk>) => AsyncIterable<ModelChunk>) | undefined;
}

/** The usage of one attempt, with the provider and model that determine its price. */
export interface AttemptSpending {
  readonly provider: string;
  readonly model: string;
  /** The usage of the attempt. Undefined if the provider did not report it. */
  readonly usage: Usage | undefined;
}

/** Controls which tools the model may call. `{ name }` requires a call to this tool. */
export type ToolChoice = "auto" | "required" | "none" | { readonly name: string };

/** Settings that every model service supports. Use `extra` for other settings. */
export interface ModelSettings {
  /** The maximum number of tokens in one answer. Default: the adapter's or the service's limit. */
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  /** Fields for the provider API's request body. These fields are added last and unchanged. */
  readonly extra?: { readonly [field: string]: Json } | undefined;
}

/**
 * The reason why the model stopped, with the same values for all providers. docs/concepts/endings.md explains the effect of each
 * reason.
 */
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

/** One difference between the run's request and the request that the model read. */
export interface RequestChange {
  /** "adapter": the adapter changed the request before sending it. "service": the service changed it before the model read it. */
  readonly by: "adapter" | "service";
  /**
   * The setting or option that changed, such as "temperature", or the path of a part in the request body, such as
   * "messages.3.content.0".
   */
  readonly field: string;
  /**
   * "kept" means that the service found a problem, but the model read the part anyway.
   */
  readonly action: "removed" | "replaced" | "kept";
  /**
   * "unsupported" if the model refuses the field, "refused" if the service refused an image or a file, "request-changed" if reasoning is no
   * longer valid for the request, or the service's own term, such as "prefix_binding_mismatch".
   */
  readonly reason: string;
}

/** The changes to one request, and the model that read it. */
export interface RequestAdjustment {
  readonly provider: string;
  readonly model: string;
  readonly changes: readonly RequestChange[];
}

/** One chunk of a model's stream. */
export type ModelChunk =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "refusal-delta"; readonly text: string }
  // Chunks of tool calls. All chunks of one call have the same `key`, and only `call-ready` is required.
  | { readonly type: "call-start"; readonly key: string; readonly id?: string | undefined; readonly name: string }
  | { readonly type: "call-args-delta"; readonly key: string; readonly text: string }
  /** Marks the call as complete. A call without this chunk counts as cut off, and does not run. */
  | {
      readonly type: "call-ready";
      readonly key: string;
      readonly id?: string | undefined;
      readonly name: string;
      /** The parsed arguments, or any value if `problem` is set. */
      readonly args: unknown;
      readonly argsText?: string | undefined;
      readonly problem?: "malformed" | "truncated" | undefined;
    }
  /** The usage of the attempt. A snapshot replaces the earlier usage of the attempt, and a delta is added to that usage. */
  | { readonly type: "usage"; readonly usage: Usage; readonly mode: "snapshot" | "delta" }
  /** A part of the message in the provider's own format, which is sent back unchanged in the next iteration. */
  | { readonly type: "provider-metadata"; readonly item: Json }
  /**
   * Differences between the run's request and the request that the model read. May be sent several times in a stream. The run
   * reports each difference once, in a `request-adjusted` event.
   */
  | { readonly type: "request-adjusted"; readonly changes: readonly RequestChange[] }
  /** Text to show below the answer. */
  | { readonly type: "details"; readonly text: string }
  /** A thought log. The last thought log in a run becomes `result.thoughtLog`. */
  | { readonly type: "thought-log"; readonly payload: unknown }
  /**
   * Sent by a provider that wraps other providers. Names the provider and model of the following chunks. These names
   * determine the price, and which provider may receive the provider metadata.
   */
  | {
      readonly type: "attempt-start";
      /** The number of the attempt, counted from 1 in each stream. */
      readonly attempt: number;
      readonly provider: string;
      readonly model: string;
      readonly family?: string | undefined;
      /** Set to true if the output of this attempt is never discarded, so that a user interface can show it immediately. Default false. */
      readonly isFinal?: boolean | undefined;
    }
  /** Sent by a provider that wraps other providers, to discard an attempt's output. The attempt's usage is still counted. */
  | { readonly type: "attempt-discarded"; readonly attempt: number; readonly error: ProviderError }
  /** The last chunk of a stream. Sent once, and only after the service has reported the end of the message. */
  | {
      readonly type: "finish";
      readonly reason: FinishReason;
      readonly raw?: string | undefined;
      readonly token?: string | undefined;
    }
  | { readonly type: "error"; readonly error: ProviderError };

/** The result of one stream, as JSON data that the journal records. */
export interface StreamResult {
  readonly status: StreamStatus;
  /** The reason why the iteration ends the run. Absent if the status is `tool-calls` or if a continuation follows. */
  readonly reason?: EndReason | undefined;
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly thoughtLog?: Json | undefined;
  /** The tool calls, in the order in which the model made them. */
  readonly calls: readonly ToolCall[];
  /** The ids of calls from discarded attempts. No later call in the run reuses these ids. Absent if there are none. */
  readonly discardedIds?: readonly string[] | undefined;
  /** The parts of the message, in order. Absent for the usual order: all reasoning, all text, all calls. */
  readonly order?: readonly PartStart[] | undefined;
  /** The outcomes of the calls that started during the stream, because their tools are `eager`. */
  readonly eagerOutcomes?: readonly ToolOutcome[] | undefined;
  /**
   * The outcomes of the calls that were refused at the end of the stream: calls with an unknown tool or invalid arguments, and
   * calls that the gate or `toolChoice` blocked. A replay refuses the same calls, even if the schemas or the gate have changed.
   */
  readonly refusals?: readonly ToolOutcome[] | undefined;
  /**
   * The usage and cost of nested runs in lost `eager` calls. A call is lost if its attempt was discarded and the next attempt did not
   * request the same call.
   */
  readonly eagerSpent?: readonly NestedSpending[] | undefined;
  readonly finish?: FinishReason | undefined;
  /** The point from which a new stream continues, if `finish` is "continue". */
  readonly token?: string | undefined;
  readonly providerMetadata: readonly Json[];
  /** The usage, including discarded attempts. Undefined if the provider did not report it. */
  readonly usage?: Usage | undefined;
  /**
   * The usage of the last attempt alone. Absent if there was only one attempt. All counts are 0 if the provider did not report
   * the usage.
   */
  readonly lastUsage?: Usage | undefined;
  /** The cost in USD. Undefined if the cost is unknown. */
  readonly costUSD?: number | undefined;
  /** The sum of the attempts' known costs in USD. Only set if `costUSD` is undefined, and some attempts have a known cost. */
  readonly knownCostUSD?: number | undefined;
  /** The first attempt with an unknown cost. Absent if there is none, or without the `pricing` option. */
  readonly unpriced?:
    | { readonly provider: string; readonly model: string; readonly why?: CostUnknownWhy | undefined }
    | undefined;
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
  /** The names of the tools that the model could see. */
  readonly visibleTools: readonly string[];
  /** The restriction from `toolChoice`, if it allowed only one tool or none. Calls to other tools are blocked. */
  readonly toolChoice?: "none" | { readonly name: string } | undefined;
  /** Information that a resumed run needs about the calls. Absent if the run's first record contains it. */
  readonly basis?: CallBasis | undefined;
  readonly error?: PlainError | undefined;
  /** The stop condition that ended the run after this stream, with its reason. */
  readonly stop?: { readonly reason?: string | undefined } | undefined;
  /** The output checks by `guardrails`, in order. Absent if there were none. */
  readonly guardrails?: readonly GuardrailRecord[] | undefined;
  /** The differences between the stream's requests and what the model read. Absent if there are none. */
  readonly adjustments?: readonly RequestAdjustment[] | undefined;
  /** The requests as seen by `watchPromptCache`. Absent without this middleware. */
  readonly cache?: StreamCache | undefined;
  /** The data that wrappers around the provider have added with `call.note`, by name. Absent if there is none. */
  readonly notes?: { readonly [name: string]: Json } | undefined;
  readonly durationMs: number;
}

/** The start of one part of a streamed message. The part ends where the next part with the same type starts. */
export interface PartStart {
  readonly type: "reasoning" | "text" | "call";
  /** The start of the part: a character position in `text` or `reasoning`, or an index in `calls`. Counted from 0. */
  readonly from: number;
}

/** The circumstances under which the model made a stream's calls. */
export interface CallBasis {
  /** True if the run had `approve`. */
  readonly asks?: true | undefined;
  /** The deferred tools that a search may find. Set if `prepareIteration` limited these tools and the model called the search tool. */
  readonly findable?: readonly string[] | undefined;
  /** The called tools that were added or changed after the start of the run. */
  readonly tools?: { readonly [name: string]: ShownTool } | undefined;
}
