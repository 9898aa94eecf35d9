import type { ContentPart, UserPart } from "./common.ts";
import type { Json } from "./json.ts";
import type { ToolCall, ToolOutcome } from "./tool-outcome.ts";

/** One message of a transcript. Immutable: a change makes a new object, so that a message can key a WeakMap. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A message from the user, or from the loop in the user's place. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly UserPart[];
}

/** The output of the model in one iteration. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
  /** The message in the provider's own format, sent back verbatim to the same provider and model. */
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The results of all calls of the assistant message before it, in call order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly results: readonly ToolResultPart[];
}

/** A part of an assistant message. */
export type AssistantPart = TextPart | ToolCallPart;

/** Text or reasoning of the model. */
export type TextPart = { readonly type: "text"; readonly text: string } | { readonly type: "reasoning"; readonly text: string };

/** A call in the transcript. `args` are the model's own arguments, never edited. */
export interface ToolCallPart extends Pick<ToolCall, "callId" | "providerCallId" | "name" | "args"> {
  readonly type: "tool-call";
  /** The arguments as an approval changed them. */
  readonly approvedArgs?: Json | undefined;
}

/** The answer to one call. */
export interface ToolResultPart {
  readonly callId: string;
  readonly name: string;
  readonly outcome: ToolOutcome["kind"] | "restarted" | "awaiting-approval" | "awaiting-result";
  /** The text that the model reads. */
  readonly result: Json;
  /** Images, files and text beside the result. */
  readonly content?: readonly ContentPart[] | undefined;
}

/** One part of the provider metadata of an assistant message, with the provider and model that may read it. */
export interface ProviderMetadataPart {
  readonly provider: string;
  readonly model: string;
  readonly item: Json;
}

/** All provider metadata of an assistant message, in order. */
export type ProviderMetadata = readonly ProviderMetadataPart[];
