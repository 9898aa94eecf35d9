// The sentences of the page about cache breaks.

import { countThings, formatCount, joinTexts } from "../format.ts";
import type { CacheBreak, CacheBreakCause } from "./find-cache-breaks.ts";

/** The number of causes in a sentence. A request may lose or get dozens of tools. */
const mostCauses = 5;

/**
 * Returns one sentence or two about a cache break.
 *
 * @example "The prompt cache broke here: the tools were reordered. 41,200 of 52,000 characters of the prefix were lost."
 */
export function describeCacheBreak({ causes, lostChars, prefixChars }: CacheBreak): string {
  const more = causes.length - mostCauses;
  const texts = causes.slice(0, mostCauses).map(describeCause);
  const reasons = joinTexts(more > 0 ? [...texts, `${countThings(more, "more change")} followed`] : texts);
  if (lostChars === 0 && causes.every(({ kind }) => kind === "tool-choice-changed" || kind === "setting-changed"))
    return `The prompt cache may be broken here, depending on the service: ${reasons}.`;
  const lost = `${formatCount(lostChars)} of ${formatCount(prefixChars)} characters of the prefix were lost.`;
  return `The prompt cache broke here: ${reasons}. ${lost}`;
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
  "tool-choice-changed": () => "the tool choice was changed",
  "setting-changed": ({ name }) => `the setting ${name} was changed`,
};

function describeCause({ kind, name = "", count = 0, values = ["", ""] }: CacheBreakCause): string {
  return describeBy[kind]({ name, count, values });
}

const countMessages = (count: number): string => `${countThings(count, "message")} ${count === 1 ? "was" : "were"}`;
