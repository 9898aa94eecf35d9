// Keeps an assistant message's parts as provider metadata and sends them back unchanged, because only they contain thought signatures and
// the results of tools that the service ran.

import type { AssistantMessage, Json } from "../core/index.ts";
import { filledOrNone } from "../shared/plain-error.ts";
import { isRecord, recordOf, textOf, type ToolCallPart } from "../core/kit.ts";
import { type MetadataReader, readOwnItems, type RecordedMessage, saysTheSame } from "../shared/adapters/sdk-provider.ts";
import type { WirePart } from "./generate-options.ts";

/** `found` is what the service found for the answer, such as web pages. It is kept for the user, but never sent back. */
export function toMetadataItems(parts: readonly WirePart[], found: { readonly [field: string]: Json }): readonly Json[] {
  const items: Json[] = parts.map((part) => ({ part }));
  return Object.keys(found).length === 0 ? items : [...items, found];
}

/**
 * Returns the parts to send back, or undefined if the message must be rebuilt from its text and calls.
 *
 * All parts must come from this service and model, because a signature is valid only for the model that created it. The parts must also
 * have the same text and calls as the message. Text or calls differ if the message was edited, or if a continuation was cut off.
 */
export function readMetadata(message: AssistantMessage, reader: MetadataReader): readonly WirePart[] | undefined {
  const items = readOwnItems(message.providerMetadata, reader)?.filter(
    ({ groundingMetadata, urlContextMetadata }) => groundingMetadata === undefined && urlContextMetadata === undefined,
  );
  const parts = items?.flatMap(({ part }) => (isPart(part) ? [part] : []));
  if (parts === undefined || parts.length !== items?.length) return undefined;
  return saysTheSame(message, toRecorded(parts)) ? parts : undefined;
}

function isPart(value: unknown): value is WirePart {
  return isRecord(value);
}

function toRecorded(parts: readonly WirePart[]): RecordedMessage<WirePart> {
  const text = parts.map((part) => (part.thought === true ? "" : textOf(part.text))).join("");
  const calls = parts.filter(isCallPart);
  const isAmbiguous = hasDouble(calls);
  return { text, calls, isCall: (part, call) => !isAmbiguous && isCall(part, call) };
}

/** True for calls to tools of the run. Calls to tools that the service runs have the `toolCall` field instead. */
export function isCallPart({ functionCall }: WirePart): boolean {
  return isRecord(functionCall);
}

/** Returns a call's id, or undefined if there is none. Vertex AI, and models before Gemini 3, often send no id. */
export function idOfCall({ functionCall }: WirePart): string | undefined {
  return filledOrNone(recordOf(functionCall).id);
}

function hasDouble(asked: readonly WirePart[]): boolean {
  const ids = asked.map(idOfCall).filter((id) => id !== undefined);
  return new Set(ids).size < ids.length;
}

/**
 * The function names that the service accepts. The docstring in @google/genai allows 128 characters, but the service only 64
 * (github.com/google-gemini/gemini-cli/issues/20987).
 */
const wireName = /^[a-z_][\w.:-]{0,63}$/i;

function isCall(part: WirePart, call: ToolCallPart): boolean {
  const { functionCall } = part;
  if (!isRecord(functionCall) || idOfCall(part) !== call.providerCallId) return false;
  const { name, args } = functionCall;
  return name === call.name && wireName.test(call.name) && (args === undefined || isRecord(args));
}

/**
 * Makes a tool name valid. A model may invent an invalid name, and the service would reject every later request with that name.
 */
export function toWireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, "_").slice(0, 64);
  return wireName.test(plain) ? plain : `_${plain}`.slice(0, 64);
}
