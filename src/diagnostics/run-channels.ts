// Tells of one run on the channels: of the run itself, its iterations and its calls.

import { type LoopEvent, type LoopEvents, type LoopEventType, type ToolContext, toPlainError } from "../core/provider-kit.ts";
import { countsAsError, cutName, errorTypeOf, handleEvent, heardBy, isFailed } from "../core/observe-kit.ts";
import type { EventHandlers, ObservedRun, RunObserver, StartObserving, StreamObserver } from "../core/observe-kit.ts";
import { type ChannelTrace, type Scope, TraceSource } from "./channel-trace.ts";
import {
  iterationChannel,
  type IterationMessage,
  runChannel,
  type RunMessage,
  toolChannel,
  type ToolMessage,
} from "./channels.ts";

const runs = new TraceSource<RunMessage>(runChannel);
const iterationSource = new TraceSource<IterationMessage>(iterationChannel);
const tools = new TraceSource<ToolMessage>(toolChannel);

/** Whether anybody listens on any of the channels. */
export function isAnyHeard(): boolean {
  return runs.isHeard || iterationSource.isHeard || tools.isHeard;
}

/** Where a run is. */
export interface RunPlace {
  readonly captureContent: boolean;
  /** The call that the run is inside of. */
  readonly inside?: (RunMessage["inside"] & { readonly scope: Scope | undefined }) | undefined;
}

const handlers: EventHandlers<RunChannels> = {
  "iteration-start": (run, event) => run.startIteration(event),
  "iteration-end": (run, event) => run.endIteration(event),
  "tool-start": (run, event) => run.startTool(event),
  "tool-end": (run, event) => run.endTool(event),
  "run-end": (run, event) => run.end(event),
};

/** The events that messages are made of. */
export const heardEvents: readonly LoopEventType[] = heardBy(handlers);

/** One run. */
export class RunChannels implements RunObserver {
  readonly #runId: string;
  readonly #place: RunPlace;
  readonly #trace: ChannelTrace<RunMessage> | undefined;
  readonly #calls = new Map<string, ChannelTrace<ToolMessage>>();
  #iteration: ChannelTrace<IterationMessage> | undefined;
  #ending: Partial<RunMessage> = {};

  constructor({ runId, provider, options }: ObservedRun, place: RunPlace) {
    this.#runId = runId;
    this.#place = place;
    const { scope, ...inside } = place.inside ?? {};
    const facts = (): RunMessage => ({
      runId,
      provider: provider.id,
      model: provider.model,
      conversationId: options.session?.conversationId,
      ...(place.inside !== undefined && { inside: inside as RunMessage["inside"] }),
    });
    this.#trace = runs.begin(facts, scope);
  }

  onEvent(event: LoopEvent): void {
    handleEvent(handlers, this, event);
  }

  startIteration({ iteration, continuation, replayed = false }: LoopEvents["iteration-start"]): void {
    // A journal may have run the stream of the last iteration twice.
    this.#iteration?.end({});
    this.#iteration = iterationSource.begin(() => ({ runId: this.#runId, iteration, continuation, replayed }), this.#outer);
  }

  endIteration({ status, provider, model, finish, usage, costUSD, calls, durationMs }: LoopEvents["iteration-end"]): void {
    const errorType = isFailed(status) ? status : undefined;
    this.#iteration?.end({ status, provider, model, finish, usage, costUSD, calls: calls.length, durationMs, errorType });
    this.#iteration = undefined;
  }

  startTool({ iteration, callId, name, index, args, replayed = false }: LoopEvents["tool-start"]): void {
    const content = this.#place.captureContent ? { args } : {};
    const called = { callId: cutName(callId), name: cutName(name) };
    const facts = (): ToolMessage => ({ runId: this.#runId, iteration, ...called, index, replayed, ...content });
    const trace = tools.begin(facts, this.#iteration ?? this.#outer);
    if (trace !== undefined) this.#calls.set(callId, trace);
  }

  endTool({ callId, outcome, durationMs, result }: LoopEvents["tool-end"]): void {
    const errorType = countsAsError(outcome) ? outcome : undefined;
    this.#calls.get(callId)?.end({ outcome, durationMs, errorType, ...(this.#place.captureContent && { result }) });
    this.#calls.delete(callId);
  }

  /** A stream runs with what is bound to its iteration. */
  startStream(): StreamObserver | undefined {
    return this.#iteration ?? this.#outer;
  }

  runTool<Value>({ callId }: ToolContext, execute: () => Value): Value {
    const scope = this.#scopeOf(callId);
    return scope === undefined ? execute() : scope.run(execute);
  }

  nest({ callId, name }: ToolContext): StartObserving {
    const inside = { runId: this.#runId, callId: cutName(callId), name: cutName(name), scope: this.#scopeOf(callId) };
    return (run) => new RunChannels(run, { captureContent: this.#place.captureContent, inside });
  }

  end({ status, reason, ...facts }: LoopEvents["run-end"]): void {
    const { usage, costUSD, iterations, toolCallsExecuted, durationMs } = facts;
    const errorType = errorTypeOf(status, reason);
    this.#ending = { status, reason: reason.kind, usage, costUSD, iterations, toolCallsExecuted, durationMs, errorType };
  }

  close(failure: { readonly error: unknown } | undefined): void {
    const broken = failure && { errorType: toPlainError(failure.error).name, error: failure.error };
    for (const call of this.#calls.values()) call.end({ ...broken });
    this.#iteration?.end({ ...broken });
    this.#trace?.end({ ...this.#ending, ...broken });
  }

  /** What the iterations of the run are inside of. */
  get #outer(): Scope | undefined {
    return this.#trace ?? this.#place.inside?.scope;
  }

  #scopeOf(callId: string): Scope | undefined {
    return this.#calls.get(callId) ?? this.#iteration ?? this.#outer;
  }
}
