// Sends events to listeners and to the event stream. An error in one listener does not affect the run or the other listeners.

import type { EventSink, LoopEmitter, LoopEvent, LoopEventType } from "../types/loop-event.ts";
import { promiseOrValue } from "../../shared/promises.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import type { ClosedRun, Hooks } from "../types/middleware.ts";

/** A receiver of a run's events: the queue of a stream, or the outer run. */
export interface EventReader {
  /** Returns true for the event types that the reader wants. Default: all. */
  wants?(type: LoopEventType): boolean;
  push(event: LoopEvent): void;
  room(): Promise<void> | undefined;
  fail?(error: unknown): void;
  end?(): void;
}

export interface EventTargets {
  readonly runId: string;
  readonly emitter: LoopEmitter | undefined;
  readonly reader: EventReader | undefined;
  /** The hooks that are called for each event and when the run ends. */
  readonly hooks: readonly Hooks[];
}

interface EventPlace {
  readonly type: string;
  readonly iteration: number;
}

export class LoopEventSink implements EventSink {
  readonly runId: string;
  readonly #targets: EventTargets;
  /** The listeners whose first failure has already been reported. Later failures are not reported. */
  #reported: WeakSet<object> | undefined;
  #failure: ClosedRun["failure"];
  #closed = false;

  constructor(targets: EventTargets) {
    this.runId = targets.runId;
    this.#targets = targets;
  }

  wants(type: LoopEventType): boolean {
    const { emitter, reader, hooks } = this.#targets;
    if (this.#closed) return false;
    return hooks.length > 0 || (emitter?.listenerCount(type) ?? 0) > 0 || (reader !== undefined && wantsEvent(reader, type));
  }

  send(event: LoopEvent): void {
    const { emitter, reader, hooks } = this.#targets;
    if (this.#closed) return;
    if (reader !== undefined && wantsEvent(reader, event.type)) reader.push(event);
    for (const one of hooks) this.guard(event, () => one.on?.(event), one);
    if (emitter === undefined) return;
    // Calls each listener directly, because eventemitter3's `emit` ignores rejections and skips the remaining listeners after one throws.
    for (const listener of emitter.listeners(event.type) as ((event: LoopEvent) => unknown)[]) {
      // The last argument, `true`, limits the removal to a listener added with `once`.
      emitter.removeListener(event.type, listener as never, undefined, true);
      this.guard(event, () => listener.call(emitter, event), listener);
    }
  }

  room(): Promise<void> | undefined {
    return this.#targets.reader?.room();
  }

  /** Calls the caller's code, and reports its first failure. `by` is the function that the report names. */
  guard(at: EventPlace, call: () => unknown, by: object = call): void {
    const report = (error: unknown): void => {
      this.#reported ??= new WeakSet();
      if (at.type === "listener-error" || this.#reported.has(by)) return;
      this.#reported.add(by);
      const { type: event, iteration } = at;
      this.send({ type: "listener-error", runId: this.runId, iteration, event, error: toPlainError(error) });
    };
    try {
      const answer = promiseOrValue(call());
      if (answer instanceof Promise) answer.catch(report);
    } catch (error) {
      report(error);
    }
  }

  fail(error: unknown): void {
    this.#failure = { error };
    this.#targets.reader?.fail?.(error);
  }

  close(isNew: boolean): void {
    this.#closed = true;
    const { reader, hooks } = this.#targets;
    reader?.end?.();
    const end: ClosedRun = { failure: this.#failure, isNew };
    // Ignores failures of `close`, because the run is already over.
    for (const one of hooks) this.guard({} as EventPlace, () => one.close?.(end));
  }
}

function wantsEvent(reader: EventReader, type: LoopEventType): boolean {
  return reader.wants?.(type) !== false;
}
