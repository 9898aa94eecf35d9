// The entry `turnwright/otel`: OpenTelemetry spans and metrics for runs.

export { recordSpans } from "./record-spans.ts";
export { tracing } from "./middleware.ts";
