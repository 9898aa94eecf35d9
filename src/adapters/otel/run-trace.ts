// The spans of one run: its own, and below it those of its streams and calls.

import { type Attributes, type Context, context, type Span, SpanKind, trace } from "@opentelemetry/api";
import {
  type LoopEvent,
  type LoopEvents,
  type LoopEventType,
  type ModelRequest,
  type Provider,
  type ToolContext,
  type ToolDefinition,
  toPlainError,
} from "../../spi.ts";
import { errorTypeOf, handleEvent, heardBy, isFailed } from "../../spi-observe.ts";
import type { EventHandlers, ObservedRun, RunObserver, StartObserving, StreamObserver } from "../../spi-observe.ts";
import { ChatSpan, type StreamError } from "./chat-span.ts";
import { definedIn, endingFacts, errorFacts, limitFacts, settingsFacts, thrownType } from "./facts.ts";
import { genAi, operations, otherError, own } from "./names.ts";
import { type Noted, notes } from "./span-events.ts";
import { ToolSpan } from "./tool-span.ts";
import { createTracePorts, type TracePorts } from "./trace-ports.ts";
import type { TracingOptions } from "./tracing-options.ts";

const handlers: EventHandlers<RunTrace> = {
  "pass-start": (run, event) => run.startPass(event),
  "pass-end": (run, event) => run.endPass(event),
  "tool-start": (run, event) => run.startTool(event),
  "tool-end": (run, event) => run.endTool(event),
  "run-end": (run, event) => run.end(event),
  "attempt-discarded": (run, event) => run.note("attempt-discarded", event),
  restart: (run, event) => run.note("restart", event),
  "loop-detected": (run, event) => run.note("loop-detected", event),
  "approval-asked": (run, event) => run.note("approval-asked", event),
  "approval-decided": (run, event) => run.note("approval-decided", event),
  "late-result": (run, event) => run.note("late-result", event),
};

/** The events that spans are made of. */
export const heardEvents: readonly LoopEventType[] = heardBy(handlers);

/** What a run's spans hang on, and what the run is called. */
export interface RunPlace {
  readonly tracing: TracingOptions;
  readonly parent: Context;
  readonly agentName: string | undefined;
}

/** One run. */
export class RunTrace implements RunObserver {
  readonly #run: ObservedRun;
  readonly #place: RunPlace;
  readonly #ports: TracePorts;
  readonly #span: Span;
  /** In which the run is. */
  readonly #context: Context;
  readonly #startedAt = performance.now();
  readonly #tools = new Map<string, ToolSpan>();
  #hop = 0;
  #chat: ChatSpan | undefined;
  /** A stream that has failed: why is told with the end of its run. */
  #failed: { readonly chat: ChatSpan; readonly end: LoopEvents["pass-end"] } | undefined;
  #replayedPasses = 0;
  #resumed = false;
  #errorType: string | undefined;
  #known: { readonly definitions: readonly ToolDefinition[]; readonly byName: ReadonlyMap<string, ToolDefinition> } | undefined;

  constructor(run: ObservedRun, place: RunPlace) {
    this.#run = run;
    this.#place = place;
    const { options, provider, runId } = run;
    const { parent, agentName, tracing } = place;
    this.#ports = createTracePorts(tracing, options.session?.conversationId);
    const attributes = definedIn({
      [genAi.operationName]: operations.run,
      [genAi.providerName]: provider.id,
      [genAi.requestModel]: provider.model,
      [genAi.agentName]: agentName,
      [genAi.conversationId]: this.#ports.conversationId,
      ...settingsFacts(options.modelSettings),
      ...limitFacts(options.limits),
      [own.runId]: runId,
    });
    const name = agentName === undefined ? operations.run : `${operations.run} ${agentName}`;
    this.#span = this.#ports.tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  onEvent(event: LoopEvent): void {
    if (event.replayed === true) this.#resumed = true;
    handleEvent(handlers, this, event);
  }

  startPass({ hop, replayed }: LoopEvents["pass-start"]): void {
    this.#endFailed(undefined);
    this.#hop = hop;
    if (replayed === true) this.#replayedPasses += 1;
  }

