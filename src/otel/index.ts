// The entry `turnwright/otel`: OpenTelemetry spans and metrics for runs.

export { withTracing } from "./with-tracing.ts";
export type { ContentKind, TracingOptions } from "./tracing-options.ts";
