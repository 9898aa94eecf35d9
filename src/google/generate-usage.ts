// Token counts of generateContent.

import { countOf, growUsage, isRecord, reconcileUsage, type Usage } from "../core/provider-kit.ts";

/** The counts of one stream so far. */
export interface UsageCounts {
  /** Takes a `usageMetadata` object, and returns what was used so far; undefined where it counts nothing. */
  add(metadata: unknown): Usage | undefined;
}

const fields = [
  "promptTokenCount",
  "toolUsePromptTokenCount",
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
] as const;

type Counts = { [Field in (typeof fields)[number]]?: number };

/**
 * Makes empty counts. Each object counts the whole stream so far, or nothing, as in the middle of a stream of Vertex AI; a count that it
 * lacks stays as it was. Those of the prompt hold what was cached, but not what the service's own tools put in; those of the
 * candidates hold no thoughts.
 */
export function countUsage(): UsageCounts {
  const counts: Counts = {};
  let sum: Usage | undefined;
  return {
    add(metadata) {
      if (!isRecord(metadata)) return undefined;
      let isSaid = false;
      for (const field of fields) {
        const count = countOf(metadata[field]);
        if (count === undefined) continue;
        counts[field] = count;
        isSaid = true;
      }
      const usage = isSaid ? toUsage(counts, countOf(metadata.totalTokenCount) ?? 0) : undefined;
      if (usage === undefined) return undefined;
      sum = growUsage(sum, usage);
      return sum;
    },
  };
}

/** A total without a count that stayed would be too low. */
function toUsage(counts: Counts, total: number): Usage | undefined {
  const { promptTokenCount: prompt, candidatesTokenCount: candidates, thoughtsTokenCount: thoughts } = counts;
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  const cached = counts.cachedContentTokenCount;
  const inputTokens = (prompt ?? 0) + (counts.toolUsePromptTokenCount ?? 0);
  const outputTokens = (candidates ?? 0) + (thoughts ?? 0);
  return reconcileUsage({
    inputTokens,
    outputTokens,
    totalTokens: total,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(thoughts === undefined ? {} : { reasoningTokens: thoughts }),
  });
}
