// The options of `withTracing`, checked before a run begins.

import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import { checkFields, type Checks, is, isRecord, type Json } from "../core/entry-kit.ts";

/**
 * The kinds of content: texts of models and users, arguments and results of tools, and messages of stream and run errors (a
 * string). The error of a failed call is in its result.
 */
export type ContentKind = "system" | "input-messages" | "output-messages" | "tool-arguments" | "tool-result" | "error";

/** The options of `withTracing`. */
export interface TracingOptions {
  /** Creates the spans. Default: the tracer of `tracerProvider`, else of the global provider when the run begins. */
  readonly tracer?: Tracer | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
  /** Creates the metrics. Default: the meter of `meterProvider`, else of the global provider when the run begins. */
  readonly meter?: Meter | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  /** The name of the agent. It is part of the span's name and a dimension of metrics, so use few different names. Default none. */
  readonly agentName?: string | undefined;
  /** Records messages, system text, arguments, results, and error messages. Default false. */
  readonly captureContent?: boolean | undefined;
  /**
   * Changes content before it is recorded. Gets a copy. Content is omitted if it returns undefined or throws. Credentials are
   * then removed from all texts. Default: content is not changed.
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
