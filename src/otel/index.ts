// The entry `turnwright/otel`: OpenTelemetry spans and metrics for runs.

export { recordSpans, type RecordSpansOptions } from "./record-spans.ts";
export type { RecordedCall, RecordedLine, RecordedLog, RecordedRun } from "./recorded-run.ts";
export { withTracing } from "./with-tracing.ts";
export type { ContentKind, TracingOptions } from "./tracing-options.ts";
