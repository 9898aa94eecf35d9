// Finds the content of a transcript that another format cannot hold.

import type { ContentPart } from "../types/common.ts";
import type { Json } from "../types/json.ts";
import type { AssistantMessage, AssistantPart, Message, ToolResultPart, UserMessage } from "../types/message.ts";
import { assertNever } from "../utils/guards.ts";
import { toJson } from "../utils/json.ts";
import { locateMedia, type MediaPart, toBase64 } from "../utils/media-source.ts";
import { comparePieces, type LostContent } from "./find-lost.ts";

/** Writes and reads messages in another format. */
export interface MessageWire<Wire> {
  write(messages: readonly Message[]): readonly Wire[];
  read(wire: readonly Wire[]): readonly Message[];
  /** The roles whose consecutive messages the format joins. */
  readonly joins: readonly Message["role"][];
  /** True if the format holds the provider metadata of the message. */
  keepsMetadata(message: AssistantMessage): boolean;
}

/** Writes each message, reads it again, and compares both. */
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

/** Removes differences in form that have no meaning, such as a string and an array with one text. */
function normalize(message: Message): Json {
  switch (message.role) {
    case "user":
      return toJson({ ...message, content: toParts(message.content).map(normalizePart) });
    case "assistant":
      return toJson({ ...message, providerMetadata: undefined, content: message.content.map(normalizeCall) });
    case "tool":
      return toJson({ ...message, results: message.results.map(normalizeResult) });
    default:
      return assertNever(message);
  }
}

function toParts(content: UserMessage["content"]): readonly ContentPart[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
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
  const { mediaType, kind } = media;
  if (kind === "unreadable") return part;
  return { type: "media", mediaType, source: kind === "url" ? media.url : toBase64(media) };
}

/** Removes the images and files of user messages that a format cannot hold. `fits` may throw for such a part. */
export function keepFitting(messages: readonly Message[], fits: (part: MediaPart) => unknown): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const content = message.content.filter((part) => part.type === "text" || canWrite(part, fits));
    return content.length === message.content.length ? message : { ...message, content };
  });
}

function canWrite(part: MediaPart, fits: (part: MediaPart) => unknown): boolean {
  try {
    fits(part);
    return true;
  } catch {
    return false;
  }
}
