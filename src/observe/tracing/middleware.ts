import { type Attributes, type Context, context, SpanKind, trace } from "@opentelemetry/api";
import type {
  Json,
  LoopEvent,
  LoopEvents,
  Middleware,
  ModelRequest,
  Provider,
  ToolContext,
  ToolDefinition,
} from "../../core/index.ts";
import { isRecord } from "../../core/kit.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import {
  cleanName,
  errorTypeOf,
  type EventHandlers,
  handleEvent,
  isFailed,
  type ObservedRun,
  observeRuns,
  type RunObserver,
  type StartObserving,
  type StreamObserver,
} from "../run-observer.ts";
import { rowOf } from "../../shared/event-table.ts";
import { countsAsError } from "../../shared/to-outcome.ts";
import { ChatSpan, type StreamError, SummarySpan } from "./chat-span.ts";
import { endingFacts, errorFacts, genAi, limitFacts, operations, otherError, own, settingsFacts, thrownType } from "./facts.ts";
import { liveClock, type LiveSpan, noteFacts, type SpanClock } from "./live-span.ts";
import { createTracePorts, type TracePorts } from "./instruments.ts";
import { checkTracingOptions, type TracingOptions } from "./tracing-options.ts";

export interface ToolPlace {
  readonly ports: TracePorts;
  readonly parent: Context;
  readonly agentName: string | undefined;
  /** The called tool. Undefined if the model invented the tool name. */
  readonly definition: ToolDefinition | undefined;
}

/** `args` is undefined if content is not captured. */
export interface SpannedCall extends Omit<LoopEvents["tool-start"], "args"> {
  readonly args: Json | undefined;
}

export class ToolSpan {
  readonly #span: LiveSpan;
  readonly #place: ToolPlace;
  readonly #startedAt: number;
  /** False if the call was refused, or if it reused the result of the same call in a discarded attempt. */
  #hasRun = false;

  constructor({ callId, name, index, args, iteration }: SpannedCall, place: ToolPlace) {
    const { ports, parent, definition } = place;
    this.#place = place;
    this.#startedAt = ports.clock.now();
    const { content } = ports;
    const attributes = {
      [genAi.operationName]: operations.call,
      [genAi.toolName]: cleanName(name),
      [genAi.toolCallId]: cleanName(callId),
      [genAi.toolType]: "function",
      [genAi.toolDescription]: definition?.description,
      [genAi.conversationId]: ports.conversationId,
      [own.iteration]: iteration,
      [own.toolIndex]: index,
    };
    // Omits a tool name that the model invented, because span names must come from a small set.
    const spanName = definition === undefined ? operations.call : `${operations.call} ${name}`;
    this.#span = ports.start(spanName, { kind: SpanKind.INTERNAL, attributes }, parent);
    if (args !== undefined)
      this.#span.set({ [genAi.toolCallArguments]: content.write(content.keep("tool-arguments", () => args)) });
  }

  /** The context in which the tool runs. Reading this property marks the call as executed. */
  get context(): Context {
    this.#hasRun = true;
    return this.#span.context;
  }

  end({ name, outcome, result }: LoopEvents["tool-end"]): void {
    const { ports, agentName } = this.#place;
    const { content } = ports;
    const error = errorFacts(countsAsError(outcome) ? outcome : undefined);
    const kept = content.keep("tool-result", () => result);
    this.#span.set({
      ...error,
      [own.toolOutcome]: outcome,
      [own.toolExecuted]: this.#hasRun,
      [genAi.toolCallResult]: content.write(kept),
    });
    if (countsAsError(outcome)) this.#span.fail(content.describe(reasonOf(kept)));
    this.#span.end();
    if (!this.#hasRun) return;
    const seconds = (ports.clock.now() - this.#startedAt) / 1_000;
    const dimensions = { [genAi.toolName]: name, [genAi.toolType]: "function", [genAi.agentName]: agentName };
    ports.instruments.toolDuration(seconds, { ...dimensions, ...error });
  }

  abandon(errorType: string): void {
    this.#span.set({ ...errorFacts(errorType), [own.toolExecuted]: this.#hasRun });
    this.#span.fail(undefined);
    this.#span.end();
  }
}

