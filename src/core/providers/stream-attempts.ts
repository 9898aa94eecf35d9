// Streams the attempts of `withRetry` and `withFallback`. Checks the run's signal and budget before each attempt.

import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { providerError } from "../../shared/errors/provider-error.ts";
import { toProviderError } from "../../shared/errors/read-sdk-error.ts";
import { assertNever } from "../../shared/guards.ts";
import { EventQueue } from "../../shared/event-queue.ts";
import { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { type StreamEnd, StreamGuard } from "./guard-stream.ts";
import { answererOf, AttemptLog } from "../../shared/attempt-log.ts";
import {
  AttemptReader,
  AttemptTally,
  type Fault,
  type FinishChunk,
  type PlannedAttempt,
  type ReaderPorts,
} from "./attempt-reader.ts";

export interface AttemptPlan {
  readonly first: PlannedAttempt;
  /**
   * Returns the attempt to start after a failed one. If this method returns undefined, or if the run's limits allow no
   * more requests, the stream ends with the failure.
   */
  next(fault: Fault, wasHeard: boolean): PlannedAttempt | undefined;
  toFinish(chunk: FinishChunk): FinishChunk;
  /** Returns the failure that ends the stream if no attempt follows. */
  toLast(fault: Fault): Fault;
}

/** The number of unread chunks at which the model is paused. Reading a little ahead saves a promise for each chunk. */
const capacity = 16;

/** Streams one attempt after another until one succeeds. No attempt starts after the call's signal was aborted. */
export function streamAttempts(plan: AttemptPlan, call: ModelCall): AsyncIterable<ModelChunk> {
  return new AttemptStream(plan, call);
}

class AttemptStream implements AsyncIterableIterator<ModelChunk, undefined> {
  readonly #plan: AttemptPlan;
  readonly #call: ModelCall;
  readonly #queue = new EventQueue<ModelChunk>(capacity);
  readonly #scope = new CancelScope();
  readonly #tally = new AttemptTally();
  readonly #tell = (chunk: ModelChunk): void => {
    this.#tally.take(chunk);
    this.#queue.push(chunk);
  };
  readonly #log = new AttemptLog(this.#tell);
  readonly #ports: ReaderPorts;
  #isStarted = false;
  #isOver = false;

  constructor(plan: AttemptPlan, call: ModelCall) {
    this.#plan = plan;
    this.#call = call;
    this.#ports = {
      call,
      log: this.#log,
      tell: this.#tell,
      spent: () => this.#tally.spendings,
      toFinish: (chunk) => plan.toFinish(chunk),
    };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<ModelChunk, undefined>> {
    if (!this.#isStarted) this.#start();
    return this.#queue.next();
  }

  return(): Promise<IteratorResult<ModelChunk, undefined>> {
    this.#isStarted = true;
    if (!this.#isOver) {
      const { signal } = this.#call;
      const reason: unknown = signal.aborted ? signal.reason : new DOMException("The stream was abandoned.", "AbortError");
      this.#close();
      this.#queue.leave();
      this.#scope.cancel({ kind: "abort", reason });
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  #start(): void {
    this.#isStarted = true;
    const { signal } = this.#call;
    if (signal.aborted) return this.#fail(signal.reason);
    signal.addEventListener("abort", this.#onAbort);
    this.#begin(this.#plan.first);
  }

  /**
   * Cancels the attempt as if a time limit had expired, so that the attempt may still report its usage. The consumer of this
   * stream limits how long the report may take.
   */
  readonly #onAbort = (): void => {
    const reason: unknown = this.#call.signal.reason;
    this.#scope.cancel({ kind: "wall-clock", limitMs: Number.POSITIVE_INFINITY, reason });
  };

  #begin(attempt: PlannedAttempt): void {
    const { clock, timeouts } = this.#call;
    const { provider, patience, isFinal } = attempt;
    this.#log.start({ ...answererOf(provider), isFinal });
    const reader = new AttemptReader(attempt, this.#ports);
    // An attempt with its own time limits may be silent for longer than the outer stream allows, so heartbeats keep that stream open.
    const stopBeating = patience === undefined ? undefined : keepAlive(this.#call);
    // Does not limit an attempt by default, because the outer stream limits all attempts together.
    const none = Number.POSITIVE_INFINITY;
    const limits = { ...timeouts, ...(patience ?? { firstChunkMs: none, streamIdleMs: none }), streamMs: none };
    const ports = { clock, timeouts: limits, scope: this.#scope, events: this.#queue };
    const onEnd = (end: StreamEnd): void => {
      stopBeating?.();
      reader.leave();
      if (!this.#isOver) this.#conclude(end, reader);
    };
    void new StreamGuard(reader, ports)
      .run()
      .then(onEnd)
      .catch((error: unknown) => this.#fail(error));
  }

  #conclude(end: StreamEnd, reader: AttemptReader): void {
    // Checks for cancellation first, because the run may have been cancelled just after the attempt failed.
    const { cause } = this.#scope;
    if (cause !== undefined || end.kind === "cancelled") return this.#fail(this.#call.signal.reason);
    const fault = findFault(end, reader);
    if (fault === undefined) return this.#end();
    const next = this.#plan.next(fault, reader.wasHeard);
    if (next === undefined || this.#call.mayAsk?.(this.#tally.spendings) === false) {
      return this.#giveUp(this.#plan.toLast(fault));
    }
    this.#log.discard(fault.error);
    if (next.delayMs === undefined || next.delayMs === 0) this.#begin(next);
    else this.#wait(next.delayMs, () => this.#begin(next));
  }

  #wait(delayMs: number, then: () => void): void {
    const { clock } = this.#call;
    const stopBeating = keepAlive(this.#call);
    const stop = (): void => {
      clock.clearTimeout(timer);
      stopBeating();
      this.#scope.leave(slot);
    };
    const slot = {
      cancel: () => {
        stop();
        if (!this.#isOver) this.#fail(this.#call.signal.reason);
      },
    };
    const timer = clock.setTimeout(() => {
      stop();
      then();
    }, delayMs);
    this.#scope.join(slot);
  }

  #giveUp({ as }: Fault): void {
    if (as.kind === "thrown") return this.#fail(as.thrown);
    if (as.kind === "chunk") this.#queue.push(as.chunk);
    this.#end();
  }

  #end(): void {
    this.#close();
    this.#queue.end();
  }

  #fail(error: unknown): void {
    this.#close();
    this.#queue.fail(error);
  }

  #close(): void {
    this.#isOver = true;
    this.#call.signal.removeEventListener("abort", this.#onAbort);
  }
}

function findFault(end: Exclude<StreamEnd, { kind: "cancelled" }>, reader: AttemptReader): Fault | undefined {
  switch (end.kind) {
    case "ended":
      return reader.end();
    case "failed":
      return reader.fault ?? { error: toProviderError(end.error), as: { kind: "thrown", thrown: end.error } };
    case "timed-out": {
      const error = providerError("network", `The model sent nothing for ${end.limitMs} ms.`);
      return { error, as: { kind: "chunk", chunk: { type: "error", error } } };
    }
    default:
      return assertNever(end);
  }
}

/** Suspends a call's limits on silence until the returned function is called. */
export function keepAlive(call: ModelCall): () => void {
  const { clock, timeouts } = call;
  call.heartbeat("waiting");
  const limitMs = Math.min(timeouts.firstChunkMs, timeouts.streamIdleMs);
  if (limitMs === Number.POSITIVE_INFINITY) return () => {};
  // Sends heartbeats twice as often as needed, because the limit's timer could fire just before this one.
  const everyMs = Math.max(1, Math.floor(limitMs / 2));
  const beat = (): void => {
    call.heartbeat("waiting");
    timer = clock.setTimeout(beat, everyMs);
  };
  let timer = clock.setTimeout(beat, everyMs);
  return () => clock.clearTimeout(timer);
}
