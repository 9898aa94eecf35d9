// Stands in front of a caller's emitter: the loop hears of the observer's own listener first, and of the caller's as they are now.
// Nothing is attached to the caller's emitter, so that nothing is left there.

import { EventEmitter } from "eventemitter3";
import type { LoopEmitter, LoopEvent, LoopEvents, LoopEventType } from "../types/loop-event.ts";
import { type ClosedRun, type RunWatcher, tellClosed } from "../cancellation/run-closed.ts";

type Events = { [Type in LoopEventType]: [event: LoopEvents[Type]] };
type Listener<Type extends LoopEventType> = EventEmitter.EventListener<Events, Type>;
type AnyListener = (...args: unknown[]) => unknown;

/** Who listens in front of the caller. */
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
