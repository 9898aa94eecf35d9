import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import { checkFields, type Checks, is, isRecord, type Json } from "../core/entry-kit.ts";

/**
 * The kind of content that `redact` gets: text from models and users, arguments and results of tools, and error messages of
 * streams and runs. Content of the kind "error" is a string. The error of a failed tool call is part of its "tool-result".
 */
export type ContentKind = "system" | "input-messages" | "output-messages" | "tool-arguments" | "tool-result" | "error";

/** The options of `withTracing`. */
export interface TracingOptions {
  /**
   * Creates the spans. Default: a tracer from `tracerProvider`. Without `tracerProvider`, a tracer from the provider that is
   * global when the run begins.
   */
  readonly tracer?: Tracer | undefined;
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Creates the metrics. Default: a meter from `meterProvider`. Without `meterProvider`, a meter from the provider that is global
   * when the run begins.
   */
  readonly meter?: Meter | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  /** The name of the agent. Used in span names and as an attribute of metrics, so use only a few different names. Default: no name. */
  readonly agentName?: string | undefined;
  /** True to record messages, system prompts, arguments, results and error messages. Default false. */
  readonly captureContent?: boolean | undefined;
  /**
   * Gets a copy of the content, and returns the content to record instead. If `redact` returns undefined or throws, the content
   * is omitted. Credentials are always removed from the returned content. Default: content is not changed.
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

export function checkTracingOptions(options: TracingOptions): TracingOptions {
  checkFields("tracing", options, checks);
  return { ...options };
}
