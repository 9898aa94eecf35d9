import type { ContentPart, Json, UserPart } from "./common.ts";
import type { ToolCall, ToolOutcome } from "./tool-outcome.ts";

/** One message in a transcript. Messages are immutable, so data about a message can be cached in a WeakMap. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A message that you pass to a run. The content of an assistant message may be a string, which becomes a text part in the transcript. */
export type GivenMessage = Message | { readonly role: "assistant"; readonly content: string };

/** A message from the user, or one that the loop writes in the user's role. */
export interface UserMessage {
  readonly role: "user";
  /**
   * Your own id, for example from a web page. Hosts and conversations use it to recognize a message that arrives twice. The id is kept in
   * the transcript, and never sent to a model. Default: no id.
   */
  readonly id?: string | undefined;
  readonly content: string | readonly UserPart[];
  /** Set to true to keep this message in all requests, even after a compaction. Default false. */
  readonly pinned?: boolean | undefined;
  /**
   * Your own JSON data, such as an id or a time. It is stored in the transcript and in journals, and never sent to a model. Default: no
   * metadata.
   */
  readonly metadata?: { readonly [key: string]: Json | undefined } | undefined;
}

/** The model's output in one iteration. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
  /** The message in the provider's own format. It is sent back unchanged, and only to the same provider and model. */
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The results of all calls in the previous assistant message, in call order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly results: readonly ToolResultPart[];
}

/** A part of an assistant message. */
export type AssistantPart = TextPart | ToolCallPart;

/** Text or reasoning from the model. */
export type TextPart = { readonly type: "text"; readonly text: string } | { readonly type: "reasoning"; readonly text: string };

/** A tool call in the transcript. `args` are the arguments exactly as the model wrote them. */
export interface ToolCallPart extends Pick<ToolCall, "callId" | "providerCallId" | "name" | "args"> {
  readonly type: "tool-call";
  /** The arguments that an approval decision set in place of `args`. */
  readonly approvedArgs?: Json | undefined;
}

/** The result of one tool call. */
export interface ToolResultPart {
  readonly callId: string;
  readonly name: string;
  readonly outcome: ToolOutcome["kind"] | "restarted" | "awaiting-approval" | "awaiting-result";
  /** The result that the model receives. */
  readonly result: Json;
  /** Images, files and text in addition to `result`. */
  readonly content?: readonly ContentPart[] | undefined;
}

/** One part of an assistant message in the provider's own format. It may only be sent to the same provider and model. */
export interface ProviderMetadataPart {
  readonly provider: string;
  readonly model: string;
  readonly item: Json;
}

/** All parts of an assistant message in the provider's own format, in order. */
export type ProviderMetadata = readonly ProviderMetadataPart[];
