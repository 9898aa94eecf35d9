// Streams attempt after attempt until one gives an answer.

import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { textOf } from "../utils/plain-error.ts";
import { providerError, toProviderError } from "../errors/provider-error.ts";
import { assertNever } from "../utils/guards.ts";
import { EventQueue } from "../utils/event-queue.ts";
import { CancelScope } from "../cancellation/cancel-scope.ts";
import { guardStream, type StreamEnd } from "./guard-stream.ts";
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

/** Returns the error chunk for an answer that a second one has cut off: `stream-ended-early`, retryable. Neither answer is whole. */
export function cutByAnother(): ModelChunk {
  const message = "The service began another answer before it ended the first one.";
  return { type: "error", error: providerError("stream-ended-early", message) };
}

/** A chunk, as far as it may tell of another answer. */
export interface AnswerChunk {
  /** True if it says who speaks, as the first chunk of an answer does. */
  readonly saysRole: boolean;
  /** True if it holds a part of an answer. The last chunk of a gateway may have an id of its own. */
  readonly hasContent: boolean;
  /** True if a part of an answer came before it. */
  readonly hasBegun: boolean;
}

/** Notices that a second answer begins in one stream, on a wire whose chunks carry the id of their answer. */
export class AnswerIds {
  #id = "";
  #isRepeated = false;

  /**
   * True if a chunk belongs to another answer. A new id proves nothing alone, because some gateways make one for each chunk. It
   * counts if the chunk also says who speaks, or if the id before it has come more than once.
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

/** The providers to ask, and the handling of failures. */
export interface AttemptPlan {
  readonly first: PlannedAttempt;
  /**
   * The attempt after one that has failed. Undefined where there is none: then the failure is the stream's. So it is where the limits of
   * the run leave no other request.
   */
  next(fault: Fault, wasHeard: boolean): PlannedAttempt | undefined;
  /** The finish of an attempt as it is handed on. */
  toFinish(chunk: FinishChunk): FinishChunk;
  /** How the failure of the last attempt is handed on. */
  toLast(fault: Fault): Fault;
}

/** How many unread chunks hold the model back: reading a little ahead saves a promise for each. */
const capacity = 16;

const unlimited = { firstChunkMs: Number.POSITIVE_INFINITY, streamIdleMs: Number.POSITIVE_INFINITY };

/** Streams the attempts of a plan. At most one of them is live at a time, and none begins once the call's signal has fired. */
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

  /** Nothing is asked before somebody reads. */
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

  /** The attempt may still say what it has cost: whoever reads this stream decides how long that is waited for. */
  readonly #onAbort = (): void => {
    const reason: unknown = this.#call.signal.reason;
    this.#scope.cancel({ kind: "wall-clock", limitMs: Number.POSITIVE_INFINITY, reason });
  };

  #begin(attempt: PlannedAttempt): void {
    const { clock, timeouts } = this.#call;
    const { provider, patience } = attempt;
    this.#log.start(answererOf(provider));
    const reader = new AttemptReader(attempt, this.#ports);
    // An attempt with limits of its own is waited for here, and the guard around this stream has nothing to expire for.
    const stopBeating = patience === undefined ? undefined : keepAlive(this.#call);
    const ports = { clock, timeouts: { ...timeouts, ...(patience ?? unlimited) }, scope: this.#scope, events: this.#queue };
    const onEnd = (end: StreamEnd): void => {
      stopBeating?.();
      reader.leave();
      if (!this.#isOver) this.#conclude(end, reader);
    };
    void guardStream(reader, ports)
      .then(onEnd)
      .catch((error: unknown) => this.#fail(error));
  }

  #conclude(end: StreamEnd, reader: AttemptReader): void {
    // Also where the end was asked for after the attempt had failed by itself.
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

  /** Waits on the clock of the call, and not a moment longer than its signal allows. */
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

/** The failure of an attempt that nobody has cancelled; undefined if there was none. */
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

/** Says now, and over and over until it is stopped, that the stream is alive. Gives what stops it. */
function keepAlive(call: ModelCall): () => void {
  const { clock, timeouts } = call;
  call.heartbeat("waiting");
  const limitMs = Math.min(timeouts.firstChunkMs, timeouts.streamIdleMs);
  if (limitMs === Number.POSITIVE_INFINITY) return () => {};
  // Twice as often as needed, so that it does not matter whose timer fires first.
  const everyMs = Math.max(1, Math.floor(limitMs / 2));
  const beat = (): void => {
    call.heartbeat("waiting");
    timer = clock.setTimeout(beat, everyMs);
  };
  let timer = clock.setTimeout(beat, everyMs);
  return () => clock.clearTimeout(timer);
}
