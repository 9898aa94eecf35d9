// Token counts of the three specifications.

import { countOf, isRecord, reconcileUsage, recordOf, type UnknownRecord, type Usage } from "../core/provider-kit.ts";
import type { AiSdkLanguageModel } from "./model-wire.ts";

/** Reads the counts of a finished stream. Undefined where the service gave neither sum. */
export function readModelUsage(usage: unknown, { provider }: AiSdkLanguageModel): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const { inputTokens, outputTokens } = usage;
  if (isRecord(inputTokens) || isRecord(outputTokens)) return readNested(recordOf(inputTokens), recordOf(outputTokens));
  return readFlat(usage, provider);
}

/** v3 and v4. */
function readNested(input: UnknownRecord, output: UnknownRecord): Usage | undefined {
  const [cached, written] = [countOf(input.cacheRead), countOf(input.cacheWrite)];
  return toUsage({
    input: countOf(input.total) ?? sumOf(countOf(input.noCache), cached, written),
    output: countOf(output.total) ?? sumOf(countOf(output.text), countOf(output.reasoning)),
    cached,
    written,
    reasoning: countOf(output.reasoning),
  });
}

/**
 * v2, where packages differ in what their sums hold. Anthropic's leaves out what was read from the cache
 * (github.com/PostHog/posthog-js/issues/2829). Google's and xAI's leave out reasoning, which their total tells
 * (github.com/vercel/ai/issues/7542).
 */
function readFlat(usage: UnknownRecord, provider: string): Usage | undefined {
  const [input, output, total] = [countOf(usage.inputTokens), countOf(usage.outputTokens), countOf(usage.totalTokens)];
  const [cached, reasoning] = [countOf(usage.cachedInputTokens), countOf(usage.reasoningTokens)];
  const excludesCached = /\banthropic\b/.test(provider);
  const excludesReasoning = total !== undefined && total === sumOf(input, output, reasoning);
  return toUsage({
    input: excludesCached ? sumOf(input, cached) : input,
    output: excludesReasoning ? sumOf(output, reasoning) : output,
    cached,
    written: undefined,
    reasoning,
  });
}

interface Counts {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly written: number | undefined;
  readonly reasoning: number | undefined;
}

function toUsage({ input, output, cached, written, reasoning }: Counts): Usage | undefined {
  if (input === undefined && output === undefined) return undefined;
  const [inputTokens, outputTokens] = [input ?? 0, output ?? 0];
  return reconcileUsage({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined ? {} : { cacheWriteTokens: written }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  });
}

/** Undefined where nothing is known. */
function sumOf(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
