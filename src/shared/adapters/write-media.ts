// Writes images and files in an API's format. An unsupported image or file causes an error in a user message, and becomes text in a tool
// result.

import { quote } from "../texts.ts";
import { locateMedia, type MediaPart, type MediaSource, type ReadableMedia } from "../media-source.ts";
import type { ProviderError } from "../../core/types/common.ts";
import { providerError } from "../errors/provider-error.ts";

/** A provider API's image and file formats. */
export interface MediaForms<Form> {
  /** Converts an image or a file. Returns undefined if the API does not support it. */
  write(media: ReadableMedia): Form | undefined;
  /** Describes the supported images and files, worded to follow "the service accepts" in error messages. */
  readonly takes: string;
}

/** The position of a content part in a request. */
export interface MediaPlace {
  /** The id of the provider that receives the request. */
  readonly provider: string;
  /** The 0-based index of the message. */
  readonly message: number;
  /** The 0-based index of the part within the message. */
  readonly part: number;
}

/**
 * Converts an image or a file in a user's message to a provider API's format. Throws ProviderError `bad-request` if the
 * API does not support it. The error message names the part, its type and the supported types, but contains no data.
 */
export function writeUserMedia<Form>(part: MediaPart, forms: MediaForms<Form>, place: MediaPlace): Form {
  const media = locateMedia(part);
  const form = media.kind === "unreadable" ? undefined : forms.write(media);
  if (form !== undefined) return form;
  throw refuseMedia(part, place, { problem: findProblem(media, forms), remedy: findRemedy(media) });
}

/** Creates the error for a user's image or file that cannot be sent. */
export function refuseMedia(
  part: MediaPart,
  { provider, message, part: position }: MediaPlace,
  { problem, remedy }: { readonly problem: string; readonly remedy: string },
): ProviderError {
  const found = `is ${describe(part)}, which cannot be sent to ${provider}: ${problem}.`;
  return providerError("bad-request", `Part ${position} of message ${message} ${found} ${remedy}`);
}

/**
 * Converts an image or a file to a provider API's format. If the API does not support it, returns text for the model, because an error
 * would occur again in every later request. Unsupported parts of new user messages never reach this function, because `createMediaFitter`
 * refuses them.
 */
export function writeMedia<Form extends object>(part: MediaPart, forms: MediaForms<Form>): Form | string {
  const media = locateMedia(part);
  const form = media.kind === "unreadable" ? undefined : forms.write(media);
  return form ?? describeMedia(part, "tool", findProblem(media, forms));
}

/** Returns the text that the model reads instead of an image or a file. */
export function describeMedia(part: MediaPart, from: "tool" | "user", problem: string): string {
  const sent = from === "tool" ? "The tool returned" : "The user sent";
  return `[${sent} ${describe(part)}, which cannot be shown to you: ${problem}.]`;
}

const mediaTypePattern = /^[\w.+-]{1,64}\/[\w.+*-]{1,128}$/;

function describe(part: MediaPart): string {
  const media = locateMedia(part);
  const { mediaType } = media;
  // Quotes an unusual media type, because one from a tool server may contain any text.
  const shown = mediaTypePattern.test(mediaType) ? mediaType : quote(mediaType);
  const place = media.kind === "url" ? ` at a URL with the scheme "${media.scheme}:"` : "";
  const name = media.filename === undefined ? "" : ` ${quote(media.filename)}`;
  return `${part.type === "image" ? "an image" : "a file"}${name} of type ${shown}${place}`;
}

export function findProblem(media: MediaSource, { takes }: Pick<MediaForms<unknown>, "takes">): string {
  return media.kind === "unreadable" ? media.why : `the service accepts ${takes}`;
}

export function findRemedy({ kind }: MediaSource): string {
  if (kind === "unreadable") return "Send the bytes as base64.";
  return kind === "url" ? "Download it, and send the bytes as base64 in one of these types." : "Send it as one of these types.";
}
