// The metrics of the conventions: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-metrics.md.

import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import { memoize, type Usage } from "../../spi.ts";
import { genAi } from "./names.ts";

/** What is measured. Durations are in seconds. */
export interface Instruments {
  readonly tokenUsage: Histogram;
  readonly streamDuration: Histogram;
  readonly timeToFirstChunk: Histogram;
  readonly runDuration: Histogram;
  readonly toolDuration: Histogram;
}

const doubling = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first * 2 ** index);

/** The boundaries that the conventions ask for. */
const upTo82Seconds = doubling(0.01, 14);
const upTo410Seconds = doubling(0.1, 13);
const tokenCounts = Array.from({ length: 14 }, (_, index) => 4 ** index);

/** The instruments of a meter, made once. */
export const instrumentsOf: (meter: Meter) => Instruments = memoize(createInstruments);

function createInstruments(meter: Meter): Instruments {
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]): Histogram =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
  return {
    tokenUsage: meter.createHistogram("gen_ai.client.token.usage", {
      description: "Number of input and output tokens used.",
      unit: "{token}",
      advice: { explicitBucketBoundaries: tokenCounts },
    }),
    streamDuration: seconds("gen_ai.client.operation.duration", "GenAI operation duration.", upTo82Seconds),
    timeToFirstChunk: seconds("gen_ai.client.operation.time_to_first_chunk", "Time to the first chunk.", upTo82Seconds),
    runDuration: seconds("gen_ai.invoke_agent.duration", "Duration of a single agent invocation.", upTo410Seconds),
    toolDuration: seconds("gen_ai.execute_tool.duration", "Duration of a single tool execution.", upTo82Seconds),
  };
}

/** Counts the tokens of one stream. */
export function recordTokens({ tokenUsage }: Instruments, usage: Usage, attributes: Attributes): void {
  tokenUsage.record(usage.inputTokens, { ...attributes, [genAi.tokenType]: "input" });
  tokenUsage.record(usage.outputTokens, { ...attributes, [genAi.tokenType]: "output" });
}
