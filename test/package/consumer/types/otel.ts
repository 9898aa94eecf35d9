import { trace } from "@opentelemetry/api";
import { type Json, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { tracing } from "turnwright/otel";

export function ask(options: LoopOptions): Promise<LoopResult> {
  const redact = (content: Json, kind: string): Json | undefined => (kind === "tool-result" ? undefined : content);
  const tracerProvider = trace.getTracerProvider();
  return runToolLoop({ ...options, middleware: [tracing({ agentName: "app", tracerProvider, captureContent: true, redact })] });
}
