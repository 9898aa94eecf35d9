import { checkFields, type Checks, is, textOf } from "../../core/kit.ts";
import type { Json, LoopEvent, LoopEvents, Middleware, ToolContext } from "../../core/index.ts";
import { redactSecrets } from "../../shared/redact-secrets.ts";
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
import { countsAsError } from "../../shared/to-outcome.ts";
import {
  type ChannelTrace,
  iterationChannel,
  type IterationMessage,
  runChannel,
  type RunMessage,
  type Scope,
  toolChannel,
  type ToolMessage,
  loader,
  TraceSource,
} from "./channels.ts";

const runs = new TraceSource<RunMessage>(runChannel);
const iterationSource = new TraceSource<IterationMessage>(iterationChannel);
const tools = new TraceSource<ToolMessage>(toolChannel);

function isAnyHeard(): boolean {
  return runs.isHeard || iterationSource.isHeard || tools.isHeard;
}

interface RunPlace {
  readonly captureContent: boolean;
  readonly inside?: (RunMessage["inside"] & { readonly scope: Scope | undefined }) | undefined;
}

const handlers: EventHandlers<RunChannels> = {
  "iteration-start": (run, event) => run.startIteration(event),
  "iteration-end": (run, event) => run.endIteration(event),
  "tool-args-end": (run, event) => run.noteArgs(event),
  "tool-start": (run, event) => run.startTool(event),
  "tool-end": (run, event) => run.endTool(event),
  "run-end": (run, event) => run.end(event),
};

/**
 * Removes credentials from an id or name that the program chose. Does not shorten it, because subscribers compare such ids. For
 * names that a model chose, see `cleanName`.
 */
function cleanId(id: string): string {
  return redactSecrets(textOf(id));
}

interface BegunCall extends Omit<LoopEvents["tool-start"], "args"> {
  readonly args: Json | undefined;
}

class RunChannels implements RunObserver {
  readonly #runId: string;
  readonly #place: RunPlace;
  readonly #trace: ChannelTrace<RunMessage> | undefined;
  readonly #calls = new Map<string, ChannelTrace<ToolMessage>>();
  /** The arguments of the current iteration's calls, for the messages about calls that do not start. */
  readonly #args = new Map<string, Json>();
  #iteration: ChannelTrace<IterationMessage> | undefined;
  #ending: Partial<RunMessage> = {};

  constructor({ runId, provider, options }: ObservedRun, place: RunPlace) {
    this.#runId = cleanId(runId);
    this.#place = place;
    const { scope, ...inside } = place.inside ?? {};
    const facts = (): RunMessage => ({
      runId: cleanId(runId),
      provider: cleanId(provider.id),
      model: cleanId(provider.model),
      conversationId: options.session?.conversationId === undefined ? undefined : cleanId(options.session.conversationId),
      ...(place.inside !== undefined && { inside: inside as RunMessage["inside"] }),
    });
    this.#trace = runs.begin(facts, scope);
  }

  onEvent(event: LoopEvent): void {
    handleEvent(handlers, this, event);
  }

  startIteration({ iteration, continuation, replayed = false }: LoopEvents["iteration-start"]): void {
    // Ends the previous iteration, which is still open only if a journal ran a model step twice.
    this.#iteration?.end({});
    if (continuation === 0) this.#args.clear();
    this.#iteration = iterationSource.begin(() => ({ runId: this.#runId, iteration, continuation, replayed }), this.#outer);
  }

  endIteration({ status, provider, model, finish, usage, costUSD, calls, durationMs }: LoopEvents["iteration-end"]): void {
    const errorType = isFailed(status) ? status : undefined;
    const answered = { provider: cleanId(provider), model: cleanId(model) };
    this.#iteration?.end({ status, ...answered, finish, usage, costUSD, calls: calls.length, durationMs, errorType });
    this.#iteration = undefined;
  }

