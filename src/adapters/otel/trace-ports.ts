// What the spans of one run have in common.

import { type Meter, metrics, type Span, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { createContentWriter, type WriteContent } from "./content.ts";
import { type Instruments, instrumentsOf } from "./instruments.ts";
import type { TracingOptions } from "./tracing-options.ts";

/** The name that spans and metrics say they come from. */
const scope = "turnwright";

/** Where spans go, and how content gets on them. */
export interface TracePorts {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly write: WriteContent;
  readonly capturesContent: boolean;
  readonly conversationId: string | undefined;
  /** Sets an attribute to a text, if there is one. */
  setText(span: Span, name: string, text: string | undefined): void;
  /** Says that what a span is of has failed. What the error says is content. */
  fail(span: Span, message: string | undefined): void;
}

/** Asked when a run begins: a program may set its global providers after it has made its options. */
export function createTracePorts(options: TracingOptions, conversationId: string | undefined): TracePorts {
  const { captureContent = false } = options;
  const tracer = options.tracer ?? (options.tracerProvider ?? trace).getTracer(scope);
  const meter: Meter = options.meter ?? (options.meterProvider ?? metrics).getMeter(scope);
  return {
    tracer,
    instruments: instrumentsOf(meter),
    write: createContentWriter(options),
    capturesContent: captureContent,
    conversationId,
    setText: (span, name, text) => {
      if (text !== undefined) span.setAttribute(name, text);
    },
    fail: (span, message) => {
      const told = captureContent ? message : undefined;
      span.setStatus({ code: SpanStatusCode.ERROR, ...(told !== undefined && { message: told }) });
    },
  };
}
