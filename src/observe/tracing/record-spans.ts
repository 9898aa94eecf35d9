// Replays a log's lines as a run's events, so that the same code creates the spans of logged and live runs.

import { type FinishReason, type Json, LoopError, type LoopEvent, type ModelChunk, type ModelRequest } from "../../core/index.ts";
import { isRecord, textOf } from "../../core/kit.ts";
import { wasDispatched } from "../../shared/to-outcome.ts";
import type { RunObserver, StartObserving, StreamObserver } from "../run-observer.ts";
import { otherError } from "./facts.ts";
import type { LoggedLine, LoggedRun, RunLog } from "../../shared/run-log.ts";
import { type Execution, toExecutions } from "./recorded-run.ts";
import * as api from "@opentelemetry/api";
import type { SpanClock } from "./live-span.ts";
import { RunTrace } from "./middleware.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

/** The options for `recordSpans`. They have the same meaning as in `tracing`. */
export type RecordSpansOptions = Pick<TracingOptions, "tracer" | "tracerProvider" | "agentName" | "captureContent" | "redact">;

/**
 * Records a log's runs with OpenTelemetry: the same spans that `tracing` records during a run, with the same names, attributes,
 * parents and statuses. Start and end times come from the log, in milliseconds. `log` is the result of `readRunLog` or `parseRunLog`. Each
 * execution of a resumed run has its own span. The parent of an outermost run is the span that is active when `recordSpans` is called. No
 * metrics are recorded. All spans have ended when the function returns.
 *
 * Some facts are not in a log:
 *
 * - A run's settings are those of its first request. `tracing` reports the settings before `prepareIteration` changes them.
 * - The time to the first chunk is the time to the first text, reasoning or call. With a wrapper such as `withRetry`, the first
 *   text, reasoning or call of any attempt counts.
 * - In `gen_ai.output.messages`, calls have the ids and arguments that the run uses, not those that the model wrote.
 * - `turnwright.tool.executed` comes from the outcome, so it is also true for a call that reused the result of a discarded
 *   attempt.
 * - If no request in the log contains a tool, the spans of its calls have no description, and their names do not contain the tool's
 * name.
 * - Spans that tools and HTTP clients create are missing. A nested run is always a child of its call.
 *
 * If the log does not contain a run's end, its span has the attribute `turnwright.run.broken`, and ends at the time of the
 * run's last line.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if `options` is invalid, and "log-damaged" if a line in the log has an
 * invalid field.
 *
 * @example
 * recordSpans(await readRunLog("run.jsonl"), { tracerProvider, agentName: "support" });
 */
export function recordSpans(log: RunLog, options: RecordSpansOptions = {}): void {
  const tracing = { ...checkTracingOptions(options), meter: undefined, meterProvider: noMeters };
  for (const run of log.runs) recordRun(run, tracing);
}

const noMeters: api.MeterProvider = { getMeter: () => api.createNoopMeter() };

function recordRun(run: LoggedRun, tracing: TracingOptions): void {
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
      { path: "run log", problem: `the run "${run.runId}" has an invalid line` },
      { cause: error },
    );
  }
}

interface PlayPorts {
  readonly start: StartObserving;
  /** Sets the time for the following spans and events, in milliseconds since 1970. */
  setTime(at: number): void;
}

function playExecution(execution: Execution, ports: PlayPorts): void {
  ports.setTime(execution.first.at);
  const observer = ports.start(execution.observed);
  if (observer !== undefined) new ExecutionPlayer(execution, ports, observer).play();
}

