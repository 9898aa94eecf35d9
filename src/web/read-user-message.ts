// Reads the new user message in a web page's request. Limits its length and files, because the page is not trusted.

import { type Checks, is, timeLimit } from "../shared/errors/check-fields.ts";
import type { UserPart } from "../core/types/common.ts";
import type { UserMessage } from "../core/index.ts";
import { isRecord, type UnknownRecord } from "../shared/guards.ts";
import { isMediaTypeOf, isOnWeb, isVagueType, locateMedia } from "../shared/media-source.ts";
import { takeStart } from "../shared/texts.ts";
import type { PageAnswer } from "./page-values.ts";
import { type BodyLimits, RequestError } from "./read-request-body.ts";
import { sseChecks } from "./sse-lines.ts";

/** The limits for a request from a web page. */
export interface RequestLimits extends BodyLimits {
  /** The maximum number of text characters in the new message. Default 100,000. */
  readonly maxTextChars?: number | undefined;
  /** The allowed media types of files, such as "application/pdf", "image/*" or "*". Default: PNG, JPEG, GIF, WebP and PDF. */
  readonly allowedMediaTypes?: readonly string[] | undefined;
  /** The maximum number of files in the new message. Default 10. */
  readonly maxFiles?: number | undefined;
  /**
   * Set to true to allow http(s) URLs for files. The library does not fetch these URLs, but the model service or your tools may
   * fetch them. Default false: only data URLs are allowed.
   */
  readonly allowWebUrls?: boolean | undefined;
  /**
   * Set to false if the user of this page may not decide whether waiting calls run, for example because a colleague has to. A request that
   * approves, edits or denies a call then throws RequestError with status 403; results and answers to questions are accepted. Default true.
   */
  readonly allowDecisions?: boolean | undefined;
}

/** A user message as sent by a web page. */
export interface PageMessage extends UserMessage {
  /**
   * The id of the answer that a new answer to this message replaces, or true if the page does not know that id. A host then removes all
   * messages after this message. The field is not stored. Default: no new answer.
   */
  readonly again?: string | true | undefined;
  /**
   * True if the user has edited this message. A host then replaces the message with the same id, and removes all messages after it.
   * The field is not stored. Default false.
   */
  readonly edited?: true | undefined;
}

export const requestChecks: Checks<RequestLimits> = {
  maxBytes: { min: 1 },
  bodyMs: timeLimit,
  clock: sseChecks.clock,
  maxTextChars: { min: 1 },
  allowedMediaTypes: is.texts,
  maxFiles: { min: 0 },
  allowWebUrls: is.flag,
  allowDecisions: is.flag,
};

/** Throws RequestError if a page has decided whether a call runs, and may not. */
export function checkAnswers(answers: { readonly [id: string]: PageAnswer }, { allowDecisions }: RequestLimits): void {
  if (allowDecisions === false && Object.values(answers).some(({ kind }) => kind !== "result" && kind !== "failed"))
    throw new RequestError(403, "This page may not decide whether a call runs.");
}

const mediaTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
const maxIdLength = 500;
const maxNameLength = 500;

/**
 * Returns the id of a page's last message. Returns undefined if an earlier message has the same id, because the id then identifies neither.
 */
function readMessageId(messages: readonly unknown[]): string | undefined {
  const last = messages.at(-1);
  const id = readId(isRecord(last) ? last.id : undefined, "id of the last message");
  const isUnique = messages.slice(0, -1).every((message) => !isRecord(message) || message.id !== id);
  return isUnique ? id : undefined;
}

export function readId(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= maxIdLength) return value;
  throw new RequestError(400, `The ${field} must be a string of 1 to ${maxIdLength} characters.`);
}

export function readNeeded(value: unknown, field: string): string {
  const id = readId(value, `"${field}"`);
  if (id === undefined) throw new RequestError(400, `The request body has no "${field}".`);
  return id;
}

