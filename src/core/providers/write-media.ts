// Images and files in the format of an API. If the format does not support one, a user's part is an error for the caller, and a
// tool's part becomes text for the model.

import { quote } from "../utils/texts.ts";
import { locateMedia, type MediaPart, type MediaSource, type ReadableMedia } from "../utils/media-source.ts";
import { providerError } from "../errors/provider-error.ts";

/** Writes images and files in the format of an API. */
export interface MediaForms<Form> {
  /** Returns the form of a medium; undefined if the format has none. */
  write(media: ReadableMedia): Form | undefined;
  /** All supported media, in words that follow "takes". */
  readonly takes: string;
}

/** The position of a part in a request. */
export interface MediaPlace {
  /** The id of the provider of the request. */
  readonly provider: string;
  /** The 0-based index of its message. */
  readonly message: number;
  /** The 0-based index in the message. */
  readonly part: number;
}

/**
 * Writes an image or a file of a user's message in the format of an API. Throws ProviderError `bad-request` if the format does
 * not support it. The error message names the part, its type and the supported types, but none of its data.
 */
export function writeUserMedia<Form>(part: MediaPart, forms: MediaForms<Form>, place: MediaPlace): Form {
  const media = locateMedia(part);
  const form = media.kind === "unreadable" ? undefined : forms.write(media);
  if (form !== undefined) return form;
  const { provider, message, part: position } = place;
  const problem = `is ${describe(part, media)}, which cannot be sent to ${provider}: ${findProblem(media, forms)}.`;
  throw providerError("bad-request", `Part ${position} of message ${message} ${problem} ${findRemedy(media)}`);
}

/**
 * Writes an image or a file that a tool returned. If the format does not support it, returns text for the model, because an error
 * would repeat with every later request.
 */
export function writeToolMedia<Form extends object>(part: MediaPart, forms: MediaForms<Form>): Form | string {
  const media = locateMedia(part);
  const form = media.kind === "unreadable" ? undefined : forms.write(media);
  return form ?? `[The tool returned ${describe(part, media)}, which cannot be shown to you: ${findProblem(media, forms)}.]`;
}

const mediaTypePattern = /^[\w.+-]{1,64}\/[\w.+*-]{1,128}$/;

function describe({ type }: MediaPart, media: MediaSource): string {
  const { mediaType } = media;
  // Media types may come from tool servers, and the model reads this.
  const shown = mediaTypePattern.test(mediaType) ? mediaType : quote(mediaType);
  const place = media.kind === "url" ? ` at a URL with the scheme "${media.scheme}:"` : "";
  return `${type === "image" ? "an image" : "a file"} of type ${shown}${place}`;
}

function findProblem(media: MediaSource, { takes }: Pick<MediaForms<unknown>, "takes">): string {
  return media.kind === "unreadable" ? media.why : `the service takes ${takes}`;
}

function findRemedy({ kind }: MediaSource): string {
  if (kind === "unreadable") return "Send its bytes in base64.";
  return kind === "url" ? "Read it, and send its bytes in base64 as one of these." : "Send it as one of these.";
}
