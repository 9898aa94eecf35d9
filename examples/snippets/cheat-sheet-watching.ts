// A summary for llms.txt: tracing, events and other ways to observe runs. If a type here differs from the real type, the compiler
// reports an error.

import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import type { Json, LoopOptions } from "turnwright";
import * as diagnostics from "turnwright/diagnostics";
import * as otel from "turnwright/otel";
import { type Differing, expectNone } from "./same-names.ts";

// #region otel
interface OtelEntry {
  // makes spans and metrics: runToolLoop(withTracing({ provider, tools, messages }))
  withTracing<Output>(
    options: LoopOptions<Output>,
    tracing?: {
      tracer?: Tracer; // default: from tracerProvider, or from the global provider when the run begins
      tracerProvider?: TracerProvider;
      meter?: Meter; // likewise
      meterProvider?: MeterProvider;
      agentName?: string; // invoke_agent {agentName}
      captureContent?: boolean; // false: no text from messages, arguments, results or errors
      redact?: (content: Json, kind: otel.ContentKind) => Json | undefined; // kind: system, input-messages, output-messages, tool-arguments, tool-result
    },
  ): LoopOptions<Output>;
}
// #endregion otel

// #region diagnostics
interface DiagnosticsEntry {
  runChannel: "turnwright:run"; // tracing:turnwright:run:start, :end, :asyncStart, :asyncEnd, :error; messages are RunMessage
  iterationChannel: "turnwright:iteration"; // IterationMessage
  toolChannel: "turnwright:tool"; // ToolMessage
  withDiagnostics<Output>(options: LoopOptions<Output>, diagnostics?: { captureContent?: boolean }): LoopOptions<Output>;
}
// #endregion diagnostics

otel satisfies OtelEntry;
diagnostics satisfies DiagnosticsEntry;
expectNone<Differing<OtelEntry, typeof otel>>();
expectNone<Differing<NonNullable<Parameters<OtelEntry["withTracing"]>[1]>, otel.TracingOptions>>();
expectNone<Differing<DiagnosticsEntry, typeof diagnostics>>();
expectNone<Differing<NonNullable<Parameters<DiagnosticsEntry["withDiagnostics"]>[1]>, diagnostics.DiagnosticsOptions>>();
