// The metrics of the conventions: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/client-inference.md and
// gen-ai-metrics.md.

import type { Attributes, Meter } from "@opentelemetry/api";
import { memoize, type Usage } from "../core/provider-kit.ts";
import { definedIn } from "./facts.ts";
import { quietly } from "./live-span.ts";
import { genAi, unknownModality } from "./names.ts";

/** Records one value. Attributes that are undefined are left out. */
type Measure = (value: number, attributes: Attributes) => void;

/** What is measured. Durations are in seconds. */
export interface Instruments {
  readonly streamDuration: Measure;
  readonly timeToFirstChunk: Measure;
  readonly runDuration: Measure;
  readonly toolDuration: Measure;
  /** What one stream used: for totals, and for how it spreads. A count that is not known is not told. */
  readonly tokens: (usage: Usage, attributes: Attributes, error: Attributes) => void;
}

const doubling = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first * 2 ** index);

/** The boundaries that the conventions ask for. */
const upTo82Seconds = doubling(0.01, 14);
const upTo410Seconds = doubling(0.1, 13);
const tokenCounts = Array.from({ length: 14 }, (_, index) => 4 ** index);

/** The counters of tokens, below their common name. */
const counters = {
  input_tokens: "inputTokens",
  output_tokens: "outputTokens",
  "cache_read.input_tokens": "cachedInputTokens",
  "cache_write.input_tokens": "cacheWriteTokens",
  "reasoning.output_tokens": "reasoningTokens",
} as const satisfies { readonly [name: string]: keyof Usage };

/** The instruments of a meter, made once. */
export const instrumentsOf: (meter: Meter) => Instruments = memoize(createInstruments);

function createInstruments(meter: Meter): Instruments {
  const seconds = (name: string, description: string, boundaries: number[]): Measure =>
    createHistogram(meter, name, { description, unit: "s", advice: { explicitBucketBoundaries: boundaries } });
  return {
    tokens: createTokenCounts(meter),
    streamDuration: seconds("gen_ai.client.inference.duration", "GenAI client inference operation duration.", upTo82Seconds),
    timeToFirstChunk: seconds("gen_ai.client.inference.time_to_first_chunk", "Time to the first chunk.", upTo82Seconds),
    runDuration: seconds("gen_ai.invoke_agent.duration", "Duration of a single agent invocation.", upTo410Seconds),
    toolDuration: seconds("gen_ai.execute_tool.duration", "Duration of a single tool execution.", upTo82Seconds),
  };
}

function createHistogram(meter: Meter, name: string, options: Parameters<Meter["createHistogram"]>[1]): Measure {
  const histogram = quietly(() => meter.createHistogram(name, options));
  return (value, attributes) => quietly(() => histogram?.record(value, definedIn(attributes)));
}

function createTokenCounts(meter: Meter): Instruments["tokens"] {
  const unit = "{token}";
  const perStream = (name: string, description: string): Measure =>
    createHistogram(meter, `gen_ai.client.inference.operation.${name}`, {
      description,
      unit,
      advice: { explicitBucketBoundaries: tokenCounts },
    });
  const input = perStream("input_tokens", "Input tokens of a single inference operation.");
  const output = perStream("output_tokens", "Output tokens of a single inference operation.");
  const spent = Object.entries(counters).map(([name, field]) => {
    const options = { description: `Tokens used: ${name}.`, unit };
    return { counter: quietly(() => meter.createCounter(`gen_ai.client.inference.usage.${name}`, options)), field };
  });
  return (usage, attributes, error) => {
    const counted = definedIn({ ...attributes, [genAi.tokenModality]: unknownModality });
    for (const { counter, field } of spent) {
      const count = usage[field];
      if (count !== undefined) quietly(() => counter?.add(count, counted));
    }
    input(usage.inputTokens, { ...attributes, ...error });
    output(usage.outputTokens, { ...attributes, ...error });
  };
}
