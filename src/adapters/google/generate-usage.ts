// Token counts of generateContent.

import { countOf, isRecord, type Usage } from "../../spi.ts";

/**
 * Reads a `usageMetadata` object; undefined where it counts nothing, as in the middle of a stream of Vertex AI. Each one counts the
 * whole stream so far. The counts of the prompt hold what was cached, but not what the service's own tools put in; those of the
 * candidates hold no thoughts.
 */
export function toUsage(metadata: unknown): Usage | undefined {
  if (!isRecord(metadata)) return undefined;
  const prompt = countOf(metadata.promptTokenCount);
  const candidates = countOf(metadata.candidatesTokenCount);
  const thoughts = countOf(metadata.thoughtsTokenCount);
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  const cached = countOf(metadata.cachedContentTokenCount);
  const inputTokens = (prompt ?? 0) + (countOf(metadata.toolUsePromptTokenCount) ?? 0);
  const outputTokens = (candidates ?? 0) + (thoughts ?? 0);
  return {
    inputTokens,
    outputTokens,
    totalTokens: countOf(metadata.totalTokenCount) ?? inputTokens + outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(thoughts === undefined ? {} : { reasoningTokens: thoughts }),
  };
}
