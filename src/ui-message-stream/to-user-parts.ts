import { locateMedia, type UserPart } from "../core/entry-kit.ts";
import type { UIUserPart } from "./ui-message-chunk.ts";

/** Converts the content of a user message to the parts of a UI message. */
export function toUserParts(content: string | readonly UserPart[]): UIUserPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const media = locateMedia(part);
    const { mediaType } = media;
    if (media.kind === "url") return { type: "file", mediaType, url: media.url };
    if (media.kind === "base64") return { type: "file", mediaType, url: `data:${mediaType};base64,${media.data}` };
    return { type: "file", mediaType, url: typeof part.data === "string" ? part.data : part.data.href };
  });
}
