import type { HostedEvent, HostedStream, JoinOptions } from "./run-host.ts";
import type { RunLog, LogCursor } from "./run-log.ts";

type Result = IteratorResult<HostedEvent, undefined>;

interface Reading extends Pick<JoinOptions, "from" | "signal"> {
  readonly runId: string;
  readonly log: RunLog;
  /**
   * True if events from before the last resume are marked as `replayed`, as they would be after a server restart. Default
   * false.
   */
  readonly marksEarlier?: boolean | undefined;
  /** Called once, when the reader has read all events or has left the run. `isEarly` is true if the reader left before the end. */
  readonly onLeave?: ((how: { readonly isEarly: boolean }) => void) | undefined;
}

/**
 * Reads the log of a run to its end. If the run is live, waits for new events until the run ends or is suspended. If the run is
 * resumed later, this reader receives no new events.
 */
export class LogReader implements HostedStream, AsyncIterator<HostedEvent, undefined> {
  readonly runId: string;
  readonly restarted: boolean;
  readonly #reading: Reading;
  readonly #log: RunLog;
  readonly #execution: number;
  readonly #cursor: LogCursor;
  /** Settles the calls to `next` that are waiting for an event, oldest first. */
  #pending: ((result: Result | Promise<never>) => void)[] = [];
  #hasLeft = false;

  constructor(reading: Reading) {
    const { runId, log, from, signal } = reading;
    const found = from === undefined ? undefined : log.find(from);
    this.runId = runId;
    this.restarted = from !== undefined && found === undefined;
    this.#reading = reading;
    this.#log = log;
    this.#execution = log.execution;
    this.#cursor = found ?? { entry: 0, offset: 0 };
    if (signal?.aborted === true) this.#leave(true);
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get isOver(): boolean {
    return this.#hasLeft || this.#log.isOverAt(this.#cursor);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const result = this.#pending.length === 0 ? this.#take() : undefined;
    if (result !== undefined) return Promise.resolve(result);
    return new Promise((resolve) => {
      this.#pending.push(resolve);
      this.#log.wait(this);
    });
  }

  return(): Promise<Result> {
    this.#leave(true);
    return Promise.resolve({ done: true, value: undefined });
  }

  wake(): boolean {
    while (this.#pending.length > 0) {
      const result = this.#take();
      if (result === undefined) return true;
      this.#pending.shift()?.(result);
    }
    return false;
  }

  #take(): Result | Promise<never> | undefined {
    if (this.#hasLeft) return { done: true, value: undefined };
    const end = this.#log.endOf(this.#execution);
    const value = this.#log.take(this.#cursor, end);
    if (value !== undefined) return { done: false, value: this.#isBeforeLastResume() ? toReplayed(value) : value };
    if (end === undefined) return undefined;
    const failure = this.#log.failureOf(this.#execution);
    this.#leave(false);
    return failure === undefined ? { done: true, value: undefined } : Promise.reject(failure.error);
  }

  /** True if the event that was just read is from before the last resume. This event is directly before the cursor. */
  #isBeforeLastResume(): boolean {
    if (this.#reading.marksEarlier !== true || this.#execution === 0) return false;
    const { entry, offset } = this.#cursor;
    return (offset > 0 ? entry : entry - 1) < (this.#log.endOf(this.#execution - 1) ?? 0);
  }

  readonly #onAbort = (): void => this.#leave(true);

  #leave(isEarly: boolean): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#reading.signal?.removeEventListener("abort", this.#onAbort);
    this.#log.leave(this);
    const pending = this.#pending;
    this.#pending = isEarly ? [] : pending;
    if (isEarly) for (const resolve of pending) resolve({ done: true, value: undefined });
    this.#reading.onLeave?.({ isEarly });
  }
}

/** Marks an event as `replayed`, except `run-start` and `run-end`, which are never marked. */
export function toReplayed(item: HostedEvent): HostedEvent {
  const { id, event } = item;
  return event.type === "run-start" || event.type === "run-end" ? item : { id, event: { ...event, replayed: true } };
}
