import type { ContentPart, UserPart } from "./common.ts";
import type { Json } from "./json.ts";
import type { ToolOutcome } from "./tool-outcome.ts";

/** One message of a transcript. Immutable: a change is a new object, so that it may key a WeakMap. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A message from the user, or from the loop in the user's place. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly UserPart[];
}

/** One turn of the model. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
  /** The turn as its provider wrote it, to be echoed verbatim to the same provider and model. */
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** The results of all calls of the turn before, in call order. */
export interface ToolMessage {
  readonly role: "tool";
  readonly results: readonly ToolResultPart[];
}

/** A piece of a model's turn. */
export type AssistantPart = TextPart | ToolCallPart;

/** A message from the model, with its reasoning. */
export type TextPart = { readonly type: "text"; readonly text: string } | { readonly type: "reasoning"; readonly text: string };

/** A call that the model asked for. */
export interface ToolCallPart {
  readonly type: "tool-call";
  /** Unique in the transcript. */
  readonly callId: string;
  /** The id that the provider gave, where it gave one. */
  readonly providerCallId?: string | undefined;
  readonly name: string;
  /** The model's own arguments, never edited. */
  readonly args: Json;
  /** The arguments as an approval changed them. */
  readonly approvedArgs?: Json | undefined;
}

/** The answer to one call. */
export interface ToolResultPart {
  readonly callId: string;
  readonly name: string;
  readonly outcome: ToolOutcome["kind"] | "restarted" | "awaiting-approval";
  /** The text that the model reads. */
  readonly result: Json;
  /** Images, files and text beside the result. */
  readonly content?: readonly ContentPart[] | undefined;
}

/** One part of the provider metadata of a turn, and who may read it. */
export interface ProviderMetadataPart {
  readonly provider: string;
  readonly model: string;
  readonly item: Json;
}

/** All provider metadata of a turn, in order. */
export type ProviderMetadata = readonly ProviderMetadataPart[];
