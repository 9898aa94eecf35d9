// Token counts of the Messages wire.

import { countOf, isRecord, reconcileUsage, recordOf, type UnknownRecord, type Usage } from "../../spi.ts";

/** The counts of one stream so far. */
export interface UsageCounts {
  /** Takes a `usage` object: counts so far, never to be added; one that is null or absent stays as it was. Returns the sum. */
  add(usage: unknown): Usage | undefined;
}

interface Counts {
  input: number | undefined;
  cacheWrite: number | undefined;
  cacheRead: number | undefined;
  output: number | undefined;
  reasoning: number | undefined;
}

/** Makes empty counts. Tokens read from the cache or written to it are not in `input_tokens`, so that they are added to it. */
export function countUsage(): UsageCounts {
  const counts: Counts = {
    input: undefined,
    cacheWrite: undefined,
    cacheRead: undefined,
    output: undefined,
    reasoning: undefined,
  };
  return {
    add(usage) {
      if (!isRecord(usage)) return undefined;
      take(counts, usage);
      return counts.input === undefined && counts.output === undefined ? undefined : toUsage(counts);
    },
  };
}

function take(counts: Counts, usage: UnknownRecord): void {
  counts.input = countOf(usage.input_tokens) ?? counts.input;
  counts.cacheWrite = countOf(usage.cache_creation_input_tokens) ?? counts.cacheWrite;
  counts.cacheRead = countOf(usage.cache_read_input_tokens) ?? counts.cacheRead;
  counts.output = countOf(usage.output_tokens) ?? counts.output;
  counts.reasoning = countOf(recordOf(usage.output_tokens_details).thinking_tokens) ?? counts.reasoning;
}

function toUsage({ input = 0, cacheWrite, cacheRead, output = 0, reasoning }: Counts): Usage {
  const inputTokens = input + (cacheWrite ?? 0) + (cacheRead ?? 0);
  return reconcileUsage({
    inputTokens,
    outputTokens: output,
    totalTokens: inputTokens + output,
    ...(cacheRead === undefined ? {} : { cachedInputTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  });
}
