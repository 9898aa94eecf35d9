// Adapts a request's images and files to the service's limits, because each request repeats the whole history, and one refused image would
// make all later requests fail.

import type { ContentPart } from "../../core/types/common.ts";
import type { Message, ToolMessage, UserMessage } from "../../core/types/message.ts";
import type { ModelRequest } from "../../core/types/provider.ts";
import { readImageSize } from "../image-size.ts";
import { isTextType, locateMedia, type MediaPart, type MediaSource } from "../media-source.ts";
import { memoize } from "../promises.ts";
import { describeMedia, findProblem, findRemedy, type MediaForms, refuseMedia } from "./write-media.ts";

/** A service's limits on images and files. Unknown limits are absent. */
export interface MediaLimits {
  /** The media types of images that the service accepts. Default: the types that the API accepts. */
  readonly imageTypes?: readonly string[] | undefined;
  /** The media types of other files that the service accepts, apart from text. Default: the types that the API accepts. */
  readonly fileTypes?: readonly string[] | undefined;
  /** True if the service accepts only base64, not URLs. */
  readonly noUrls?: true | undefined;
  /** The maximum lengths of one image and of one file as base64, in characters. */
  readonly maxImageLength?: number | undefined;
  readonly maxFileLength?: number | undefined;
  /** The maximum width and height of an image, in pixels. */
  readonly maxSide?: number | undefined;
  /** The maximum number of images and files in a request. */
  readonly maxCount?: number | undefined;
  /** The maximum total length of all images and files in a request as base64, in characters. */
  readonly maxTotal?: number | undefined;
  /** A stricter `maxSide`, for requests with more than `count` images and files. */
  readonly many?: { readonly count: number; readonly maxSide: number } | undefined;
}

interface MediaRules {
  readonly forms: MediaForms<unknown>;
  readonly limits: MediaLimits | undefined;
  /** The provider's id, for error messages. */
  readonly id: string;
}

/** An image or a file, and its position in a message. */
interface Found {
  readonly part: MediaPart;
  /** The index of the result in a tool message. Undefined in a user message. */
  readonly result: number | undefined;
  /** The index of the part in the content. */
  readonly index: number;
}

export interface Placed extends Found {
  readonly message: number;
  /**
   * True for a part of the newest user message, if the model has not answered it. An earlier one stays in a conversation whose run has
   * failed because of it, and would make all later runs fail too (github.com/willdady/platypus/issues/328).
   */
  readonly isNew: boolean;
}

/** Why the service refuses a part, and what the caller can do. */
interface Problem {
  readonly problem: string;
  readonly remedy: string;
}

interface Measured {
  readonly refused: Problem | undefined;
  /** The length as base64, or 0 for a URL. */
  readonly length: number;
  /** The longer side in pixels, or 0 if it is unknown. */
  readonly side: number;
}

/**
 * Creates a function that adapts a request's images and files. Each one that the service refuses is replaced with text that tells the model
 * what is missing and why. If all of them together exceed a limit, the oldest are replaced.
 *
 * For an image or a file in a new user message, throws ProviderError `bad-request` instead.
 */
export function createMediaFitter({ forms, limits = {}, id }: MediaRules): (request: ModelRequest) => ModelRequest {
  const measure = memoize((part: MediaPart) => measureMedia(part, forms, limits));
  const replace = createReplacer();
  return (request) => {
    const placed = placeMedia(request.messages);
    const refused = new Map<Placed, Problem>();
    const accepted = placed.filter((found) => {
      const problem = measure(found.part).refused;
      if (problem !== undefined) refused.set(found, problem);
      return problem === undefined;
    });
    for (const { count, ...problem } of findExcess(
      accepted.map(({ part }) => measure(part)),
      limits,
    )) {
      for (const found of accepted.slice(0, count)) refused.set(found, problem);
    }
    for (const [{ part, isNew, message, index }, problem] of refused) {
      if (isNew) throw refuseMedia(part, { provider: id, message, part: index }, problem);
    }
    if (refused.size === 0) return request;
    const problems = new Map([...refused].map(([found, { problem }]) => [found, problem]));
    return { ...request, messages: replace(request.messages, problems) };
  };
}

/** Lists the images and files of all user and tool messages, in order. */
export function placeMedia(messages: readonly Message[]): readonly Placed[] {
  const newest = messages.findLastIndex(({ role }) => role !== "tool");
  const placed: Placed[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "assistant") continue;
    for (const found of listMedia(message)) placed.push({ ...found, message: at, isNew: at === newest });
  }
  return placed;
}

const listMedia = /* @__PURE__ */ memoize((message: UserMessage | ToolMessage): readonly Found[] => {
  if (message.role === "user") return mediaIn(message.content, undefined);
  return message.results.flatMap(({ content = [] }, result) => mediaIn(content, result));
});

function mediaIn(content: string | readonly ContentPart[], result: number | undefined): readonly Found[] {
  if (typeof content === "string") return [];
  return content.flatMap((part, index) => (part.type === "text" ? [] : [{ part, result, index }]));
}

