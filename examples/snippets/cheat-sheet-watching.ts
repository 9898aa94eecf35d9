// A summary for llms.txt: tracing, events and other ways to observe runs. If a type here differs from the real type, the compiler
// reports an error.

import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import type { Journal, Json, LoopOptions, Middleware } from "turnwright";
import * as inspect from "turnwright/inspect";
import * as observe from "turnwright/observe";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type SpanOptions = ArgumentOf<typeof observe.recordSpans, 1>;
type ContentKind = ArgumentOf<NonNullable<ArgumentOf<typeof observe.tracing>["redact"]>, 1>;
type RerunPoint = ArgumentOf<typeof inspect.rerunFrom, 1>;
type RerunOptions = ArgumentOf<typeof inspect.rerunFrom, 2>;
type PageLog = Exclude<ArgumentOf<typeof inspect.renderRunPage>, readonly unknown[]>;

// #region otel
interface OtelEntry {
  // middleware that makes spans and metrics: runToolLoop({ provider, tools, messages, middleware: [tracing()] })
  tracing(options?: {
    tracer?: Tracer; // default: from tracerProvider, or from the global provider when the run begins
    tracerProvider?: TracerProvider;
    meter?: Meter; // likewise
    meterProvider?: MeterProvider;
    agentName?: string; // invoke_agent {agentName}
    captureContent?: boolean; // false: no text from messages, arguments, results or errors
    redact?: (content: Json, kind: ContentKind) => Json | undefined; // kind: system, input-messages, output-messages, tool-arguments, tool-result
  }): Middleware;
  recordSpans(log: inspect.RunLog, options?: SpanOptions): void; // the same spans, from a RunLog; options as above, without meters
}
// #endregion otel

// #region diagnostics
interface DiagnosticsEntry {
  runChannel: "turnwright:run"; // tracing:turnwright:run:start, :end, :asyncStart, :asyncEnd, :error; messages are RunMessage
  iterationChannel: "turnwright:iteration"; // IterationMessage
  toolChannel: "turnwright:tool"; // ToolMessage
  diagnostics(options?: { captureContent?: boolean }): Middleware;
}
// #endregion diagnostics

// #region inspect
interface InspectEntry {
  // middleware that writes a log: runToolLoop({ provider, tools, messages, middleware: [runLog({ to: "run.jsonl" })] })
  runLog(log: {
    to: string | inspect.RunLogSink; // a file, which later runs and resumed runs continue; or { write(line) }
    redact?: (text: string, place: inspect.RunLogPlace) => string; // credentials are always removed
    clock?: { now(): number }; // Date
    onError?: (error: unknown) => void; // called once; the log ends, the run continues. Default: a process warning
  }): Middleware;
  readRunLog(path: string): Promise<inspect.RunLog>; // runs > iterations > request, firstToken, attempts, output, calls > runs
  parseRunLog(text: string): inspect.RunLog; // request.messages() returns all messages of the request
  renderRunPage(logs: PageLog | readonly PageLog[]): Promise<string>; // an HTML page that loads nothing
  toChromeTrace(log: inspect.RunLog, options?: { captureContent?: boolean }): string; // JSON for Perfetto, speedscope and chrome://tracing
  toMarkdown(run: inspect.LoggedRun, options?: { system?: boolean; reasoning?: boolean; maxChars?: number }): string; // true, true, 4,000 a text
  journalToRunLog(source: string | Journal): Promise<string>; // the text of a log, with what a journal holds
  // options of a run that repeats another one up to an iteration, and then continues with the model: runToolLoop(await rerunFrom(...))
  rerunFrom<Output>(
    source: string | inspect.RunLog | Journal, // the path of a log or of a journal file
    at: RerunPoint, // { iteration, runId? }
    options: RerunOptions, // provider, tools, system, ...: the options of a run without its messages
  ): Promise<LoopOptions<Output>>;
}
// #endregion inspect

inspect satisfies InspectEntry;
observe satisfies OtelEntry & DiagnosticsEntry;
expectNone<Differing<NonNullable<Parameters<OtelEntry["tracing"]>[0]>, ArgumentOf<typeof observe.tracing>>>();
expectNone<Differing<OtelEntry & DiagnosticsEntry, typeof observe>>();
expectNone<Differing<NonNullable<Parameters<DiagnosticsEntry["diagnostics"]>[0]>, ArgumentOf<typeof observe.diagnostics>>>();
expectNone<Differing<InspectEntry, typeof inspect>>();
expectNone<Differing<Parameters<InspectEntry["runLog"]>[0], ArgumentOf<typeof inspect.runLog>>>();
expectNone<Differing<NonNullable<Parameters<InspectEntry["toMarkdown"]>[1]>, ArgumentOf<typeof inspect.toMarkdown, 1>>>();
expectNone<Differing<NonNullable<Parameters<InspectEntry["toChromeTrace"]>[1]>, ArgumentOf<typeof inspect.toChromeTrace, 1>>>();
