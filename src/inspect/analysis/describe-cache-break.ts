import type { CacheBreakCause } from "./cache-break.ts";
import { countThings, formatCount, formatMs, joinTexts } from "../format.ts";
import type { CacheBreak } from "./find-cache-breaks.ts";

/** The maximum number of causes in a sentence. A request may add or remove dozens of tools. */
const maxCauses = 5;

/**
 * Describes a cache break in one or two sentences.
 *
 * @example "The prompt cache broke here: the tools were reordered. 41,200 of 52,000 characters of the prefix were lost."
 */
export function describeCacheBreak(found: CacheBreak): string {
  const { causes, lostChars, prefixChars, afterMs } = found;
  const other = otherRequest(found);
  if (isUnread(found))
    return `The prefix is the same, but the service read 0 tokens, ${formatMs(afterMs)} after ${other ?? "the previous request"}: its cache entry may have expired.`;
  const more = causes.length - maxCauses;
  const texts = causes.slice(0, maxCauses).map(describeCause);
  const list = joinTexts(more > 0 ? [...texts, `${countThings(more, "more change")} followed`] : texts);
  const reasons = other === undefined ? list : `since ${other}, ${list}`;
  if (isUncertain(found)) return `The prompt cache may be broken here, depending on the service: ${reasons}.`;
  const lost = `${formatCount(lostChars)} of ${formatCount(prefixChars)} characters of the prefix were lost.`;
  return `The prompt cache broke here: ${reasons}. ${lost}`;
}

/**
 * Describes a cache break in a few words.
 *
 * @example "cache broke: the tools were reordered"
 */
export function summarizeCacheBreak(found: CacheBreak): string {
  if (isUnread(found)) return "cache not read";
  const more = found.causes.length - 1;
  const verb = isUncertain(found) ? "cache may be broken" : "cache broke";
  return `${verb}: ${describeCause(found.causes[0])}${more === 0 ? "" : `, ${countThings(more, "more change")}`}`;
}

/** True if the request's prefix is unchanged, but the service read nothing from its cache. */
export function isUnread({ causes }: CacheBreak): boolean {
  return causes[0].kind === "cache-unread";
}

/** True if only the tool choice or settings have changed, which breaks the cache only with some services. */
function isUncertain({ causes, lostChars }: CacheBreak): boolean {
  return lostChars === 0 && causes.every(({ kind }) => kind === "tool-choice-changed" || kind === "setting-changed");
}

/** Names the earlier request in the comparison, unless it is the previous one. */
function otherRequest({ isSwitchedBack, earlier }: CacheBreak): string | undefined {
  return isSwitchedBack ? `the request of iteration ${earlier.iteration}, the last one to this model` : undefined;
}

interface CauseFacts {
  readonly name: string;
  readonly count: number;
  readonly values: readonly [before: string, after: string];
}

type Describe = (facts: CauseFacts) => string;

const describeBy: { readonly [Kind in CacheBreakCause["kind"]]: Describe } = {
  "provider-changed": ({ values: [before, after] }) => `the provider changed from ${before} to ${after}`,
  "model-changed": ({ values: [before, after] }) => `the model changed from ${before} to ${after}`,
  "tool-removed": ({ name }) => `the tool ${name} was removed`,
  "tool-added": ({ name }) => `the tool ${name} was added`,
  "tool-changed": ({ name }) => `the tool ${name} was changed`,
  "tool-keys-reordered": ({ name }) => `keys of the tool ${name} were reordered`,
  "tools-reordered": () => "the tools were reordered",
  "system-changed": () => "the system text was changed",
  "messages-masked": ({ count }) => `${countMessages(count)} masked`,
  "messages-compacted": ({ count }) => `${countMessages(count)} compacted`,
  "messages-edited": ({ count }) => `${countMessages(count)} edited`,
  "messages-removed": ({ count }) => `${countMessages(count)} removed`,
  "messages-inserted": ({ count }) => `${countMessages(count)} inserted before others`,
  "message-keys-reordered": ({ count }) => `the keys of ${countThings(count, "message")} were reordered`,
  "provider-metadata-changed": ({ count }) => `the provider metadata of ${countThings(count, "message")} was changed`,
  "tool-choice-changed": () => "the tool choice was changed",
  "setting-changed": ({ name }) => `the setting ${name} was changed`,
  "cache-unread": () => "nothing was read from the cache",
};

function describeCause({ kind, name = "", count = 0, values = ["", ""] }: CacheBreakCause): string {
  return describeBy[kind]({ name, count, values });
}

const countMessages = (count: number): string => `${countThings(count, "message")} ${count === 1 ? "was" : "were"}`;
