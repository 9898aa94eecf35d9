// Finds content that is lost when a conversation is converted to another format. Converts it there and back, and compares the result with
// the original.

import type { ContentPart, Json } from "../../core/types/common.ts";
import type { AssistantMessage, AssistantPart, Message, ToolResultPart } from "../../core/types/message.ts";
import { assertNever, isRecord } from "../guards.ts";
import { isSameJson, toJson } from "../json.ts";
import { locateMedia, toBase64 } from "../media-source.ts";
import { partsOf } from "../transcript.ts";
import { type MediaForms, writeMedia } from "../adapters/write-media.ts";

/** Content that a conversion could not preserve. The content itself is not included. */
export interface LostContent {
  /** The 0-based index of the message in the given array. */
  readonly index: number;
  /** The path of the field within the message, such as "content[0].annotations". Empty for the whole message. */
  readonly field: string;
  /**
   * - "omitted": the result does not contain the content.
   * - "changed": the result contains the content in a different form or position.
   * - "added": only the result contains the content, because the history would otherwise be rejected.
   */
  readonly reason: "omitted" | "changed" | "added";
}

export interface Piece {
  readonly index: number;
  readonly field: string;
  readonly value: Json;
}

/**
 * Compares each piece with its value after a round trip through the conversion. Reports added content at the position of the preceding
 * piece.
 */
export function comparePieces(given: readonly Piece[], back: readonly Json[]): readonly LostContent[] {
  const lost: LostContent[] = [];
  let last = given[0];
  for (const [piece, value] of alignItems(given, back)) {
    last = piece ?? last;
    if (last === undefined) continue;
    const { index, field } = last;
    if (piece === undefined) lost.push({ index, field, reason: "added" });
    else if (value === undefined) lost.push({ index, field, reason: "omitted" });
    else compare(piece.value, value, { index, field, lost });
  }
  return lost;
}

interface Place {
  readonly index: number;
  readonly field: string;
  readonly lost: LostContent[];
}

function compare(given: Json, back: Json, place: Place): void {
  const { index, field, lost } = place;
  if (isSameJson(given, back)) return;
  if (Array.isArray(given) && Array.isArray(back)) compareLists(given, back, place);
  else if (isRecord(given) && isRecord(back)) compareFields(given, back, place);
  else lost.push({ index, field, reason: "changed" });
}

function compareLists(given: readonly Json[], back: readonly Json[], place: Place): void {
  const pieces = given.map((value, at) => ({ index: place.index, field: `${place.field}[${at}]`, value }));
  if (pieces.length === 0) place.lost.push({ index: place.index, field: place.field, reason: "added" });
  for (const lost of comparePieces(pieces, back)) place.lost.push(lost);
}

type Fields = { readonly [field: string]: Json | undefined };

function compareFields(given: Fields, back: Fields, { index, field, lost }: Place): void {
  for (const name of new Set([...Object.keys(given), ...Object.keys(back)])) {
    const path = field === "" ? name : `${field}.${name}`;
    const one = Object.hasOwn(given, name) ? given[name] : undefined;
    const other = Object.hasOwn(back, name) ? back[name] : undefined;
    if (one === undefined && other !== undefined) lost.push({ index, field: path, reason: "added" });
    else if (one !== undefined && other === undefined) lost.push({ index, field: path, reason: "omitted" });
    else if (one !== undefined && other !== undefined) compare(one, other, { index, field: path, lost });
  }
}

type Pair = readonly [piece: Piece | undefined, value: Json | undefined];

/** The maximum number of items to search for an equal value. Histories are untrusted and may be long. */
const searched = 32;

/** Pairs each piece with an equal value nearby, or else with the next value of the same kind. */
function alignItems(given: readonly Piece[], back: readonly Json[]): readonly Pair[] {
  const pairs: Pair[] = [];
  let at = 0;
  let other = 0;
  while (at < given.length || other < back.length) {
    const piece = given[at];
    const value = back[other];
    const step = piece === undefined ? "added" : value === undefined ? "omitted" : stepOf({ given, at, back, other });
    pairs.push([step === "added" ? undefined : piece, step === "omitted" ? undefined : value]);
    if (step !== "added") at += 1;
    if (step !== "omitted") other += 1;
  }
  return pairs;
}