  noteArgs({ callId, args }: LoopEvents["tool-args-end"]): void {
    if (this.#place.captureContent) this.#args.set(callId, args);
  }

  startTool(event: LoopEvents["tool-start"]): void {
    const trace = this.#beginTool(event);
    if (trace !== undefined) this.#calls.set(event.callId, trace);
  }

  #beginTool({ iteration, callId, name, index, args, replayed = false }: BegunCall): ChannelTrace<ToolMessage> | undefined {
    const content = this.#place.captureContent ? { args } : {};
    const facts = (): ToolMessage => {
      const called = { callId: cleanName(callId), name: cleanName(name) };
      return { runId: this.#runId, iteration, ...called, index, replayed, ...content };
    };
    return tools.begin(facts, this.#iteration ?? this.#outer);
  }

  /** Ends a call. A refused call and an outside result have no `tool-start`, so they start and end at the same time. */
  endTool(event: LoopEvents["tool-end"]): void {
    const { callId, outcome, durationMs, result } = event;
    const errorType = countsAsError(outcome) ? outcome : undefined;
    const trace = this.#calls.get(callId) ?? this.#beginTool({ ...event, args: this.#args.get(callId) });
    trace?.end({ outcome, durationMs, errorType, ...(this.#place.captureContent && { result }) });
    this.#calls.delete(callId);
  }

  startStream(): StreamObserver | undefined {
    return this.#iteration ?? this.#outer;
  }

  runTool<Value>({ callId }: Pick<ToolContext, "callId">, execute: () => Value): Value {
    const scope = this.#scopeOf(callId);
    return scope === undefined ? execute() : scope.run(execute);
  }

  nest({ callId, name }: Pick<ToolContext, "callId" | "name">): StartObserving {
    const inside = { runId: this.#runId, callId: cleanName(callId), name: cleanName(name), scope: this.#scopeOf(callId) };
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

  /** The operation that contains the iterations: the run or, for a nested run that is not traced, the call that contains it. */
  get #outer(): Scope | undefined {
    return this.#trace ?? this.#place.inside?.scope;
  }

  #scopeOf(callId: string): Scope | undefined {
    return this.#calls.get(callId) ?? this.#iteration ?? this.#outer;
  }
}

/** The options for `diagnostics`. */
export interface DiagnosticsOptions {
  /** True to add the arguments and the result of each call to the messages. Default false. */
  readonly captureContent?: boolean | undefined;
}

const checks: Checks<DiagnosticsOptions> = { captureContent: is.flag };

/**
 * Returns middleware that publishes the run on `node:diagnostics_channel` tracing channels. The tracing channels are
 * `turnwright:run`, `turnwright:iteration` and `turnwright:tool`.
 *
 * Each operation publishes `start` and `end` when the operation begins, and `asyncStart` and `asyncEnd` when it is over. A failed
 * operation publishes `error` before `asyncStart`. All messages about an operation are the same object. Some of its fields are
 * set only at the end. AsyncLocalStorage stores that are bound to `start` are available inside the operation. A run's stores are available
 * in its streams and tools, and a call's stores are available in its tool.
 *
 * If no tracing channel has subscribers when a run begins, the run publishes nothing and has almost no overhead.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if `options` is invalid, and an Error on platforms without these channels.
 *
 * Source: nodejs.org/api/diagnostics_channel.html#class-tracingchannel.
 *
 * @example
 * import { subscribe } from "node:diagnostics_channel";
 * subscribe(`tracing:${toolChannel}:asyncEnd`, (message) => console.log(message));
 * await runToolLoop({ provider, tools, messages, middleware: [diagnostics()] });
 */
export function diagnostics(options: DiagnosticsOptions = {}): Middleware {
  checkFields("options", options, checks);
  loader();
  const { captureContent = false } = options;
  const middleware = observeRuns("diagnostics", (run) => new RunChannels(run, { captureContent }));
  return { ...middleware, begin: (run) => (isAnyHeard() && middleware.begin?.(run)) || {} };
}