/** Returns the fields of a request body that contains the page's history. */
export function readChatBody(body: unknown): UnknownRecord & { readonly messages: readonly unknown[] } {
  if (!isRecord(body) || Array.isArray(body)) throw new RequestError(400, "The request body is not an object.");
  const { messages } = body;
  if (!Array.isArray(messages)) throw new RequestError(400, 'The request body has no "messages" array.');
  return { ...body, messages };
}

/**
 * Creates a user message from the last of `messages`, whose parts are `given`: `{ type: "text", text }` and `{ type: "file", mediaType,
 * url }`. Ignores other parts. Throws RequestError if a part is invalid or a limit is exceeded.
 */
export function readUserMessage(messages: readonly unknown[], given: readonly unknown[], limits: RequestLimits): UserMessage {
  const id = readMessageId(messages);
  const { maxFiles = 10, maxTextChars = 100_000 } = limits;
  const parts = given.flatMap((part) => readPart(part, limits));
  if (parts.length === 0) throw new RequestError(400, "The last message has neither text nor files.");
  const files = parts.filter(({ type }) => type !== "text");
  if (files.length > maxFiles) throw new RequestError(413, `The message has more than ${maxFiles} files.`);
  const chars = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (chars > maxTextChars) throw new RequestError(413, `The message has more than ${maxTextChars} characters of text.`);
  const [first] = parts;
  const content = parts.length === 1 && first?.type === "text" ? first.text : parts;
  return { role: "user", content, ...(id !== undefined && { id }) };
}

function readPart(part: unknown, limits: RequestLimits): readonly UserPart[] {
  if (!isRecord(part)) throw new RequestError(400, "A part in the last message is not an object.");
  if (part.type === "file") return [readFile(part, limits)];
  if (part.type !== "text") return [];
  if (typeof part.text !== "string") throw new RequestError(400, 'A part in the last message has a "text" that is not a string.');
  return part.text === "" ? [] : [{ type: "text", text: part.text }];
}

function readFile({ mediaType, url, filename }: UnknownRecord, limits: RequestLimits): UserPart {
  const { allowWebUrls, allowedMediaTypes = mediaTypes } = limits;
  if (typeof mediaType !== "string" || typeof url !== "string")
    throw new RequestError(400, "A file in the last message has no media type or no URL. Both must be strings.");
  const media = locateMedia({ type: "file", mediaType, data: url });
  if (media.kind === "unreadable") throw new RequestError(400, `A file in the last message cannot be used: ${media.why}.`);
  const isOnline = media.kind === "url" && isOnWeb(media);
  if (!/^data:/i.test(url) && !(allowWebUrls && isOnline))
    throw new RequestError(
      415,
      `The URL of each file in the last message must be a data URL${allowWebUrls ? " or an http(s) URL" : ""}.`,
    );
  checkTypes(media.mediaType, { mediaType, url }, allowedMediaTypes);
  const type = media.mediaType.startsWith("image/") ? "image" : "file";
  return { type, mediaType: media.mediaType, data: url, ...toName(filename) };
}

/**
 * Checks that a file's media types are allowed: the type from its data URL, or else from the `mediaType` field, and the type detected from
 * its bytes. Only the detected type counts if the browser did not know the type, as for .md files.
 */
function checkTypes(
  recognized: string,
  { mediaType, url }: { readonly mediaType: string; readonly url: string },
  allowedTypes: readonly string[],
): void {
  const given = (/^data:([^;,]+)/i.exec(url)?.[1] ?? mediaType).trim();
  const types = isVagueType(given) && recognized === "text/plain" ? [recognized] : [given, recognized];
  const isAllowed = types.every((type) => allowedTypes.some((allowed) => isMediaTypeOf(type, allowed)));
  if (!isAllowed) throw new RequestError(415, "A file in the last message has a media type that is not allowed.");
}

function toName(filename: unknown): { readonly filename?: string } {
  return typeof filename === "string" && filename !== "" ? { filename: takeStart(filename, maxNameLength) } : {};
}
