// Keeps the parts of an assistant message as provider metadata, and sends them back unchanged. Only these parts contain the thought
// signatures and the results of tools that the service runs.

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

export function toMetadataItems(parts: readonly WirePart[]): readonly Json[] {
  return parts.map((part) => ({ part }));
}

/**
 * Returns undefined if the message must be rebuilt from its text and calls. All parts in the metadata must come from this service
 * and model, because signatures are not portable. The parts must also have the same text and calls as the message. This is not
 * the case if the message was edited, or if a continuation was cut off.
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

/** True for a call to a tool of the run. A call to a tool that the service runs has the field `toolCall` instead. */
export function isCallPart({ functionCall }: WirePart): boolean {
  return isRecord(functionCall);
}

/** Returns undefined without an id. Vertex AI, and models before Gemini 3, often send none. */
export function idOfCall({ functionCall }: WirePart): string | undefined {
  return filledOrNone(recordOf(functionCall).id);
}

function hasDouble(asked: readonly WirePart[]): boolean {
  const ids = asked.map(idOfCall).filter((id) => id !== undefined);
  return new Set(ids).size < ids.length;
}

/** The function names that the service accepts (docstring of `FunctionDeclaration.name` in @google/genai). */
const wireName = /^[a-z_][\w.:-]{0,127}$/i;

function isCall(part: WirePart, call: ToolCallPart): boolean {
  const { functionCall } = part;
  if (!isRecord(functionCall) || idOfCall(part) !== call.providerCallId) return false;
  const { name, args } = functionCall;
  return name === call.name && wireName.test(call.name) && (args === undefined || isRecord(args));
}

/**
 * Replaces an invalid tool name, which a model may invent. Otherwise the service would reject every later request that contains
 * the name.
 */
export function toWireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, "_").slice(0, 64);
  return wireName.test(plain) ? plain : `_${plain}`;
}
