import { expect, it } from "vitest";
import type { FallbackOptions } from "../../src/core/providers/with-fallback.ts";
import type { RetryOptions } from "../../src/core/providers/with-retry.ts";
import { readNames, readPage, readRows, readSection } from "./read-page.ts";

const page = readPage("docs/guides/fallback-and-retries.md");

const retryOptions: { readonly [Name in keyof RetryOptions]-?: true } = {
  maxAttempts: true,
  baseDelayMs: true,
  maxDelayMs: true,
  maxRetryAfterMs: true,
  random: true,
};
const fallbackOptions: { readonly [Name in keyof FallbackOptions]-?: true } = {
  firstChunkMs: true,
  streamIdleMs: true,
  cooldownMs: true,
};

it.for<[section: string, options: object]>([
  ["Retry with `withRetry`", retryOptions],
  ["Fall back with `withFallback`", fallbackOptions],
])('docs/guides/fallback-and-retries.md: lists every option under "%s" once', ([section, options]) => {
  const listed = readRows(readSection(page, section)).map(([cell = ""]) => readNames(cell)[0]);
  expect(listed).toEqual(Object.keys(options));
});
