// Streams attempt after attempt until one gives an answer.

import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { textOf } from "../utils/plain-error.ts";
import { providerError, toProviderError } from "../errors/provider-error.ts";
import { assertNever } from "../utils/guards.ts";
import { EventQueue } from "../utils/event-queue.ts";
import { CancelScope } from "../cancellation/cancel-scope.ts";
import { type StreamEnd, StreamGuard } from "./guard-stream.ts";
import {
  answererOf,
  AttemptLog,
  AttemptReader,
  AttemptTally,
  type Fault,
  type FinishChunk,
  type PlannedAttempt,
  type ReaderPorts,
} from "./attempt-reader.ts";

/** Returns the error chunk for an answer that was cut off by a second one: `stream-ended-early`, retryable. Neither answer is complete. */
export function cutByAnother(): ModelChunk {
  const message = "The service began another answer before it ended the first one.";
  return { type: "error", error: providerError("stream-ended-early", message) };
}

/** The facts of a chunk that may reveal a second answer. */
export interface AnswerChunk {
  /** True if it names the role of the speaker, as the first chunk of an answer does. */
  readonly saysRole: boolean;
  /** True if it contains a part of an answer. The last chunk of a gateway may have an id of its own. */
  readonly hasContent: boolean;
  /** True if a part of an answer came before it. */
  readonly hasBegun: boolean;
}

/** Detects a second answer within one stream, if the chunks carry the id of their answer. */
export class AnswerIds {
  #id = "";
  #isRepeated = false;

  /**
   * Returns true if a chunk belongs to a second answer. A new id alone is not enough, because some gateways make one for each
   * chunk. It counts if the chunk also names the role, or if the previous id has come more than once.
   */
  isOther(id: unknown, { saysRole, hasContent, hasBegun }: AnswerChunk): boolean {
    const said = textOf(id);
    if (said === "") return false;
    const isNew = this.#id !== "" && said !== this.#id;
    if (isNew && hasBegun) return saysRole || (hasContent && this.#isRepeated);
    this.#isRepeated = said === this.#id;
    this.#id = said;
    return false;
  }
}

/** The attempts to make, and the handling of their failures. */
export interface AttemptPlan {
  readonly first: PlannedAttempt;
  /**
   * Returns the attempt after a failed one. Undefined if there is none, or if the limits of the run allow no other request: the
   * failure is then that of the stream.
   */
  next(fault: Fault, wasHeard: boolean): PlannedAttempt | undefined;
  /** Returns the finish of an attempt in the form to pass on. */
  toFinish(chunk: FinishChunk): FinishChunk;
  /** Returns the failure of the last attempt in the form to pass on. */
  toLast(fault: Fault): Fault;
}

/** How many unread chunks pause the model. Reading a little ahead saves a promise per chunk. */
const capacity = 16;

const unlimited = { firstChunkMs: Number.POSITIVE_INFINITY, streamIdleMs: Number.POSITIVE_INFINITY };

/** Streams the attempts of a plan. At most one of them is live at a time, and none begins after the call's signal has fired. */
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

  /** Starts on the first `next()`: nothing is requested before. */
  next(): Promise<IteratorResult<ModelChunk, undefined>> {
    if (!this.#isStarted) this.#start();
    return this.#queue.next();
  }

  return(): Promise<IteratorResult<ModelChunk, undefined>> {
    this.#isStarted = true;
    if (!this.#isOver) {
      const { signal } = this.#call;
      const reason: unknown = signal.aborted ? signal.reason : new DOMException("The stream was given up.", "AbortError");
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

  /** Cancels the attempt, which may still report its usage. The reader of this stream decides how long to wait for that. */
  readonly #onAbort = (): void => {
    const reason: unknown = this.#call.signal.reason;
    this.#scope.cancel({ kind: "wall-clock", limitMs: Number.POSITIVE_INFINITY, reason });
  };

  #begin(attempt: PlannedAttempt): void {
    const { clock, timeouts } = this.#call;
    const { provider, patience } = attempt;
    this.#log.start(answererOf(provider));
    const reader = new AttemptReader(attempt, this.#ports);
    // An attempt with its own limits is watched here, so heartbeats keep the outer guard from expiring.
    const stopBeating = patience === undefined ? undefined : keepAlive(this.#call);
    const ports = { clock, timeouts: { ...timeouts, ...(patience ?? unlimited) }, scope: this.#scope, events: this.#queue };
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
    // Also if the cancellation came after the attempt had failed by itself.
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

  /** Waits on the clock of the call, until its signal fires at the latest. */
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

/** Returns the failure of an attempt that was not cancelled; undefined if there was none. */
function findFault(end: Exclude<StreamEnd, { kind: "cancelled" }>, reader: AttemptReader): Fault | undefined {
  switch (end.kind) {
    case "ended":
      return reader.end();
    case "failed":
      return reader.fault ?? { error: toProviderError(end.error), as: { kind: "thrown", thrown: end.error } };
    case "silent": {
      const error = providerError("network", `The model was silent for ${end.limitMs} ms.`);
      return { error, as: { kind: "chunk", chunk: { type: "error", error } } };
    }
    default:
      return assertNever(end);
  }
}

/** Sends heartbeats, the first one now, until the returned function is called. */
function keepAlive(call: ModelCall): () => void {
  const { clock, timeouts } = call;
  call.heartbeat("waiting");
  const limitMs = Math.min(timeouts.firstChunkMs, timeouts.streamIdleMs);
  if (limitMs === Number.POSITIVE_INFINITY) return () => {};
  // Twice as often as needed, so that the order of the two timers does not matter.
  const everyMs = Math.max(1, Math.floor(limitMs / 2));
  const beat = (): void => {
    call.heartbeat("waiting");
    timer = clock.setTimeout(beat, everyMs);
  };
  let timer = clock.setTimeout(beat, everyMs);
  return () => clock.clearTimeout(timer);
}
