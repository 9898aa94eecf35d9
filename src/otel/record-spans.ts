import * as api from "@opentelemetry/api";
import { LoopError } from "../core/entry-kit.ts";
import type { SpanClock } from "./live-span.ts";
import { type RecordedLog, type RecordedRun, toExecutions } from "./recorded-run.ts";
import { playExecution } from "./play-execution.ts";
import { RunTrace } from "./run-trace.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

/** The options of `recordSpans`. They mean the same as in `withTracing`. */
export type RecordSpansOptions = Pick<TracingOptions, "tracer" | "tracerProvider" | "agentName" | "captureContent" | "redact">;

/**
 * Records the runs of a log with OpenTelemetry: the same spans that `withTracing` records during a run, with the same names,
 * attributes, parents and statuses. Start and end times are those of the log, in milliseconds. `log` is the result of
 * `readRunLog` or `parseRunLog`. Each execution of a resumed run has its own span. The parent of an outermost run is the span
 * that is active when `recordSpans` is called. No metrics are recorded. All spans have ended when the function returns.
 *
 * Some facts are not in a log:
 *
 * - The settings of a run are those of its first request. `withTracing` reports the settings before `prepareIteration` changes them.
 * - The time to the first chunk is the time to the first text, reasoning or call. With a wrapper such as `withRetry`, the first
 *   text, reasoning or call of all attempts counts.
 * - The ids and arguments of calls in `gen_ai.output.messages` are those that the run uses, not those that the model wrote.
 * - `turnwright.tool.executed` comes from the outcome, so it is also true for a call that reused the result of a discarded
 *   attempt.
 * - The description of a tool that no request shows is missing, and so is its name in the name of the span.
 * - Spans that tools and HTTP clients create are missing. A nested run is always a child of its call.
 *
 * If the log does not contain the end of a run, its span has the attribute `turnwright.run.broken`, and ends at the time of the
 * run's last line.
 *
 * Throws LoopError "invalid-option" or "unknown-option" for `options`, and "log-damaged" for a line whose fields do not fit.
 *
 * @example
 * recordSpans(await readRunLog("run.jsonl"), { tracerProvider, agentName: "support" });
 */
export function recordSpans(log: RecordedLog, options: RecordSpansOptions = {}): void {
  const tracing = { ...checkTracingOptions(options), meter: undefined, meterProvider: noMeters };
  for (const run of log.runs) recordRun(run, tracing);
}

const noMeters: api.MeterProvider = { getMeter: () => api.createNoopMeter() };

function recordRun(run: RecordedRun, tracing: TracingOptions): void {
  const { agentName } = tracing;
  let at = run.startedAt;
  const clock: SpanClock = { now: () => at, wallTime: () => at };
  const setTime = (time: number): void => {
    at = time;
  };
  try {
    for (const execution of toExecutions(run)) {
      const place = { tracing, clock, parent: () => api.context.active(), agentName, isRecalled: false };
      playExecution(execution, { setTime, start: (observed) => new RunTrace(observed, place) });
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new LoopError(
      "log-damaged",
      { path: "run log", problem: `the run "${run.runId}" has a line that does not fit` },
      { cause: error },
    );
  }
}