function reasonOf(kept: Json | undefined): Json | undefined {
  return isRecord(kept) ? kept["reason"] : undefined;
}

/**
 * Returns middleware that records the run with OpenTelemetry, in spans and metrics that follow its conventions for generative
 * AI. The run has the span `invoke_agent {agentName}`, with a child span `chat {model}` for each stream and `execute_tool {tool}`
 * for each tool call. A nested run's span is a child of its call's span. The parent of the run's span is the span that is
 * active when the run begins. Streams and tools run inside their spans, so spans from HTTP clients and from your code become
 * child spans. Replayed steps have no spans. Without a tracer provider, nothing is recorded.
 *
 * Text in messages, arguments, results and errors is only recorded if `captureContent` is true.
 *
 * Tracing does not change the run's events or result. Throws LoopError "invalid-option" or "unknown-option" if `options` is invalid.
 *
 * Source for the attribute names: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai.
 *
 * @example
 * const result = await runToolLoop({ provider, tools, messages, middleware: [tracing({ agentName: "support" })] });
 */
export function tracing(options: TracingOptions = {}): Middleware {
  const checked = checkTracingOptions(options);
  const { agentName } = checked;
  return observeRuns(
    "tracing",
    (run) =>
      new RunTrace(run, { tracing: checked, clock: liveClock, parent: () => context.active(), agentName, isRecalled: false }),
  );
}

const handlers: EventHandlers<RunTrace> = {
  "iteration-start": (run, event) => run.startIteration(event),
  "iteration-end": (run, event) => run.endIteration(event),
  "tool-args-end": (run, event) => run.noteArgs(event),
  "tool-start": (run, event) => run.startTool(event),
  "tool-end": (run, event) => run.endTool(event),
  "run-end": (run, event) => run.end(event),
  "compaction-start": (run, event) => run.startCompaction(event),
  "compaction-end": (run, event) => run.endCompaction(event),
};

interface RunPlace {
  readonly tracing: TracingOptions;
  parent(): Context;
  readonly agentName: string | undefined;
  readonly clock: SpanClock;
  /** True if the run is nested in a replayed call. Its span then begins with the first event that is not replayed. */
  readonly isRecalled: boolean;
}

/** Records one run: a span for the run, and child spans for its model streams and tool calls. */
export class RunTrace implements RunObserver {
  readonly #run: ObservedRun;
  readonly #place: RunPlace;
  readonly #ports: TracePorts;
  #startedAt: number;
  #begun: LiveSpan | undefined;
  readonly #tools = new Map<string, ToolSpan>();
  /** Ids of calls that an earlier execution started but that have not finished. Such a call may continue in this execution. */
  readonly #recalled = new Set<string>();
  /** The arguments of the current iteration's calls, for the spans of calls that do not start. Empty unless content is captured. */
  readonly #args = new Map<string, Json>();
  #agent: string | undefined;
  #continuation = 0;
  #chat: ChatSpan | undefined;
  /** A stream that failed. Its span stays open until a later event contains the error. */
  #failed: { readonly chat: ChatSpan; readonly end: LoopEvents["iteration-end"] } | undefined;
  #summary: SummarySpan | undefined;
  #replayedIterations = 0;
  #resumed = false;
  #errorType: string | undefined;
  #end: LoopEvents["run-end"] | undefined;
  #known: { readonly definitions: readonly ToolDefinition[]; readonly byName: ReadonlyMap<string, ToolDefinition> } | undefined;

  constructor(run: ObservedRun, place: RunPlace) {
    this.#run = run;
    this.#place = place;
    this.#ports = createTracePorts(place.tracing, run.options.session?.conversationId, place.clock);
    this.#startedAt = place.clock.now();
    if (!place.isRecalled) this.#begin();
  }

