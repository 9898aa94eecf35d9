// An assistant message as the model wrote it. Its parts are kept as provider metadata, in order, and sent back unchanged. They
// have the thought signatures, and only they contain the results of the service's own tools.

import {
  type AssistantMessage,
  filledOrNone,
  isRecord,
  type Json,
  type MetadataReader,
  readOwnItems,
  recordOf,
  type RecordedMessage,
  saysTheSame,
  textOf,
  type ToolCallPart,
} from "../core/provider-kit.ts";
import type { WirePart } from "./generate-options.ts";

/** Makes one part of provider metadata for each part, in the form of `readMetadata`. */
export function toMetadataItems(parts: readonly WirePart[]): readonly Json[] {
  return parts.map((part) => ({ part }));
}

/**
 * Returns the parts of an assistant message to send; undefined if it must be written from its neutral parts. All parts must be of
 * this service and model, because signatures are not portable. They must also match the neutral parts: the same text, and the
 * same calls. They differ if the message was edited, or a continuation was cut off.
 */
export function readMetadata(turn: AssistantMessage, reader: MetadataReader): readonly WirePart[] | undefined {
  const items = readOwnItems(turn.providerMetadata, reader);
  const parts = items?.flatMap(({ part }) => (isPart(part) ? [part] : []));
  if (parts === undefined || parts.length !== items?.length) return undefined;
  return saysTheSame(turn, toRecorded(parts)) ? parts : undefined;
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

/** True if a part is a call of the run's own tools. Calls of the service's tools are `toolCall`. */
export function isCallPart({ functionCall }: WirePart): boolean {
  return isRecord(functionCall);
}

/** Returns the service's id of a call. Vertex AI, and models before Gemini 3, often have none. */
export function idOfCall({ functionCall }: WirePart): string | undefined {
  return filledOrNone(recordOf(functionCall).id);
}

/** True if two calls of a message have the same id, so that it identifies neither. */
function hasDouble(asked: readonly WirePart[]): boolean {
  const ids = asked.map(idOfCall).filter((id) => id !== undefined);
  return new Set(ids).size < ids.length;
}

/** A function name that the service accepts (docstring of `FunctionDeclaration.name` in @google/genai). */
const wireName = /^[a-z_][\w.:-]{0,127}$/i;

function isCall(part: WirePart, call: ToolCallPart): boolean {
  const { functionCall } = part;
  if (!isRecord(functionCall) || idOfCall(part) !== call.providerCallId) return false;
  const { name, args } = functionCall;
  return name === call.name && wireName.test(call.name) && (args === undefined || isRecord(args));
}

/** Replaces other characters: with an invented name in the history, the service would reject every later request. */
export function toWireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, "_").slice(0, 64);
  return wireName.test(plain) ? plain : `_${plain}`;
}
