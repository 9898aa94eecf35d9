import { countOf, isRecord, recordOf, usageOf } from "../core/kit.ts";
import type { Usage } from "../core/index.ts";

/**
 * Reads token counts. `prompt_tokens` include cached tokens. OpenAI's `completion_tokens` include reasoning tokens. xAI's
 * `completion_tokens` exclude them (recorded: 291 prompt, 26 completion, 196 reasoning, 513 in total). A server counts like xAI if the
 * total is the sum of the three counts, or if there are more reasoning tokens than completion tokens.
 */
export function toUsage(usage: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const prompt = countOf(usage.prompt_tokens) ?? countOf(usage.input_tokens);
  const completion = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens);
  if (prompt === undefined && completion === undefined) return undefined;
  const total = countOf(usage.total_tokens);
  const input = recordOf(usage.prompt_tokens_details ?? usage.prompt_token_details ?? usage.input_tokens_details);
  const output = recordOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  const reasoning = largestOf(output.reasoning_tokens, usage.reasoning_tokens);
  return usageOf({
    input: prompt,
    output: outputOf({ prompt: prompt ?? 0, completion: completion ?? 0, reasoning: reasoning ?? 0, total }),
    total,
    cached: largestOf(
      input.cached_tokens,
      // The cached-token counts reported by DeepSeek, Kimi (github.com/earendil-works/pi/issues/8075), LiteLLM
      // (github.com/BerriAI/litellm/issues/39505) and Mistral.
      ...[usage.prompt_cache_hit_tokens, usage.cached_tokens, usage.cache_read_input_tokens, usage.num_cached_tokens],
      // The cached-token counts reported by Groq (groq-sdk 1.6.0).
      ...[usage.dram_cached_tokens, usage.sram_cached_tokens],
    ),
    // Reads OpenAI's field, then the two fields in which LiteLLM may report the count.
    cacheWrite: largestOf(input.cache_write_tokens, input.cache_creation_tokens, usage.cache_creation_input_tokens),
    reasoning,
  });
}

/** Returns the largest count, because a service may report a count in several fields, and zero in some of them. */
function largestOf(...counts: readonly unknown[]): number | undefined {
  const known = counts.map(countOf).filter((count) => count !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number;
  readonly total: number | undefined;
}

function outputOf({ prompt, completion, reasoning, total }: Counts): number {
  return total === prompt + completion + reasoning ? completion + reasoning : completion;
}