  startStream(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver {
    this.#chat = new ChatSpan(request, provider, { ports: this.#ports, parent: this.#context, hop: this.#hop });
    return this.#chat;
  }

  /** A pass without a stream was replayed, or ended before it had one. */
  endPass(end: LoopEvents["pass-end"]): void {
    const chat = this.#chat;
    this.#chat = undefined;
    if (chat === undefined) return;
    if (isFailed(end.status)) this.#failed = { chat, end };
    else chat.end(end, undefined);
  }

  /** A hook that failed behind a stream is none of the stream's. */
  #endFailed(ending: LoopEvents["run-end"] | undefined): void {
    const failed = this.#failed;
    this.#failed = undefined;
    failed?.chat.end(failed.end, toStreamError(failed.end, ending));
  }

  startTool(event: LoopEvents["tool-start"]): void {
    if (event.replayed === true) return;
    const place = { ports: this.#ports, parent: this.#context, agentName: this.#place.agentName };
    this.#tools.set(event.callId, new ToolSpan(event, { ...place, definition: this.#definitionOf(event.name) }));
  }

  #definitionOf(name: string): ToolDefinition | undefined {
    const definitions = this.#run.definitions();
    if (this.#known?.definitions !== definitions) {
      this.#known = { definitions, byName: new Map(definitions.map((definition) => [definition.name, definition])) };
    }
    return this.#known.byName.get(name);
  }

  /** The end of a call whose beginning was live is so, too. */
  endTool(event: LoopEvents["tool-end"]): void {
    this.#tools.get(event.callId)?.end(event);
    this.#tools.delete(event.callId);
  }

  runTool<Value>({ callId }: ToolContext, execute: () => Value): Value {
    return context.with(this.#tools.get(callId)?.context ?? this.#context, execute);
  }

  /** Below the span that is active in the call, if there is one: the tool may have made spans of its own. */
  nest({ callId, name }: ToolContext): StartObserving {
    const active = context.active();
    const parent = trace.getSpan(active) === undefined ? (this.#tools.get(callId)?.context ?? this.#context) : active;
    return (run) => new RunTrace(run, { tracing: this.#place.tracing, parent, agentName: name });
  }

  note<Type extends keyof Noted>(type: Type, event: Noted[Type]): void {
    if (event.replayed === true) return;
    const span = type === "attempt-discarded" ? (this.#chat?.span ?? this.#span) : this.#span;
    span.addEvent(`turnwright.${type.replaceAll("-", "_")}`, definedIn(notes[type](event)));
  }

  end(event: LoopEvents["run-end"]): void {
    this.#endFailed(event);
    const { status, reason } = event;
    this.#errorType = errorTypeOf(status, reason);
    this.#span.setAttributes(endingFacts(event));
    if (this.#errorType !== undefined) this.#ports.fail(this.#span, "error" in reason ? reason.error.message : reason.kind);
  }

  close(failure: { readonly error: unknown } | undefined): void {
    if (failure !== undefined) this.#break(failure.error);
    this.#endOpen(this.#errorType ?? otherError);
    if (this.#resumed) this.#span.setAttributes({ [own.resumed]: true, [own.replayedPasses]: this.#replayedPasses });
    this.#span.end();
    const dimensions: Attributes = {
      [genAi.agentName]: this.#place.agentName,
      [genAi.requestModel]: this.#run.provider.model,
      ...errorFacts(this.#errorType),
    };
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    this.#ports.instruments.runDuration.record(seconds, definedIn(dimensions));
  }

  /** A run that broke, as where its journal threw, has told of no end. */
  #break(error: unknown): void {
    this.#errorType = thrownType(error);
    this.#span.setAttributes({ ...errorFacts(this.#errorType), [own.broken]: true });
    this.#ports.fail(this.#span, toPlainError(error).message);
  }

  /** What nobody has said the end of. */
  #endOpen(errorType: string): void {
    this.#endFailed(undefined);
    this.#chat?.abandon(errorType);
    for (const tool of this.#tools.values()) tool.abandon(errorType);
  }
}

/** Endings that are a stream's own. */
const streamEndings: ReadonlySet<string> = new Set(["provider-error", "stream-idle", "first-chunk", "wall-clock"]);

function toStreamError(end: LoopEvents["pass-end"], ending: LoopEvents["run-end"] | undefined): StreamError | undefined {
  if (ending === undefined) return { type: end.status };
  const { status, reason } = ending;
  const type = errorTypeOf(status, reason);
  if (type === undefined || !streamEndings.has(reason.kind)) return undefined;
  if (reason.kind !== "provider-error") return { type };
  return { type, httpStatus: reason.error.status, message: reason.error.message };
}
