// The text and the files of a user message.

import { isOnWeb, isRecord, listOf, locateMedia, type UserMessage, type UserPart } from "../core/entry-kit.ts";
import { UIRequestError } from "./ui-request-error.ts";

/** Limits of a user message. */
export interface UserMessageLimits {
  readonly maxTextChars: number;
  readonly allowedMediaTypes: readonly string[];
  readonly maxFiles: number;
  readonly allowWebUrls: boolean;
}

/** Reads the text and the files of a message of the page. Other parts, such as those of tools, are ignored. */
export function readUserMessage(message: unknown, limits: UserMessageLimits): UserMessage {
  const parts = isRecord(message) ? listOf(message.parts).flatMap((part) => readPart(part, limits)) : [];
  if (parts.length === 0) throw new UIRequestError(400, "The last message has neither text nor files.");
  const files = parts.filter(({ type }) => type !== "text");
  if (files.length > limits.maxFiles) throw new UIRequestError(413, `The message has more than ${limits.maxFiles} files.`);
  const chars = parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  if (chars > limits.maxTextChars)
    throw new UIRequestError(413, `The message has more than ${limits.maxTextChars} characters of text.`);
  const [first] = parts;
  const content = parts.length === 1 && first?.type === "text" ? first.text : parts;
  return { role: "user", content };
}

function readPart(part: unknown, limits: UserMessageLimits): readonly UserPart[] {
  if (!isRecord(part)) throw new UIRequestError(400, "A part of the last message is not an object.");
  if (part.type === "file") return [readFile(part, limits)];
  if (part.type !== "text") return [];
  if (typeof part.text !== "string") throw new UIRequestError(400, "A text of the last message is not a string.");
  return part.text === "" ? [] : [{ type: "text", text: part.text }];
}

function readFile({ mediaType, url }: { readonly [field: string]: unknown }, limits: UserMessageLimits): UserPart {
  if (typeof mediaType !== "string" || typeof url !== "string")
    throw new UIRequestError(400, "A file of the last message has no media type or no URL.");
  const media = locateMedia({ type: "file", mediaType, data: url });
  if (media.kind === "unreadable") throw new UIRequestError(400, `A file of the last message cannot be used: ${media.why}.`);
  const isData = /^data:/i.test(url);
  const isAllowed = isData || (limits.allowWebUrls && media.kind === "url" && isOnWeb(media));
  if (!isAllowed)
    throw new UIRequestError(
      415,
      `A file of the last message must come as a data URL${limits.allowWebUrls ? " or from the web" : ""}.`,
    );
  // The type of the bytes counts, not the one beside them.
  if (!limits.allowedMediaTypes.some((allowed) => matches(media.mediaType, allowed)))
    throw new UIRequestError(415, "A file of the last message has a media type that is not allowed.");
  return { type: media.mediaType.startsWith("image/") ? "image" : "file", mediaType: media.mediaType, data: url };
}

/** True if a media type is the allowed one, or one of a group such as "image/*". */
function matches(mediaType: string, allowed: string): boolean {
  const type = mediaType.toLowerCase();
  const rule = allowed.toLowerCase();
  return rule.endsWith("/*") ? type.startsWith(rule.slice(0, -1)) : type === rule;
}
