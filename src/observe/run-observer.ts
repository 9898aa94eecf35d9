// The interface of observers, for example for tracing, and the emitter that sends them the events of a run.

import type {
  EndReason,
  LoopEvent,
  LoopEvents,
  LoopStatus,
  ModelChunk,
  ModelRequest,
  NestedLoopOptions,
  Provider,
  StreamResult,
  ToolContext,
  ToolDefinition,
} from "../core/index.ts";
import type { LoopEmitter, LoopEventType } from "../core/kit.ts";
import { EventEmitter } from "eventemitter3";
import { type ClosedRun, notifyClosed, type RunWatcher } from "../shared/signals.ts";
import { isProvider } from "../shared/errors/provider-checks.ts";
import { wrapProvider } from "../shared/wrap-provider.ts";
import { isRecord } from "../shared/guards.ts";
import { redactText } from "../shared/redact-secrets.ts";

type StreamStatus = StreamResult["status"];

/** The maximum length of ids and names in traces, in UTF-16 code units. */
const longestName = 128;

/** Cuts an id or a name, and removes credentials from it, because models choose some ids and names freely. */
export function cleanName(name: string): string {
  return redactText(name, longestName, "");
}

export function isFailed(status: LoopStatus | StreamStatus): boolean {
  return status === "error" || status === "timeout";
}

export function errorTypeOf(status: LoopStatus, reason: EndReason): string | undefined {
  if (!isFailed(status)) return undefined;
  return reason.kind === "provider-error" ? reason.error.code : reason.kind;
}

export type EventHandlers<Observer> = {
  readonly [Type in LoopEventType]?: (observer: Observer, event: LoopEvents[Type]) => void;
};

export function heardBy<Observer>(handlers: EventHandlers<Observer>): readonly LoopEventType[] {
  return Object.keys(handlers) as LoopEventType[];
}

export function handleEvent<Observer>(handlers: EventHandlers<Observer>, observer: Observer, event: LoopEvent): void {
  // The compiler cannot see that the handler is for the type of this event.
  (handlers[event.type] as ((observer: Observer, event: LoopEvent) => void) | undefined)?.(observer, event);
}

type Events = { [Type in LoopEventType]: [event: LoopEvents[Type]] };
type Listener<Type extends LoopEventType> = EventEmitter.EventListener<Events, Type>;
type AnyListener = (...args: unknown[]) => unknown;

export interface Watch {
  hears(type: LoopEventType): boolean;
  take(event: LoopEvent): void;
  close(run: ClosedRun): void;
}

/** Wraps the caller's emitter. The observer gets each event before the caller's listeners. */
export class ObservedEmitter extends EventEmitter<Events> implements RunWatcher {
  readonly #inner: LoopEmitter;
  readonly #watch: Watch;
  readonly #own: AnyListener;
  /**
   * Maps each listener of the caller to a function that calls the listener with the caller's emitter as `this`. `#originals`
   * maps the function back to the listener.
   */
  readonly #bound = new WeakMap<object, AnyListener>();
  readonly #originals = new WeakMap<object, AnyListener>();

  constructor(inner: LoopEmitter | undefined, watch: Watch) {
    super();
    this.#inner = inner ?? new EventEmitter();
    this.#watch = watch;
    this.#own = (event) => this.#watch.take(event as LoopEvent);
  }

  override listenerCount(type: LoopEventType): number {
    return this.#watch.hears(type) ? this.listeners(type).length : this.#inner.listenerCount(type);
  }

  override listeners<Type extends LoopEventType>(type: Type): Listener<Type>[] {
    const others = this.#others(type);
    return this.#watch.hears(type) ? [this.#own, ...others] : others;
  }

  #others(type: LoopEventType): AnyListener[] {
    try {
      const listeners = this.#inner.listeners(type) as AnyListener[];
      return listeners.length === 0 ? listeners : listeners.map((listener) => this.#bind(listener));
    } catch (error) {
      // Returns a listener that throws the error. The loop then reports the error like the error of any other listener.
      return [
        () => {
          throw error;
        },
      ];
    }
  }

  #bind(listener: AnyListener): AnyListener {
    const known = this.#bound.get(listener);
    if (known !== undefined) return known;
    const bound: AnyListener = (...args) => Reflect.apply(listener, this.#inner, args);
    this.#bound.set(listener, bound);
    this.#originals.set(bound, listener);
    return bound;
  }

