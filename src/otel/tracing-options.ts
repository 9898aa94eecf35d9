// The options of `withTracing`, checked before a run begins.

import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import { checkFields, type Checks, is, isRecord, type Json } from "../core/entry-kit.ts";

/**
 * The kinds of content: texts of models and users, what goes into tools and comes out of them, and what the errors of streams and runs say,
 * which is a string. What a failed call says is in its result.
 */
export type ContentKind = "system" | "input-messages" | "output-messages" | "tool-arguments" | "tool-result" | "error";

/** The destination and the content of spans and metrics. */
export interface TracingOptions {
  /** Makes the spans. Default: that of `tracerProvider`, else of the global provider as it is when the run begins. */
  readonly tracer?: Tracer | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: that of `meterProvider`, else of the global provider as it is when the run begins. */
  readonly meter?: Meter | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  /** The name of the agent; part of the span's name and a dimension of metrics, so keep to few names. Default none. */
  readonly agentName?: string | undefined;
  /** Records messages, system text, arguments, results, and what errors say. Default false. */
  readonly captureContent?: boolean | undefined;
  /**
   * Changes content before it is recorded; undefined leaves it out, and so does a throw. It is given a copy. Behind it, credentials are
   * taken out of all texts. Default: content stays as it is.
   */
  readonly redact?: ((content: Json, kind: ContentKind) => Json | undefined) | undefined;
}

const has =
  (method: string) =>
  (value: unknown): boolean =>
    isRecord(value) && typeof value[method] === "function";

const checks: Checks<TracingOptions> = {
  tracer: ["a tracer of @opentelemetry/api", has("startSpan")],
  tracerProvider: ["a tracer provider of @opentelemetry/api", has("getTracer")],
  meter: ["a meter of @opentelemetry/api", has("createHistogram")],
  meterProvider: ["a meter provider of @opentelemetry/api", has("getMeter")],
  agentName: ["a string that is not empty", (value) => typeof value === "string" && value !== ""],
  captureContent: is.flag,
  redact: is.fn,
};

/** Throws LoopError "invalid-option" or "unknown-option". */
export function checkTracingOptions(options: TracingOptions): TracingOptions {
  checkFields("tracing", options, checks);
  return { ...options };
}
