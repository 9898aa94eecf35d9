// Observes a run for tracing and diagnostics.

import type { EndReason, LoopStatus, StreamStatus } from "../types/termination.ts";
import type { LoopEmitter, LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";
import { EventEmitter } from "eventemitter3";
import { type ClosedRun, type RunWatcher, tellClosed } from "../cancellation/signals.ts";
import type { LoopOptions, ToolContext } from "../types/loop-options.ts";
import type { ModelChunk, ModelRequest, Provider } from "../types/provider.ts";
import type { ToolDefinition } from "../types/tool.ts";

/** Ids and names that a model made up can be of any length. */
const longestName = 128;

/** A foreign id or name, no longer than attributes ought to be. */
export function cutName(name: string): string {
  return name.slice(0, longestName);
}

/** Whether a run or an iteration has failed. Whoever stops a run, or is not answered, has seen no error. */
export function isFailed(status: LoopStatus | StreamStatus): boolean {
  return status === "error" || status === "timeout";
}

/** The name of a run's error: the code of a provider error, else the kind of the reason. Undefined if the reason is no error. */
export function errorTypeOf(status: LoopStatus, reason: EndReason): string | undefined {
  if (!isFailed(status)) return undefined;
  return reason.kind === "provider-error" ? reason.error.code : reason.kind;
}

/** Handlers of events, by type. */
export type EventHandlers<Observer> = {
  readonly [Type in LoopEventType]?: (observer: Observer, event: LoopEvents[Type]) => void;
};

/** The events that something is done with. */
export function heardBy<Observer>(handlers: EventHandlers<Observer>): readonly LoopEventType[] {
  return Object.keys(handlers) as LoopEventType[];
}

/** Hands an event to its handler, if there is one. */
export function handleEvent<Observer>(handlers: EventHandlers<Observer>, observer: Observer, event: LoopEvent): void {
  // The compiler cannot see that the handler is the one of this very event.
  (handlers[event.type] as ((observer: Observer, event: LoopEvent) => void) | undefined)?.(observer, event);
}

type Events = { [Type in LoopEventType]: [event: LoopEvents[Type]] };
type Listener<Type extends LoopEventType> = EventEmitter.EventListener<Events, Type>;
type AnyListener = (...args: unknown[]) => unknown;

/** The listener in front of the caller's. */
export interface Watch {
  hears(type: LoopEventType): boolean;
  take(event: LoopEvent): void;
  close(run: ClosedRun): void;
}

/** The caller's emitter, and the watch in front of it. */
export class ObservedEmitter extends EventEmitter<Events> implements RunWatcher {
  readonly #inner: LoopEmitter;
  readonly #watch: Watch;
  readonly #own: AnyListener;
  /** For each listener of the caller's, what calls it with the caller's emitter as `this`; and the way back. */
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
      // Thrown where the loop tells of it.
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
    tellClosed(this.#inner, run);
  }
}

/** A run that begins. */
export interface ObservedRun {
  readonly runId: string;
  /** As the caller gave them. */
  readonly options: Pick<LoopOptions, "limits" | "modelSettings" | "session">;
  readonly provider: { readonly id: string; readonly model: string };
  /** The tools of the run as they are now. The same array means that nothing has changed. */
  definitions(): readonly ToolDefinition[];
}

/** Begins to watch a run; undefined where nobody wants to. */
export type StartObserving = (run: ObservedRun) => RunObserver | undefined;

/** The watched run and its watcher. */
export interface Observing {
  /** The events that observers hear; `iteration-start` they hear always. */
  readonly hears: readonly LoopEventType[];
  /** Called when a run begins. */
  readonly start: StartObserving;
}

/** Watches one run. What it throws where it runs something is thrown into the run: it must not. */
export interface RunObserver {
  /** Hears an event of this very run; runs inside its calls have observers of their own. */
  onEvent(event: LoopEvent): void;
  /** A stream is about to be opened; undefined where it is not watched. */
  startStream?(request: ModelRequest, provider: Pick<Provider, "id" | "model">): StreamObserver | undefined;
  /** Runs what a call does: once, or once for each attempt. Gives what `execute` gives. */
  runTool<Value>(call: ToolContext, execute: () => Value): Value;
  /** Asked inside of a call that starts a run: how that one is watched. */
  nest(call: ToolContext): StartObserving;
  /** The run is over. `failure` is set where it broke, so that there was no `run-end`. */
  close(failure: { readonly error: unknown } | undefined): void;
}

/** Watches one stream. */
export interface StreamObserver {
  /** Runs one step of the stream: opening it, asking for a chunk, leaving it. Gives what `step` gives. */
  run<Value>(step: () => Value): Value;
  /** Sees a chunk before the loop does, and says whether it wants to see the next one. */
  onChunk?(chunk: ModelChunk): boolean;
}
