// Creates OpenTelemetry's metrics for generative AI, and the objects that a run's spans share
// (github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/client-inference.md).

import * as api from "@opentelemetry/api";
import type { Attributes, Meter } from "@opentelemetry/api";
import { memoize } from "../../core/kit.ts";
import { redactSecrets } from "../../shared/redact-secrets.ts";
import type { Usage } from "../../core/index.ts";
import { definedIn, genAi, unknownModality } from "./facts.ts";
import { LiveSpan, quietly, type SpanClock } from "./live-span.ts";
import { ContentWriter, type TracingOptions } from "./tracing-options.ts";

type Measure = (value: number, attributes: Attributes) => void;

/** Each function records one value. Durations are in seconds. */
interface Instruments {
  readonly streamDuration: Measure;
  readonly timeToFirstChunk: Measure;
  readonly runDuration: Measure;
  readonly toolDuration: Measure;
  readonly tokens: (usage: Usage, attributes: Attributes, error: Attributes) => void;
}

const doubling = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first * 2 ** index);

/** The histogram boundaries that OpenTelemetry's conventions recommend. */
const upTo82Seconds = doubling(0.01, 14);
const upTo410Seconds = doubling(0.1, 13);
const tokenCounts = Array.from({ length: 14 }, (_, index) => 4 ** index);

/** Token counters. The key is the end of the counter's name, and the value is the field of `Usage` that it adds up. */
const counters = {
  input_tokens: "inputTokens",
  output_tokens: "outputTokens",
  "cache_read.input_tokens": "cachedInputTokens",
  "cache_write.input_tokens": "cacheWriteTokens",
  "reasoning.output_tokens": "reasoningTokens",
} as const satisfies { readonly [name: string]: keyof Usage };

const instrumentsOf: (meter: Meter) => Instruments = memoize(createInstruments);

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

// Checks the whole module, because a named import of `createNoopMeter` would itself fail with an old version, with an unclear error from
// Node.
if (!("createNoopMeter" in api)) {
  throw new Error('"turnwright/observe" needs @opentelemetry/api 1.3 or later. Update it: npm install @opentelemetry/api@1.9');
}

const scope = "turnwright";

export interface TracePorts {
  readonly instruments: Instruments;
  readonly content: ContentWriter;
  readonly conversationId: string | undefined;
  readonly clock: SpanClock;
  start(name: string, options: api.SpanOptions, parent: api.Context): LiveSpan;
}

/**
 * Creates the objects that all spans of one run share. Call it when the run begins, not earlier, because a program may set its global
 * OpenTelemetry providers after it has called `tracing`.
 */
export function createTracePorts(options: TracingOptions, conversationId: string | undefined, clock: SpanClock): TracePorts {
  const tracer = options.tracer ?? quietly(() => (options.tracerProvider ?? api.trace).getTracer(scope));
  const meter = options.meter ?? quietly(() => (options.meterProvider ?? api.metrics).getMeter(scope)) ?? api.createNoopMeter();
  return {
    instruments: instrumentsOf(meter),
    content: new ContentWriter(options),
    conversationId,
    clock,
    start(name, { attributes = {}, startTime = clock.wallTime(), ...more }, parent) {
      const options = { ...more, ...(startTime !== undefined && { startTime }), attributes: definedIn(attributes) };
      return new LiveSpan(() => tracer?.startSpan(redactSecrets(name), options, parent), parent, clock);
    },
  };
}