  override removeListener<Type extends LoopEventType>(
    type: Type,
    listener?: Listener<Type>,
    ...rest: [context?: unknown, once?: boolean]
  ): this {
    if (listener === this.#own) return this;
    const original = listener && this.#originals.get(listener);
    this.#inner.removeListener(type, (original as Listener<Type> | undefined) ?? listener, ...rest);
    return this;
  }

  override off<Type extends LoopEventType>(
    type: Type,
    listener?: Listener<Type>,
    ...rest: [context?: unknown, once?: boolean]
  ): this {
    return this.removeListener(type, listener, ...rest);
  }

  override on<Type extends LoopEventType>(type: Type, listener: Listener<Type>, context?: unknown): this {
    this.#inner.on(type, listener, context);
    return this;
  }

  override addListener<Type extends LoopEventType>(type: Type, listener: Listener<Type>, context?: unknown): this {
    return this.on(type, listener, context);
  }

  override once<Type extends LoopEventType>(type: Type, listener: Listener<Type>, context?: unknown): this {
    this.#inner.once(type, listener, context);
    return this;
  }

  override removeAllListeners(type?: LoopEventType): this {
    this.#inner.removeAllListeners(type);
    return this;
  }

  override eventNames(): LoopEventType[] {
    return this.#inner.eventNames();
  }

  override emit<Type extends LoopEventType>(type: Type, ...args: EventEmitter.EventArgs<Events, Type>): boolean {
    return this.#inner.emit(type, ...args);
  }

  "turnwright.run-closed"(run: ClosedRun): void {
    this.#watch.close(run);
    notifyClosed(this.#inner, run);
  }
}

export interface ObservedRun {
  readonly runId: string;
  readonly options: NestedLoopOptions;
  readonly provider: { readonly id: string; readonly model: string };
  /** Returns the current tools. The array is the same object until the tools change. */
  definitions(): readonly ToolDefinition[];
}

export type StartObserving = (run: ObservedRun) => RunObserver | undefined;

export interface Observing {
  /** The types of the events that observers get, in addition to `iteration-start`. */
  readonly hears: readonly LoopEventType[];
  readonly start: StartObserving;
}

/** Observes one run. If `runTool` throws an error of its own, the tool call fails with this error. */
export interface RunObserver {
  onEvent(event: LoopEvent): void;
  startStream?(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined;
  /** Called for each attempt to run a tool. Must call `execute` and return its result. */
  runTool<Value>(call: ToolContext, execute: () => Value): Value;
  /** Called when a tool call starts a nested run. Returns the function that creates the observer of that run. */
  nest(call: ToolContext): StartObserving;
  /**
   * Called when the run is over. `failure` is set if the run rejected with an error, in which case no `run-end` event was sent.
   * `isNew` is false if everything in the run was replayed.
   */
  close(failure: { readonly error: unknown } | undefined, isNew: boolean): void;
}

export interface StreamObserver {
  /** Called for each operation on the stream: open, next chunk, close. Must call `step` and return its result. */
  run<Value>(step: () => Value): Value;
  /** Called with a chunk before the loop gets it. Return true to be called with the next chunk too. */
  onChunk?(chunk: ModelChunk): boolean;
}

export function observeProvider(provider: Provider, current: () => RunObserver | undefined): Provider {
  if (!isProvider(provider)) return provider;
  return wrapProvider(provider, {
    stream(request, call) {
      // A request for a summary is not part of an iteration, and observers get only the streams of iterations.
      if (request.purpose !== undefined) return provider.stream(request, call);
      const observer = current()?.startStream?.(request, provider);
      // Applies the guardrails of the run here, so that the observer gets no chunks that the guardrails refuse.
      const { guard = unguarded } = call;
      const open = (): AsyncIterable<ModelChunk> => guard(provider.stream(request, call));
      return observer === undefined ? open() : observeStream(open, observer);
    },
  });
}

function unguarded(stream: AsyncIterable<ModelChunk>): AsyncIterable<ModelChunk> {
  return stream;
}

/** Observes the stream that `open` returns. Any other value is returned unchanged, because the loop reports the mistake. */
function observeStream(open: () => AsyncIterable<ModelChunk>, observer: StreamObserver): AsyncIterable<ModelChunk> {
  const stream = observer.run(open);
  if (typeof (stream as Partial<typeof stream> | null)?.[Symbol.asyncIterator] !== "function") return stream;
  return {
    [Symbol.asyncIterator]() {
      const iterator = observer.run(() => stream[Symbol.asyncIterator]());
      return typeof (iterator as Partial<typeof iterator> | null)?.next === "function"
        ? observeIterator(iterator, observer)
        : iterator;
    },
  };
}

function observeIterator(iterator: AsyncIterator<ModelChunk>, observer: StreamObserver): AsyncIterator<ModelChunk> {
  const pull = (): Promise<IteratorResult<ModelChunk>> => iterator.next();
  let looks = observer.onChunk !== undefined;
  const look = (result: IteratorResult<ModelChunk>): void => {
    if (!looks || result?.done === true || !isRecord(result?.value)) return;
    try {
      looks = observer.onChunk?.(result.value) === true;
    } catch {
      looks = false;
    }
  };
  return {
    next() {
      const result = observer.run(pull);
      // Returns the original promise, so that the loop is not delayed. Observes only native promises, because a second call of
      // `then` on another thenable might request a second chunk.
      if (looks && result instanceof Promise) result.then(look, () => {});
      return result;
    },
    ...(typeof iterator.return === "function" && {
      return: (value?: unknown) => observer.run(() => iterator.return?.(value) as Promise<IteratorResult<ModelChunk>>),
    }),
  };
}
