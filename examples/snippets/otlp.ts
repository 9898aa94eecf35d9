// A run whose spans go to a collector. Nothing runs this file, because the exporter is not installed here.

import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { tracing } from "turnwright/observe";

export async function runTraced({ provider, tools = [], messages }: LoopOptions): Promise<LoopResult> {
  // #region otlp
  const exporter = new OTLPTraceExporter({ url: "http://localhost:4318/v1/traces" }); // or the URL and `headers` of your backend
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  const middleware = [tracing({ agentName: "support", tracerProvider })];
  const result = await runToolLoop({ provider, tools, messages, middleware });
  await tracerProvider.shutdown().catch(console.error); // before the process ends: sends the last spans
  // #endregion otlp
  return result;
}
