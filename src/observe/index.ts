// The `turnwright/observe` entry point: OpenTelemetry spans and metrics for runs, and Node tracing channels.

export { recordSpans } from "./tracing/record-spans.ts";
export { tracing } from "./tracing/middleware.ts";
export { iterationChannel, runChannel, toolChannel } from "./diagnostics/channels.ts";
export type { IterationMessage, RunMessage, ToolMessage } from "./diagnostics/channels.ts";
export { diagnostics } from "./diagnostics/middleware.ts";
