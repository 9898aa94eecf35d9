// Spans and metrics of a run, by OpenTelemetry's conventions for generative AI.

import { context } from "@opentelemetry/api";
import type { LoopOptions } from "../core/entry-kit.ts";
import { observeRun } from "../core/observe-kit.ts";
import { heardEvents, RunTrace } from "./run-trace.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

/**
 * Gives the options of a run that is traced: `invoke_agent {agentName}` for the run, and below it `chat {model}` for each stream and
 * `execute_tool {tool}` for each call; below a call, the runs inside it. The run's span is a child of the span that is active when the
 * run begins. Streams and tools run inside their spans, so that those of HTTP clients and of your own code hang below them. Steps that
 * are recalled from a journal make no spans. Without a tracer provider nothing is recorded.
 *
 * No text is recorded unless `captureContent` is true: neither of messages, nor of arguments, results and errors.
 *
 * Everything else is as without: listeners, results, and what is refused, which the run itself does. Throws LoopError "invalid-option"
 * or "unknown-option" for `tracing`.
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
