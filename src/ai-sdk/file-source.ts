// Images and files of neutral messages, and whether a model takes them from where they are.

import { isRecord, type MediaForms, type ReadableMedia, toBase64 } from "../core/provider-kit.ts";
import type { PromptPart } from "./model-wire.ts";
import type { FileFacts, SpecWords } from "./spec-words.ts";

/** What a model makes of images and files, in a user's message and in the result of a tool. */
export interface FileForms {
  readonly user: MediaForms<PromptPart>;
  readonly result: MediaForms<PromptPart>;
}

/** Makes the forms for a model that takes the URLs of `urls`. Which types it takes its package alone knows, and it refuses the others. */
export function createFileForms(words: SpecWords, urls: unknown): FileForms {
  const takes = "files in base64, and at some URLs only";
  const forms = (write: (file: FileFacts) => PromptPart | undefined): MediaForms<PromptPart> => ({
    takes,
    write: (media) => {
      const file = toFile(media);
      return takesFile(urls, file) ? write(file) : undefined;
    },
  });
  return {
    user: forms(({ mediaType, source }) => ({ type: "file", mediaType, data: words.toFileData(source) })),
    result: forms((file) => words.toResultFile(file)),
  };
}

function toFile(media: ReadableMedia): FileFacts {
  const { mediaType } = media;
  if (media.kind !== "url") return { mediaType, source: { kind: "base64", data: toBase64(media) } };
  return { mediaType, source: { kind: "url", text: media.url, url: new URL(media.url) } };
}

/**
 * Whether a model takes a file from where it is. Its patterns stand under media types, which may end in an asterisk or be one, and are made
 * for lower-case URLs.
 */
function takesFile(patterns: unknown, { mediaType, source }: FileFacts): boolean {
  if (source.kind === "base64") return true;
  if (!isRecord(patterns)) return false;
  const spellings = [source.text, source.text.toLowerCase()];
  return Object.entries(patterns).some(
    ([key, list]) =>
      isMediaTypeOf(mediaType, key.toLowerCase()) &&
      Array.isArray(list) &&
      // `search` does not keep a position between calls, as `test` does for some patterns.
      list.some((pattern: unknown) => pattern instanceof RegExp && spellings.some((url) => url.search(pattern) !== -1)),
  );
}

function isMediaTypeOf(mediaType: string, key: string): boolean {
  if (key === "*" || key === "*/*") return true;
  return key.endsWith("/*") ? mediaType.startsWith(key.slice(0, -1)) : mediaType === key;
}
