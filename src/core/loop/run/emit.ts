// Sends events to listeners and to the event stream. If a listener throws or rejects, the run and the other listeners continue.

import type { EventSink, LoopEmitter, LoopEvent, LoopEventType } from "../../types/loop-event.ts";
import type { EventQueue } from "../../utils/event-queue.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { type ClosedRun, notifyClosed } from "../../cancellation/signals.ts";

export interface EventTargets {
  readonly runId: string;
  readonly emitter: LoopEmitter | undefined;
  readonly queue: EventQueue<LoopEvent> | undefined;
  readonly outer?: OuterTarget | undefined;
  /** Functions that get each event. */
  readonly taps?: readonly ((event: LoopEvent) => void)[] | undefined;
}

interface OuterTarget {
  readonly sink: EventSink;
  readonly callId: string;
  readonly tap: ((event: LoopEvent) => void) | undefined;
}

interface EventPlace {
  readonly type: string;
  readonly iteration: number;
}

export class LoopEventSink implements EventSink {
  readonly runId: string;
  readonly #emitter: LoopEmitter | undefined;
  readonly #queue: EventQueue<LoopEvent> | undefined;
  readonly #outer: EventTargets["outer"];
  readonly #taps: EventTargets["taps"];
  /** The listeners whose failure is already reported. A listener is reported once. */
  #reported: WeakSet<object> | undefined;
  #failure: ClosedRun["failure"];
  #closed = false;

  constructor({ runId, emitter, queue, outer, taps }: EventTargets) {
    this.runId = runId;
    this.#emitter = emitter;
    this.#queue = queue;
    this.#outer = outer;
    this.#taps = taps?.length === 0 ? undefined : taps;
  }

  wants(type: LoopEventType): boolean {
    if (this.#closed) return false;
    const outer = this.#outer;
    if (this.#taps !== undefined) return true;
    return this.#queue !== undefined || this.#isHeard(type) || outer?.tap !== undefined || outer?.sink.wants(type) === true;
  }

  send(event: LoopEvent): void {
    if (this.#closed) return;
    this.#queue?.push(event);
    for (const tap of this.#taps ?? []) this.guard(event, () => tap(event));
    if (this.#outer !== undefined) this.#pass(event, this.#outer);
    if (this.#isHeard(event.type)) this.#emit(event);
  }

  room(): Promise<void> | undefined {
    return this.#queue?.room() ?? this.#outer?.sink.room();
  }

  #pass(event: LoopEvent, { sink, callId, tap }: OuterTarget): void {
    tap?.(event);
    if (sink.wants(event.type)) sink.send({ ...event, path: [callId, ...(event.path ?? [])] });
  }

  guard(at: EventPlace, call: () => unknown): void {
    try {
      const answer = promiseOrValue(call());
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#sendError(at, error));
    } catch (error) {
      this.#sendError(at, error);
    }
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#queue?.fail(error);
  }

  close(isNew: boolean): void {
    this.#closed = true;
    this.#queue?.end();
    notifyClosed(this.#emitter, { runId: this.runId, failure: this.#failure, isNew });
  }

  #isHeard(type: LoopEventType): boolean {
    return this.#emitter !== undefined && this.#emitter.listenerCount(type) > 0;
  }

  /**
   * Calls the listeners one by one. The `emit` of eventemitter3 would skip the remaining listeners after a listener throws, and
   * would ignore rejections.
   */
  #emit(event: LoopEvent): void {
    const emitter = this.#emitter;
    if (emitter === undefined) return;
    for (const listener of emitter.listeners(event.type) as ((event: LoopEvent) => unknown)[]) {
      // With these arguments, only a listener that was added with `once` is removed.
      emitter.removeListener(event.type, listener as never, undefined, true);
      try {
        const answer = promiseOrValue(listener.call(emitter, event));
        if (answer instanceof Promise) answer.catch((error: unknown) => this.#report(event, listener, error));
      } catch (error) {
        this.#report(event, listener, error);
      }
    }
  }

  #report(at: EventPlace, listener: object, error: unknown): void {
    this.#reported ??= new WeakSet();
    if (at.type === "listener-error" || this.#reported.has(listener)) return;
    this.#reported.add(listener);
    this.#sendError(at, error);
  }

  #sendError({ type, iteration }: EventPlace, error: unknown): void {
    this.send({ type: "listener-error", runId: this.runId, iteration, event: type, error: toPlainError(error) });
  }
}
