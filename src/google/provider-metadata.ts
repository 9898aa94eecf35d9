// A turn as the model wrote it: its parts are kept as provider metadata, in order, and sent back unchanged. Thought signatures stand on
// them, and what the service's own tools did is nowhere else.

import {
  type AssistantMessage,
  filledOrNone,
  isRecord,
  type Json,
  type MetadataReader,
  readOwnItems,
  recordOf,
  type RecordedTurn,
  saysTheSame,
  textOf,
  type ToolCallPart,
} from "../core/provider-kit.ts";
import type { WirePart } from "./generate-options.ts";

/** One part of provider metadata for each part, as `readMetadata` expects them. */
export function toMetadataItems(parts: readonly WirePart[]): readonly Json[] {
  return parts.map((part) => ({ part }));
}

/**
 * The parts of a turn as they may be sent; undefined where it must be written anew. They may be sent only where all of them are of
 * this service and model, for signatures are not portable, and where they say what the neutral parts say: the same text, and the same
 * calls. They do not where somebody edited the turn, or where a later continuation of it was cut off.
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

function toRecorded(parts: readonly WirePart[]): RecordedTurn<WirePart> {
  const text = parts.map((part) => (part.thought === true ? "" : textOf(part.text))).join("");
  const calls = parts.filter(isCallPart);
  const isAmbiguous = hasDouble(calls);
  return { text, calls, isCall: (part, call) => !isAmbiguous && isCall(part, call) };
}

/** Whether a part is a call of the run's own tools; those of the service's are `toolCall`. */
export function isCallPart({ functionCall }: WirePart): boolean {
  return isRecord(functionCall);
}

/** The id that the service gave to a call; on Vertex AI and before Gemini 3 it often gives none. */
export function idOfCall({ functionCall }: WirePart): string | undefined {
  return filledOrNone(recordOf(functionCall).id);
}

/** Two calls of one turn under one id cannot be told apart by it. */
function hasDouble(asked: readonly WirePart[]): boolean {
  const ids = asked.map(idOfCall).filter((id) => id !== undefined);
  return new Set(ids).size < ids.length;
}

/** The name of a function in the form that the service accepts (docstring of `FunctionDeclaration.name` in @google/genai). */
const wireName = /^[a-z_][\w.:-]{0,127}$/i;

function isCall(part: WirePart, call: ToolCallPart): boolean {
  const { functionCall } = part;
  if (!isRecord(functionCall) || idOfCall(part) !== call.providerCallId) return false;
  const { name, args } = functionCall;
  return name === call.name && wireName.test(call.name) && (args === undefined || isRecord(args));
}

/** Models make names up; one with other characters in the history would make the service refuse every later request. */
export function toWireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, "_").slice(0, 64);
  return wireName.test(plain) ? plain : `_${plain}`;
}
