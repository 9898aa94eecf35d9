// Spans and metrics of a run, according to OpenTelemetry's conventions for generative AI.

import { context } from "@opentelemetry/api";
import type { LoopOptions } from "../core/entry-kit.ts";
import { observeRun } from "../core/observe-kit.ts";
import { heardEvents, RunTrace } from "./run-trace.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

/**
 * Returns options whose run is traced. The run has the span `invoke_agent {agentName}`. Below it are `chat {model}` for each
 * stream and `execute_tool {tool}` for each call, and below a call the runs inside it. The parent of the run's span is the active
 * span when the run begins. Streams and tools run inside their spans, so that spans of HTTP clients and of your own code become
 * children. Replayed steps have no spans. Without a tracer provider nothing is recorded.
 *
 * No text of messages, arguments, results or errors is recorded unless `captureContent` is true.
 *
 * Listeners and results do not change, and invalid options are still rejected by the run itself. Throws LoopError
 * "invalid-option" or "unknown-option" for `tracing`.
 *
 * Names: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai.
 *
 * @example
 * const result = await runToolLoop(withTracing({ provider, tools, messages }, { agentName: "support" }));
 */
export function withTracing<Output = unknown>(options: LoopOptions<Output>, tracing: TracingOptions = {}): LoopOptions<Output> {
  const checked = checkTracingOptions(tracing);
  const { agentName } = checked;
  return observeRun(options, {
    hears: heardEvents,
    start: (run) => new RunTrace(run, { tracing: checked, parent: () => context.active(), agentName, isRecalled: false }),
  });
}
