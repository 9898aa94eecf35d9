// Images and files on a wire. Of what a wire has no form for, the caller is told in an error where it came from a user, and the model in
// words where it came from a tool.

import { quote } from "../utils/texts.ts";
import { locateMedia, type MediaPart, type MediaSource, type ReadableMedia } from "../utils/media-source.ts";
import { providerError } from "../errors/provider-error.ts";

/** Writes images and files for a wire. */
export interface MediaForms<Form> {
  /** The form of some media; undefined where the wire has none. */
  write(media: ReadableMedia): Form | undefined;
  /** All that it has a form for, in words that follow "takes". */
  readonly takes: string;
}

/** The place of a part in a request. */
export interface MediaPlace {
  /** The id of the provider that is to be asked. */
  readonly provider: string;
  /** The position of its message, counted from 0. */
  readonly message: number;
  /** Its own position in the message, counted from 0. */
  readonly part: number;
}

/**
 * Writes an image or a file of a user's message in the form of a wire. Throws ProviderError `bad-request` if the wire has no form for it.
 * The message names the part, its type and what would be accepted, and nothing of its data.
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
 * Writes an image or a file that a tool returned. If the wire has no form for it, returns words for the model: an error would come back with
 * every later request.
 */
export function writeToolMedia<Form extends object>(part: MediaPart, forms: MediaForms<Form>): Form | string {
  const media = locateMedia(part);
  const form = media.kind === "unreadable" ? undefined : forms.write(media);
  return form ?? `[The tool returned ${describe(part, media)}, which cannot be shown to you: ${findProblem(media, forms)}.]`;
}

const mediaTypePattern = /^[\w.+-]{1,64}\/[\w.+*-]{1,128}$/;

function describe({ type }: MediaPart, media: MediaSource): string {
  const { mediaType } = media;
  // Types come from servers of tools as well, and the model reads this.
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
