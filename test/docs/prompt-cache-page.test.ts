import { expect, it } from "vitest";
import type { CacheBreakCause, PromptCacheUse } from "../../src/middleware/prompt-cache/types.ts";
import { readNames, readPage, readRows, readSection, sorted } from "./read-page.ts";

const page = readPage("docs/guides/prompt-cache.md");

/** The causes that a run reports. "cache-unread" is missing, because only the page of a run finds it. */
const kinds: { readonly [Kind in Exclude<CacheBreakCause["kind"], "cache-unread">]: true } = {
  "provider-changed": true,
  "model-changed": true,
  "tool-removed": true,
  "tool-added": true,
  "tool-changed": true,
  "tool-keys-reordered": true,
  "tools-reordered": true,
  "system-changed": true,
  "messages-masked": true,
  "messages-compacted": true,
  "messages-edited": true,
  "messages-removed": true,
  "messages-inserted": true,
  "message-keys-reordered": true,
  "provider-metadata-changed": true,
  "tool-choice-changed": true,
  "setting-changed": true,
};

const fields: { readonly [Name in keyof Required<PromptCacheUse>]: true } = {
  requests: true,
  prefixBytes: true,
  possibleBytes: true,
  sharedBytes: true,
  share: true,
  cachedTokens: true,
  cacheWriteTokens: true,
  savedUSD: true,
  breaks: true,
  last: true,
};

const namesIn = (section: string): readonly string[] =>
  readRows(readSection(page, section)).flatMap(([cell = ""]) => readNames(cell));

it("docs/guides/prompt-cache.md: lists each cause of a cache break once", () => {
  expect(sorted(namesIn("What breaks a cache"))).toEqual(sorted(Object.keys(kinds)));
});

it("docs/guides/prompt-cache.md: lists each field of result.cache once", () => {
  expect(namesIn("What the run reports")).toEqual(Object.keys(fields));
});
