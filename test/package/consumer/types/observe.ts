import { subscribe } from "node:diagnostics_channel";
import { trace } from "@opentelemetry/api";
import { type Json, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { diagnostics, toolChannel, type ToolMessage, tracing } from "turnwright/observe";

export function ask(options: LoopOptions): Promise<LoopResult> {
  const redact = (content: Json, kind: string): Json | undefined => (kind === "tool-result" ? undefined : content);
  const tracerProvider = trace.getTracerProvider();
  return runToolLoop({ ...options, middleware: [tracing({ agentName: "app", tracerProvider, captureContent: true, redact })] });
}

export function publish(options: LoopOptions): Promise<LoopResult> {
  subscribe(`tracing:${toolChannel}:asyncEnd`, (message) => {
    const { name, outcome } = message as ToolMessage;
    console.log(name, outcome);
  });
  return runToolLoop({ ...options, middleware: [diagnostics()] });
}
