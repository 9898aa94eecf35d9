// The part of an exporter that examples/snippets/otlp.ts uses. The package itself is not installed here.

declare module "@opentelemetry/exporter-trace-otlp-http" {
  import type { SpanExporter } from "@opentelemetry/sdk-trace-base";

  export const OTLPTraceExporter: new (config: {
    readonly url?: string;
    readonly headers?: Record<string, string>;
  }) => SpanExporter;
}