interface Position {
  readonly given: readonly Piece[];
  readonly at: number;
  readonly back: readonly Json[];
  readonly other: number;
}

function stepOf({ given, at, back, other }: Position): "same" | LostContent["reason"] {
  const one = given[at]?.value;
  const two = back[other];
  if (isSameJson(one, two) || (at + 1 === given.length && other + 1 === back.length)) return "same";
  const laterGiven = given.slice(at + 1, at + searched).map(({ value }) => value);
  const laterBack = back.slice(other + 1, other + searched);
  if (laterGiven.some((value) => isSameJson(value, two))) return "omitted";
  if (laterBack.some((value) => isSameJson(value, one))) return "added";
  if (kindOf(one) === kindOf(two)) return "same";
  return laterBack.some((value) => kindOf(value) === kindOf(one)) ? "added" : "omitted";
}

function kindOf(value: Json | undefined): string {
  if (!isRecord(value)) return typeof value;
  const { type, role } = value;
  return `${typeof type === "string" ? type : ""}/${typeof role === "string" ? role : ""}`;
}

export interface MessageWire<Wire> {
  write(messages: readonly Message[]): readonly Wire[];
  read(wire: readonly Wire[]): readonly Message[];
  /** The roles whose consecutive messages become one message. */
  readonly joins: readonly Message["role"][];
  keepsMetadata(message: AssistantMessage): boolean;
}

export function findLostMessages<Wire>(messages: readonly Message[], wire: MessageWire<Wire>): readonly LostContent[] {
  const found = messages.flatMap((message, index) => {
    if (message.role === "tool") return [];
    const next = messages[index + 1];
    const unit = next?.role === "tool" ? [message, next] : [message];
    const given = unit.map((value, at) => ({ index: index + at, field: "", value: normalize(value) }));
    const lost = [...comparePieces(given, wire.read(wire.write(unit)).map(normalize))];
    const isJoined = messages[index - 1]?.role === message.role && wire.joins.includes(message.role);
    if (isJoined) lost.push({ index, field: "", reason: "changed" });
    if (losesMetadata(message, wire)) lost.push({ index, field: "providerMetadata", reason: "omitted" });
    return lost;
  });
  return found.sort((one, other) => one.index - other.index);
}

function losesMetadata(message: Message, { keepsMetadata }: Pick<MessageWire<unknown>, "keepsMetadata">): boolean {
  if (message.role !== "assistant" || message.providerMetadata === undefined) return false;
  return message.providerMetadata.length > 0 && !keepsMetadata(message);
}

/** Omits fields that do not matter in a comparison. */
export function omitFields(fields: object, isOmitted: (name: string, value: unknown) => boolean): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isOmitted(name, value)));
}

/** Removes insignificant differences, such as the one between a string and an array with one text part. */
function normalize(message: Message): Json {
  switch (message.role) {
    case "user":
      return toJson({ ...message, id: undefined, content: partsOf(message.content).map(normalizePart) });
    case "assistant":
      return toJson({ ...message, providerMetadata: undefined, content: message.content.map(normalizeCall) });
    case "tool":
      return toJson({ ...message, results: message.results.map(normalizeResult) });
    default:
      return assertNever(message);
  }
}

function normalizeCall(part: AssistantPart): object {
  if (part.type !== "tool-call" || part.providerCallId !== part.callId) return part;
  return { ...part, providerCallId: undefined };
}

function normalizeResult({ content = [], ...result }: ToolResultPart): object {
  return content.length === 0 ? result : { ...result, content: content.map(normalizePart) };
}

function normalizePart(part: ContentPart): object {
  if (part.type === "text") return part;
  const media = locateMedia(part);
  const { mediaType, kind, filename } = media;
  if (kind === "unreadable") return part;
  return { type: "media", mediaType, source: kind === "url" ? media.url : toBase64(media), filename };
}

/** Removes from user messages all images and files that an API does not support. */
export function keepFitting(messages: readonly Message[], forms: MediaForms<object>): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const content = message.content.filter((part) => part.type === "text" || typeof writeMedia(part, forms) === "object");
    return content.length === message.content.length ? message : { ...message, content };
  });
}
