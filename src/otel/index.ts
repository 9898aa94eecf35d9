// The entry `turnwright/otel`: OpenTelemetry spans and metrics for runs.

export { recordSpans, type RecordSpansOptions } from "./record-spans.ts";
export type { RecordedCall, RecordedLine, RecordedLog, RecordedRun } from "./recorded-run.ts";
export { tracing } from "./middleware.ts";
export type { ContentKind, TracingOptions } from "./tracing-options.ts";