function measureMedia(part: MediaPart, forms: MediaForms<unknown>, limits: MediaLimits): Measured {
  const media = locateMedia(part);
  const length = media.kind === "base64" ? media.data.length : media.kind === "text" ? media.text.length : 0;
  const size = media.kind === "base64" ? readImageSize(media.data, media.mediaType) : undefined;
  const side = size === undefined ? 0 : Math.max(size.width, size.height);
  const kind = findKindProblem(media, forms, limits);
  if (kind !== undefined) return { refused: { problem: kind, remedy: findRemedy(media) }, length, side };
  const maxLength = isImage(media) ? limits.maxImageLength : limits.maxFileLength;
  const long = findTooLarge(`${length} characters as base64`, length, maxLength);
  const large = size && findTooLarge(`${size.width} x ${size.height} pixels`, side, limits.maxSide);
  const problem = long ?? large;
  return { refused: problem === undefined ? undefined : { problem, remedy: "Send a smaller one." }, length, side };
}

function findTooLarge(extent: string, value: number, most = Number.POSITIVE_INFINITY): string | undefined {
  return value > most ? `it has ${extent}, and the service accepts at most ${most}` : undefined;
}

function findKindProblem(
  media: MediaSource,
  forms: MediaForms<unknown>,
  { imageTypes, fileTypes, noUrls }: MediaLimits,
): string | undefined {
  if (media.kind === "unreadable" || forms.write(media) === undefined) return findProblem(media, forms);
  if (noUrls === true && media.kind === "url") return "the service accepts no URLs";
  const { mediaType } = media;
  const [kinds, types] = isImage(media) ? ["images", imageTypes] : ["files", isTextType(mediaType) ? undefined : fileTypes];
  if (types?.length === 0) return `the service accepts no ${kinds}`;
  if (types === undefined || mediaType === "image/*" || types.includes(mediaType)) return undefined;
  return `the service accepts ${kinds} of the types ${types.join(", ")}`;
}

export function isImage({ mediaType }: MediaSource): boolean {
  return mediaType.startsWith("image/");
}

interface Excess extends Problem {
  /** The number of images and files to replace, oldest first. */
  readonly count: number;
}

function findExcess(all: readonly Measured[], { maxCount, maxTotal, many }: MediaLimits): readonly Excess[] {
  const found: Excess[] = [];
  const drop = (weights: readonly number[], most: number, problem: string): void => {
    const count = countExcess(weights, most);
    if (count > 0) found.push({ count, problem, remedy: "Send fewer or smaller ones." });
  };
  const ones = all.map(() => 1);
  if (maxCount !== undefined) drop(ones, maxCount, `the service accepts at most ${maxCount} images and files in a request`);
  if (many !== undefined && all.some(({ side }) => side > many.maxSide)) {
    const problem = `with more than ${many.count} images and files, the service accepts at most ${many.maxSide} pixels on each side`;
    drop(ones, many.count, problem);
  }
  if (maxTotal !== undefined) {
    const problem = `the service accepts at most ${maxTotal} characters of base64 in a request`;
    drop(
      all.map(({ length }) => length),
      maxTotal,
      problem,
    );
  }
  return found;
}

/**
 * Returns how many of the first weights to remove, so that the rest add up to at most `most`. Removes at least a quarter of `most` at a
 * time. If each request removed one more item, no request could use the prompt cache.
 */
function countExcess(weights: readonly number[], most: number): number {
  const step = most / 4;
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const surplus = Math.ceil((sum - most) / step) * step;
  let removed = 0;
  let count = 0;
  while (removed < surplus) removed += weights[count++] ?? surplus;
  return count;
}

interface Replacement extends Found {
  readonly text: string;
}

type Replacer = (messages: readonly Message[], problems: ReadonlyMap<Placed, string>) => readonly Message[];

/**
 * Creates a function that replaces images and files with text, which says why. Equal replacements return the same object, because
 * adapters cache what they build from a message.
 */
export function createReplacer(): Replacer {
  const copies = new WeakMap<Message, { readonly key: string; readonly copy: Message }>();
  const copyOf = (message: Message, replacements: readonly Replacement[]): Message => {
    const key = JSON.stringify(replacements.map(({ result, index, text }) => [result, index, text]));
    const known = copies.get(message);
    const made = known?.key === key ? known : { key, copy: withTexts(message, replacements) };
    copies.set(message, made);
    return made.copy;
  };
  return (messages, problems) => {
    const found = [...problems].map(([place, problem]) => {
      const from = place.result === undefined ? "user" : "tool";
      return { ...place, text: describeMedia(place.part, from, problem) };
    });
    const changed = new Set(found.map(({ message }) => message));
    return messages.map((message, at) =>
      changed.has(at)
        ? copyOf(
            message,
            found.filter((one) => one.message === at),
          )
        : message,
    );
  };
}

function withTexts(message: Message, replacements: readonly Replacement[]): Message {
  const write = (content: readonly ContentPart[], at: number | undefined): readonly ContentPart[] =>
    content.map((part, position) => {
      const found = replacements.find(({ result, index }) => result === at && index === position);
      return found === undefined ? part : { type: "text", text: found.text };
    });
  if (message.role === "tool") {
    const results = message.results.map((part, at) => ({ ...part, content: part.content && write(part.content, at) }));
    return { ...message, results };
  }
  return message.role === "user" && typeof message.content !== "string"
    ? { ...message, content: write(message.content, undefined) }
    : message;
}
