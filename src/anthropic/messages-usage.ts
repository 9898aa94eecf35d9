// Token counts of the Messages wire.

import { countOf, growUsage, isRecord, reconcileUsage, recordOf, type UnknownRecord, type Usage } from "../core/provider-kit.ts";

/** The counts of one stream so far. */
export interface UsageCounts {
  /** Takes a `usage` object: counts so far, never to be added; one that is null or absent stays as it was. Returns the sum. */
  add(usage: unknown): Usage | undefined;
}

type Counts = { [Name in "input" | "cacheWrite" | "cacheRead" | "output" | "reasoning"]?: number | undefined };

/** Makes empty counts. Tokens read from the cache or written to it are not in `input_tokens`, so that they are added to it. */
export function countUsage(): UsageCounts {
  let counts: Counts = {};
  let compactions: readonly Counts[] = [];
  let sum: Usage | undefined;
  return {
    add(usage) {
      if (!isRecord(usage)) return undefined;
      counts = readCounts(usage, counts);
      if (Array.isArray(usage.iterations)) compactions = readCompactions(usage.iterations);
      if (counts.input === undefined && counts.output === undefined) return undefined;
      sum = growUsage(sum, toUsage([counts, ...compactions]));
      return sum;
    },
  };
}

function readCounts(usage: UnknownRecord, before: Counts): Counts {
  return {
    input: countOf(usage.input_tokens) ?? before.input,
    cacheWrite: countOf(usage.cache_creation_input_tokens) ?? before.cacheWrite,
    cacheRead: countOf(usage.cache_read_input_tokens) ?? before.cacheRead,
    output: countOf(usage.output_tokens) ?? before.output,
    reasoning: countOf(recordOf(usage.output_tokens_details).thinking_tokens) ?? before.reasoning,
  };
}

/** Requests in which the service summed up the context. They are billed, and the counts of the message do not include them. */
function readCompactions(iterations: readonly unknown[]): readonly Counts[] {
  return iterations
    .map(recordOf)
    .filter(({ type }) => type === "compaction")
    .map((usage) => readCounts(usage, {}));
}

function toUsage(requests: readonly Counts[]): Usage {
  const sum = (name: keyof Counts): number | undefined => {
    const known = requests.flatMap((counts) => counts[name] ?? []);
    return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
  };
  const [cacheWrite, cacheRead, reasoning] = [sum("cacheWrite"), sum("cacheRead"), sum("reasoning")];
  const inputTokens = (sum("input") ?? 0) + (cacheWrite ?? 0) + (cacheRead ?? 0);
  const outputTokens = sum("output") ?? 0;
  return reconcileUsage({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cacheRead === undefined ? {} : { cachedInputTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  });
}
