// The entry `turnwright/otel`.

export { withTracing } from "./with-tracing.ts";
export type { ContentKind, TracingOptions } from "./tracing-options.ts";
