import { context } from "@opentelemetry/api";
import type { LoopOptions } from "../core/entry-kit.ts";
import { observeRun } from "../core/observe-kit.ts";
import { liveClock } from "./live-span.ts";
import { heardEvents, RunTrace } from "./run-trace.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

/**
 * Returns loop options that record the run with OpenTelemetry, in spans and metrics that follow its conventions for generative
 * AI. The run has the span `invoke_agent {agentName}`, with a child span `chat {model}` for each stream and `execute_tool {tool}`
 * for each tool call. The span of a nested run is a child of its call's span. The parent of the run's span is the span that is
 * active when the run begins. Streams and tools run inside their spans, so spans from HTTP clients and from your code become
 * child spans. Replayed steps have no spans. Without a tracer provider, nothing is recorded.
 *
 * Text in messages, arguments, results and errors is only recorded if `captureContent` is true.
 *
 * Tracing does not change the events and the result of the run. The run rejects invalid `options`; `withTracing` does not check
 * them. Throws LoopError "invalid-option" or "unknown-option" if `tracing` is invalid.
 *
 * Source of the attribute names: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai.
 *
 * @example
 * const result = await runToolLoop(withTracing({ provider, tools, messages }, { agentName: "support" }));
 */
export function withTracing<Output = unknown>(options: LoopOptions<Output>, tracing: TracingOptions = {}): LoopOptions<Output> {
  const checked = checkTracingOptions(tracing);
  const { agentName } = checked;
  return observeRun(options, {
    hears: heardEvents,
    start: (run) =>
      new RunTrace(run, { tracing: checked, clock: liveClock, parent: () => context.active(), agentName, isRecalled: false }),
  });
}