class ExecutionPlayer {
  readonly #execution: Execution;
  readonly #ports: PlayPorts;
  readonly #observer: RunObserver;
  #stream: StreamObserver | undefined;
  /** The tool names of the calls that have started but not finished, by call id. */
  readonly #open = new Map<string, string>();
  readonly #played = new Set<string>();
  /** The ids of the calls that an earlier execution started. */
  readonly #begun: ReadonlySet<string>;
  /**
   * The ids of calls that are waiting for a result from outside. When the result arrives, the log contains a second `tool-end` for the
   * call, and in older logs a second `tool-start` too.
   */
  readonly #deferred: Set<string>;
  readonly #nested: ReadonlyMap<string, NestedRuns>;
  #failure: { readonly error: unknown } | undefined = {
    error: Object.assign(new Error("The log does not contain the end of this run."), { name: otherError }),
  };

  constructor(execution: Execution, ports: PlayPorts, observer: RunObserver) {
    this.#execution = execution;
    this.#ports = ports;
    this.#observer = observer;
    const { before } = execution;
    this.#begun = new Set(before.flatMap((line) => (line.type === "tool-start" ? [textOf(line["callId"])] : [])));
    this.#deferred = new Set(before.flatMap((line) => (line["outcome"] === "deferred" ? [textOf(line["callId"])] : [])));
    this.#nested = findNested(execution);
  }

  play(): void {
    const { first, lines } = this.#execution;
    this.#playRecorded();
    for (const line of lines) {
      this.#ports.setTime(line.at);
      this.#take(line);
    }
    for (const [callId, name] of this.#open) this.#runTool(callId, name);
    // A resumed run does not start a recorded call again, but the call's nested run may continue, so it is replayed here.
    for (const [callId, { name }] of this.#nested) this.#playNested(callId, name);
    this.#ports.setTime(lines.at(-1)?.at ?? first.at);
    this.#observer.close(this.#failure, false);
  }

  /** Sends the start of each iteration that a resumed run replayed. The lines of this execution do not contain these iterations. */
  #playRecorded(): void {
    const { before, lines } = this.#execution;
    const again = new Set(lines.flatMap((line) => (line.type === "iteration-start" ? [keyOf(line)] : [])));
    const recorded = new Map(before.flatMap((line) => (line.type === "output" ? [[keyOf(line), line] as const] : [])));
    for (const [key, { iteration, continuation = 0 }] of recorded) {
      const start = { type: "iteration-start", iteration, continuation, replayed: true };
      if (!again.has(key)) this.#observer.onEvent(start as unknown as LoopEvent);
    }
  }

  #take(line: LoggedLine): void {
    const callId = textOf(line["callId"]);
    const name = textOf(line["name"]);
    switch (line.type) {
      case "request":
        return this.#startStream(line);
      case "first-token":
        return this.#send({ type: "text-delta", text: "" });
      case "output":
        return this.#takeOutput(line);
      case "run-error":
        this.#failure = { error: line["error"] };
        return undefined;
      case "run-end":
        this.#failure = undefined;
        break;
      case "tool-start":
        this.#open.set(callId, name);
        break;
      case "tool-end":
        this.#open.delete(callId);
        if (this.#hasRun(callId, textOf(line["outcome"]))) this.#runTool(callId, name);
        if (line["outcome"] === "deferred") this.#deferred.add(callId);
        break;
      case "iteration-start":
        this.#stream = undefined;
        break;
      default:
    }
    return this.#observer.onEvent(line as unknown as LoopEvent);
  }

  #startStream(line: LoggedLine): void {
    const { iteration, settings, system } = line;
    const messages = this.#execution.messagesOf.get(line);
    const request = {
      iteration,
      settings,
      system,
      // Uses a getter because joining the messages takes time and only spans with content need them.
      get messages() {
        return messages?.() ?? [];
      },
    };
    const provider = { id: textOf(line["provider"]), model: textOf(line["model"]) };
    this.#stream = this.#observer.startStream?.(request as unknown as ModelRequest, provider);
  }

  #send(chunk: ModelChunk): void {
    this.#stream?.onChunk?.(chunk);
  }

  #takeOutput({ text, reasoning, calls, finish, iteration = null }: LoggedLine): void {
    if (typeof reasoning === "string") this.#send({ type: "reasoning-delta", text: reasoning });
    if (typeof text === "string") this.#send({ type: "text-delta", text });
    for (const call of Array.isArray(calls) ? calls : []) this.#sendCall(call, iteration);
    if (typeof finish === "string") this.#send({ type: "finish", reason: finish as FinishReason });
  }

  #sendCall(call: unknown, iteration: Json): void {
    if (!isRecord(call)) return;
    const { callId, name, args } = call;
    this.#observer.onEvent({ type: "tool-args-end", iteration, callId, name, args } as unknown as LoopEvent);
    const text = typeof args === "string" ? { argsText: args } : {};
    this.#send({ type: "call-ready", id: textOf(callId), name: textOf(name), args, ...text } as ModelChunk);
  }

  #hasRun(callId: string, outcome: string): boolean {
    const isCutOff = outcome === "interrupted" && this.#begun.has(callId);
    return wasDispatched(outcome) && !isCutOff && !this.#deferred.has(callId);
  }

  #runTool(callId: string, name: string): void {
    this.#observer.runTool({ callId }, () => this.#playNested(callId, name));
  }

  /** Replays the executions of nested runs that began during this execution. */
  #playNested(callId: string, name: string): void {
    if (this.#played.has(callId)) return;
    this.#played.add(callId);
    const { first, until } = this.#execution;
    for (const execution of this.#nested.get(callId)?.runs.flatMap(toExecutions) ?? []) {
      if (execution.first.at < first.at || execution.first.at >= until) continue;
      const start = this.#observer.nest({ callId, name });
      playExecution(execution, { ...this.#ports, start });
    }
  }
}

interface NestedRuns {
  readonly name: string;
  readonly runs: readonly LoggedRun[];
}

/**
 * Groups the nested runs by call id. Joins the nested runs of calls with the same id, because a resumed run's log may contain the same call
 * twice.
 */
function findNested({ run }: Execution): ReadonlyMap<string, NestedRuns> {
  const nested = new Map<string, NestedRuns>();
  for (const { calls } of run.iterations) {
    for (const { callId, name, runs } of calls) {
      if (runs.length > 0) nested.set(callId, { name, runs: [...(nested.get(callId)?.runs ?? []), ...runs] });
    }
  }
  return nested;
}

function keyOf({ iteration, continuation = 0 }: LoggedLine): string {
  return JSON.stringify([iteration, continuation]);
}
