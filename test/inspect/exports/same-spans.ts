// Compares the spans of a live run with the spans that are made from its log.

import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { type LoopOptions, runToolLoop } from "turnwright";
import { parseRunLog, type RunLog, runLog } from "turnwright/inspect";
import type { RunLogOptions } from "../../../src/inspect/log/middleware.ts";
import { recordSpans, tracing } from "turnwright/observe";
import type { TracingOptions } from "../../../src/observe/tracing/tracing-options.ts";
import { createMockProvider, createTestClock, text } from "turnwright/testing";
import { setUpTracing, type TracingStage } from "../../tracing/stage.ts";
import { addWatchers } from "../../add-watchers.ts";

export interface BothTraces {
  readonly live: TracingStage;
  readonly recorded: TracingStage;
  readonly log: RunLog;
}

/** Wraps options so that a run is traced and logged. `end` makes spans from the log. */
export function traceTwice(
  how: TracingOptions = {},
  clock?: RunLogOptions["clock"],
): {
  wrap(options: LoopOptions, isNew?: boolean): LoopOptions;
  readonly lines: readonly string[];
  end(): BothTraces;
} {
  const live = setUpTracing(how);
  const recorded = setUpTracing(how);
  const lines: string[] = [];
  const sink = { write: (line: string) => lines.push(line) };
  return {
    lines,
    // A new sink knows nothing about the earlier execution, so it logs the replayed steps again.
    wrap: (options, isNew = false) =>
      addWatchers(addWatchers(options, runLog({ to: isNew ? { ...sink } : sink, clock })), tracing(live.options)),
    end() {
      const log = parseRunLog(lines.join(""));
      const { tracerProvider } = recorded.options;
      recordSpans(log, { ...how, tracerProvider });
      return { live, recorded, log };
    },
  };
}

export async function runTwice(options: Partial<LoopOptions>, how: TracingOptions = {}): Promise<BothTraces> {
  const both = traceTwice(how);
  const clock = createTestClock();
  const provider = createMockProvider([text("Hello.")]);
  const messages: LoopOptions["messages"] = [{ role: "user", content: "Go." }];
  const running = runToolLoop(both.wrap({ provider, messages, runId: "r", clock, ...options }));
  const ended = running.catch(() => undefined);
  await clock.runAll();
  await ended;
  return both.end();
}

const output = "gen_ai.output.messages";
const firstChunk = "gen_ai.response.time_to_first_chunk";

export interface PlainSpan {
  readonly name: string;
  readonly inside: readonly string[];
  readonly [fact: string]: unknown;
}

/** Leaves out ids and times. The spans are in the order of their places in the tree. */
export function plainSpans({ spans }: TracingStage): readonly PlainSpan[] {
  const all = spans();
  const byId = new Map(all.map((span) => [span.spanContext().spanId, span]));
  const parentsOf = (span: ReadableSpan): readonly ReadableSpan[] => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    return parent === undefined ? [] : [...parentsOf(parent), parent];
  };
  const plain = all.map((span): PlainSpan => {
    const { [firstChunk]: seconds, [output]: said, ...attributes } = span.attributes;
    return {
      name: span.name,
      inside: parentsOf(span).map(placeOf),
      kind: span.kind,
      status: span.status,
      attributes,
      // The log has the ids that the run invented for calls without an id.
      said: String(said).replaceAll(/"id":"call_i\d+_\d+",/g, ""),
      hasFirstChunk: seconds !== undefined,
      events: span.events.map(({ name, attributes: facts }) => ({ name, facts: facts ?? {} })),
    };
  });
  return plain
    .map((span) => [JSON.stringify(span), span] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, span]) => span);
}

function placeOf({ name, attributes }: ReadableSpan): string {
  return `${name} ${String(attributes["gen_ai.tool.call.id"] ?? attributes["turnwright.run.id"])}`;
}

/** Returns the start and end of each span in milliseconds since 1970. */
export function timesOf({ spans }: TracingStage): readonly (readonly [place: string, start: number, end: number])[] {
  const toMs = ([seconds, nanos]: readonly [number, number]): number => seconds * 1000 + nanos / 1e6;
  const timed = spans().map(
    (span) =>
      [`${placeOf(span)} ${String(span.attributes["turnwright.iteration"])}`, toMs(span.startTime), toMs(span.endTime)] as const,
  );
  return timed.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
