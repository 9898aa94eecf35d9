// Content that users and tools hand to the model, as parts of the Responses wire.

import { isOnWeb, isTextType, type MediaForms, type MediaPart, writeToolMedia, writeUserMedia } from "../core/provider-kit.ts";
import type { ContentPart, MediaPlace } from "../core/provider-kit.ts";
import { toDataUrl, toImageUrl } from "./media-url.ts";
import type { InputItem } from "./responses-wire.ts";

/** A user's content: text alone stays a string. Throws a ProviderError `bad-request` for what the wire has no form for. */
export function toInputContent(
  content: string | readonly ContentPart[],
  place: Omit<MediaPlace, "part">,
): string | readonly InputItem[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  if (content.length === 1 && first.type === "text") return first.text;
  return content.map((part, index) =>
    part.type === "text" ? { type: "input_text", text: part.text } : writeUserMedia(part, inputMedia, { ...place, part: index }),
  );
}

/** What a tool has returned beside its result; in words where the wire has no form for it. */
export function toResultMedia(part: MediaPart): InputItem | string {
  return writeToolMedia(part, inputMedia);
}

/** Files of office programs that the service reads, and how their names end (https://developers.openai.com/api/docs/guides/file-inputs). */
const endings: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/rtf", "rtf"],
  ["application/vnd.oasis.opendocument.text", "odt"],
  ["application/vnd.apple.pages", "pages"],
  ["application/vnd.ms-powerpoint", "ppt"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
  ["application/vnd.apple.keynote", "key"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/plain", "txt"],
]);

const inputMedia: MediaForms<InputItem> = {
  takes: "images, PDFs, texts and files of office programs, in base64 or at https: or http: URLs",
  write(media) {
    const image = toImageUrl(media);
    if (image !== undefined) return { type: "input_image", image_url: image, detail: "auto" };
    const ending = endingOf(media.mediaType);
    if (media.kind !== "url") {
      return ending === undefined ? undefined : { type: "input_file", filename: `file.${ending}`, file_data: toDataUrl(media) };
    }
    // What the service fetches it looks at itself, where the type is not known.
    const isKnown = ending !== undefined || media.mediaType === "application/octet-stream";
    return isKnown && isOnWeb(media) ? { type: "input_file", file_url: media.url } : undefined;
  },
};

/** The wire wants a name with a file, and neutral files have none. Undefined for files that the service does not read. */
function endingOf(mediaType: string): string | undefined {
  const known = endings.get(mediaType);
  if (known !== undefined || !isTextType(mediaType)) return known;
  return /^[\w.+-]+\/(?:x-)?([\w-]{1,32})/.exec(mediaType)?.[1] ?? "txt";
}
