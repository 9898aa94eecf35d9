// What the spans of one run have in common.

import * as api from "@opentelemetry/api";
import { ContentWriter } from "./content-writer.ts";
import { definedIn } from "./facts.ts";
import { type Instruments, instrumentsOf } from "./instruments.ts";
import { LiveSpan, quietly } from "./live-span.ts";
import type { TracingOptions } from "./tracing-options.ts";

// The whole namespace is imported, because Node would refuse a missing name in words of its own.
if (!("createNoopMeter" in api)) {
  throw new Error('"turnwright/otel" needs @opentelemetry/api 1.3 or later. Update it: npm install @opentelemetry/api@latest');
}

/** The name that spans and metrics say they come from. */
const scope = "turnwright";

/** Where spans go, and how content gets on them. */
export interface TracePorts {
  readonly instruments: Instruments;
  readonly content: ContentWriter;
  readonly conversationId: string | undefined;
  /** Begins a span. Attributes that are undefined are left out. */
  start(name: string, options: api.SpanOptions, parent: api.Context): LiveSpan;
}

/** Asked when a run begins: a program may set its global providers after it has made its options. */
export function createTracePorts(options: TracingOptions, conversationId: string | undefined): TracePorts {
  const tracer = options.tracer ?? quietly(() => (options.tracerProvider ?? api.trace).getTracer(scope));
  const meter = options.meter ?? quietly(() => (options.meterProvider ?? api.metrics).getMeter(scope)) ?? api.createNoopMeter();
  return {
    instruments: instrumentsOf(meter),
    content: new ContentWriter(options),
    conversationId,
    start(name, { attributes = {}, ...more }, parent) {
      return new LiveSpan(() => tracer?.startSpan(name, { ...more, attributes: definedIn(attributes) }, parent), parent);
    },
  };
}