  get #span(): LiveSpan {
    return this.#begun ?? this.#begin();
  }

  #begin(): LiveSpan {
    const { options, provider, runId } = this.#run;
    const { agentName } = this.#place;
    const attributes = {
      [genAi.operationName]: operations.run,
      [genAi.providerName]: provider.id,
      [genAi.requestModel]: provider.model,
      [genAi.agentName]: agentName,
      [genAi.conversationId]: this.#ports.conversationId,
      ...settingsFacts(options.modelSettings),
      ...limitFacts(options.limits),
      [own.runId]: runId,
    };
    const name = agentName === undefined ? operations.run : `${operations.run} ${agentName}`;
    this.#startedAt = this.#place.clock.now();
    this.#begun = this.#ports.start(name, { kind: SpanKind.INTERNAL, attributes }, this.#place.parent());
    return this.#begun;
  }

  onEvent(event: LoopEvent): void {
    if (event.replayed === true) this.#resumed = true;
    if (rowOf(event).span !== undefined) this.#note(event);
    handleEvent(handlers, this, event);
  }

  startIteration({ continuation, replayed, agent }: LoopEvents["iteration-start"]): void {
    this.#endFailed(undefined);
    // The previous stream's span is still open only if a journal ran a model step twice.
    this.#chat?.abandon(otherError);
    this.#chat = undefined;
    this.#continuation = continuation;
    if (continuation === 0) this.#args.clear();
    this.#agent = agent;
    if (replayed === true) this.#replayedIterations += 1;
    else if (this.#begun === undefined) this.#begin();
  }

  /**
   * Begins the span of a stream. Returns undefined if the stream already has a span. This happens if a hook returned a provider that is
   * already observed.
   */
  startStream(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined {
    if (this.#chat !== undefined) return undefined;
    this.#chat = new ChatSpan(request, provider, {
      ports: this.#ports,
      parent: this.#span.context,
      continuation: this.#continuation,
      agent: this.#agent,
    });
    return this.#chat;
  }

  /** Ends the span of an iteration. Does nothing if there is none, because the iteration was replayed, or ended before its stream began. */
  endIteration(end: LoopEvents["iteration-end"]): void {
    const chat = this.#chat;
    this.#chat = undefined;
    if (chat === undefined) return;
    if (isFailed(end.status)) this.#failed = { chat, end };
    else chat.end(end, undefined);
  }

  /** Ends a failed stream's span, if there is one. If the failure ended the run, the error is in `ending`. */
  #endFailed(ending: LoopEvents["run-end"] | undefined): void {
    const failed = this.#failed;
    this.#failed = undefined;
    failed?.chat.end(failed.end, toStreamError(failed.end, ending));
  }

  startCompaction({ replayed }: LoopEvents["compaction-start"]): void {
    this.#summary = replayed === true ? undefined : new SummarySpan(this.#ports);
  }

  endCompaction(event: LoopEvents["compaction-end"]): void {
    this.#summary?.end(event, this.#span.context);
    this.#summary = undefined;
  }

  noteArgs({ callId, args }: LoopEvents["tool-args-end"]): void {
    if (this.#ports.content.isOn) this.#args.set(callId, args);
  }

  startTool(event: LoopEvents["tool-start"]): void {
    if (event.replayed === true) this.#recalled.add(event.callId);
    else this.#tools.set(event.callId, this.#beginTool(event));
  }

  #beginTool(call: SpannedCall): ToolSpan {
    const place = { ports: this.#ports, parent: this.#span.context, agentName: this.#place.agentName };
    return new ToolSpan(call, { ...place, definition: this.#definitionOf(call.name) });
  }

  #definitionOf(name: string): ToolDefinition | undefined {
    const definitions = this.#run.definitions();
    if (this.#known?.definitions !== definitions) {
      this.#known = { definitions, byName: new Map(definitions.map((definition) => [definition.name, definition])) };
    }
    return this.#known.byName.get(name);
  }

  /** Ends a call's span. A refused call and a result from outside have no `tool-start`, so their spans have no duration. */
  endTool(event: LoopEvents["tool-end"]): void {
    const { callId, replayed } = event;
    const open = this.#tools.get(callId);
    const isRecalled = this.#recalled.delete(callId);
    if (open === undefined && (isRecalled || replayed === true)) return;
    (open ?? this.#beginTool({ ...event, args: this.#args.get(callId) })).end(event);
    this.#tools.delete(callId);
  }

  runTool<Value>({ callId }: Pick<ToolContext, "callId">, execute: () => Value): Value {
    const inside = this.#tools.get(callId)?.context ?? this.#begun?.context;
    return inside === undefined ? execute() : context.with(inside, execute);
  }

  /**
   * Observes a nested run. The parent of the nested run's span is the active span, because the tool may have created its own span. If no
   * span is active, the parent is the call's span.
   */
  nest({ callId, name }: Pick<ToolContext, "callId" | "name">): StartObserving {
    const { tracing, clock } = this.#place;
    const active = context.active();
    const call = this.#tools.get(callId)?.context;
    const parent = (): Context => {
      if (call === undefined) return this.#span.context;
      return trace.getSpan(active) === undefined ? call : active;
    };
    return (run) => new RunTrace(run, { tracing, clock, parent, agentName: name, isRecalled: call === undefined });
  }

  #note(event: LoopEvent): void {
    // Skips replayed events, and emitted text, which arrives in too many pieces.
    if (event.replayed === true || (event.type === "tool-emit" && event.part.type === "text")) return;
    const span = event.type === "attempt-discarded" ? (this.#chat?.span ?? this.#span) : this.#span;
    span.note(`turnwright.${event.type.replaceAll("-", "_")}`, noteFacts(event, this.#ports.content.isOn));
  }

  end(event: LoopEvents["run-end"]): void {
    this.#end = event;
    if (this.#begun === undefined) return;
    this.#endFailed(event);
    const { status, reason } = event;
    this.#errorType = errorTypeOf(status, reason);
    this.#span.set(endingFacts(event));
    if (this.#errorType !== undefined) this.#fail("error" in reason ? reason.error.message : reason.kind);
  }

  close(failure: { readonly error: unknown } | undefined, isNew: boolean): void {
    // Creates a span for a new run that failed before its first event. A completely replayed run gets none.
    if (isNew && this.#begun === undefined && this.#end !== undefined) {
      this.#begin();
      this.end(this.#end);
    }
    if (failure !== undefined) this.#break(failure.error);
    this.#endOpen(this.#errorType ?? otherError);
    if (this.#begun === undefined) return;
    if (this.#resumed) this.#begun.set({ [own.resumed]: true, [own.replayedIterations]: this.#replayedIterations });
    this.#begun.end();
    const dimensions: Attributes = {
      [genAi.agentName]: this.#place.agentName,
      [genAi.requestModel]: this.#run.provider.model,
      ...errorFacts(this.#errorType),
    };
    this.#ports.instruments.runDuration((this.#place.clock.now() - this.#startedAt) / 1_000, dimensions);
  }

  /** Records the error that ended a run without an end event, for example because its journal threw. */
  #break(error: unknown): void {
    this.#errorType = thrownType(error);
    this.#span.set({ ...errorFacts(this.#errorType), [own.broken]: true });
    this.#fail(toPlainError(error).message);
  }

  #fail(message: string): void {
    const { content } = this.#ports;
    this.#span.fail(content.describe(content.keep("error", () => message)));
  }

  #endOpen(errorType: string): void {
    this.#endFailed(undefined);
    this.#chat?.abandon(errorType);
    for (const tool of this.#tools.values()) tool.abandon(errorType);
  }
}

const streamEndings: ReadonlySet<string> = new Set([
  "provider-error",
  "stream-idle",
  "first-chunk",
  "stream-too-long",
  "wall-clock",
]);

function toStreamError(end: LoopEvents["iteration-end"], ending: LoopEvents["run-end"] | undefined): StreamError | undefined {
  if (ending === undefined) return { type: end.status };
  const { status, reason } = ending;
  const type = errorTypeOf(status, reason);
  if (type === undefined || !streamEndings.has(reason.kind)) return undefined;
  if (reason.kind !== "provider-error") return { type };
  return { type, httpStatus: reason.error.status, message: reason.error.message };
}
