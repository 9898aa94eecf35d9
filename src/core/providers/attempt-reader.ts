// Reads one attempt of a retrying provider, and its usage.

import type { ProviderError, Timeouts, Usage } from "../types/common.ts";
import type { AttemptSpending, ModelCall, ModelChunk, ModelRequest, Provider } from "../types/provider.ts";
import { isRecord, assertNever } from "../utils/guards.ts";
import { toUsage } from "../utils/plain-error.ts";
import { addUsage, noUsage } from "../utils/count-usage.ts";
import { toProviderError } from "../errors/provider-error.ts";
import { textIn } from "../utils/texts.ts";
import type { GuardedStream } from "./guard-stream.ts";
import { judgeFinish } from "./judge-finish.ts";

/** The provider and model of an attempt. */
export interface Answerer {
  readonly provider: string;
  readonly model: string;
  readonly family?: string | undefined;
}

/** The identity of a provider. */
export function answererOf({ id, model, family }: Provider): Answerer {
  return { provider: id, model, family };
}

/** Emits the attempts as one sequence without gaps, counted from 1. Each attempt that has begun is discarded at most once. */
export class AttemptLog {
  readonly #tell: (chunk: ModelChunk) => void;
  #number = 0;
  /** The provider of the running attempt; undefined between two attempts. */
  #current: Answerer | undefined;

  constructor(tell: (chunk: ModelChunk) => void) {
    this.#tell = tell;
  }

  /** True if an attempt is running. */
  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Starts an attempt. A wrapper inside an attempt also starts one. That is the same attempt, possibly with a more exact
   * provider. Returns false if there is nothing new to emit.
   */
  start({ provider, model, family }: Answerer): boolean {
    const before = this.#current;
    if (before === undefined) this.#number += 1;
    else if (before.provider === provider && before.model === model && before.family === family) return false;
    this.#current = { provider, model, family };
    this.repeat();
    return true;
  }

  /** Emits the start of the running attempt again. */
  repeat(): void {
    if (this.#current !== undefined) this.#tell({ type: "attempt-start", attempt: this.#number, ...this.#current });
  }

  discard(error: ProviderError): void {
    if (this.#current === undefined) return;
    this.#current = undefined;
    this.#tell({ type: "attempt-discarded", attempt: this.#number, error });
  }
}

/** Counts the usage in the chunks that a stream passes on, per attempt. */
export class AttemptTally {
  readonly #ended: AttemptSpending[] = [];
  #usage: Usage | undefined;
  #answerer: Answerer | undefined;

  get spendings(): readonly AttemptSpending[] {
    const { provider = "", model = "" } = this.#answerer ?? {};
    return this.#usage === undefined ? [...this.#ended] : [...this.#ended, { provider, model, usage: this.#usage }];
  }

  take(chunk: ModelChunk): void {
    if (chunk.type === "usage" && isRecord(chunk.usage)) {
      const usage = toUsage(chunk.usage);
      this.#usage = chunk.mode === "delta" ? addUsage(this.#usage ?? noUsage, usage) : usage;
    } else if (chunk.type === "attempt-discarded") this.#end();
    else if (chunk.type === "attempt-start") {
      const { provider, model } = this.#answerer ?? chunk;
      if (provider !== chunk.provider || model !== chunk.model) this.#end();
      this.#answerer = chunk;
    }
  }

  #end(): void {
    this.#ended.splice(0, this.#ended.length, ...this.spendings);
    this.#usage = undefined;
  }
}

/** The chunk that ends a stream normally. */
export type FinishChunk = Extract<ModelChunk, { type: "finish" }>;

/** The provider of an attempt, its request and its limits. */
export interface PlannedAttempt {
  readonly provider: Provider;
  readonly request: ModelRequest;
  /**
   * Its own limits on silence, in milliseconds, if another provider can follow. Default: those of the iteration, which then ends
   * with it.
   */
  readonly patience?: Pick<Timeouts, "firstChunkMs" | "streamIdleMs"> | undefined;
  /** The wait before it, in milliseconds. Default 0. */
  readonly delayMs?: number | undefined;
}

/** The failure of an attempt, and the form in which it is passed on if no other attempt follows. */
export interface Fault {
  readonly error: ProviderError;
  readonly as:
    | { readonly kind: "thrown"; readonly thrown: unknown }
    | { readonly kind: "chunk"; readonly chunk: ModelChunk }
    /** The stream ends without an error. */
    | { readonly kind: "quiet" };
}

/** The part of the stream that a reader uses. */
export interface ReaderPorts {
  /** The call of the whole stream. */
  readonly call: ModelCall;
  readonly log: AttemptLog;
  tell(chunk: ModelChunk): void;
  /** The usage of the stream's attempts so far. */
  spent(): readonly AttemptSpending[];
  toFinish(chunk: FinishChunk): FinishChunk;
}

/** One attempt while it streams. */
export class AttemptReader implements GuardedStream {
  readonly iteration: number;
  readonly #attempt: PlannedAttempt;
  readonly #ports: ReaderPorts;
  /** The failure, if a chunk reported it. */
  fault: Fault | undefined;
  /** True if a user may have seen output of the attempt. */
  wasHeard = false;
  #hasText: boolean;
  #hasCalls = false;
  hasFinished = false;
  /** True if any chunk has come. */
  #hasBegun = false;
  #isLeft = false;

  constructor(attempt: PlannedAttempt, ports: ReaderPorts) {
    this.#attempt = attempt;
    this.#ports = ports;
    this.iteration = attempt.request.iteration;
    this.#hasText = continuesMessage(attempt.request);
  }

  /** True after a failure, which ends the stream. */
  get isOver(): boolean {
    return this.fault !== undefined;
  }

  open(guard: ModelCall): AsyncIterable<ModelChunk> {
    const { provider, request } = this.#attempt;
    return provider.stream(request, this.#toCall(guard));
  }

  take(chunk: ModelChunk): void {
    const { log, tell } = this.#ports;
    if (chunk.type === "attempt-start") return this.#start(chunk);
    if (chunk.type === "attempt-discarded") return this.#forget(toProviderError(chunk.error));
    if (!log.isOpen) log.start(answererOf(this.#attempt.provider));
    this.#hasBegun = true;
    if (chunk.type === "finish") return this.#finish(chunk);
    if (chunk.type === "error") this.fault = { error: toProviderError(chunk.error), as: { kind: "chunk", chunk } };
    else {
      this.#note(chunk);
      tell(chunk);
    }
  }

  /** Handles a wrapper that starts the same attempt again. It makes another request, which gets the time limit of a first chunk again. */
  #start(answerer: Answerer): void {
    const { log } = this.#ports;
    const isTold = log.start(answerer);
    if (!isTold && this.#hasBegun) log.repeat();
    this.#hasBegun = true;
  }

  #note(chunk: Exclude<ModelChunk, { type: `attempt-${string}` | "finish" | "error" }>): void {
    switch (chunk.type) {
      case "text-delta":
      case "refusal-delta":
        return this.#hear(textIn(chunk, "text"), true);
      case "reasoning-delta":
        return this.#hear(textIn(chunk, "text"), false);
      case "call-start":
      case "call-args-delta":
      case "call-ready":
        this.#hasCalls = true;
        this.wasHeard = true;
        return;
      case "usage":
      case "provider-metadata":
      case "details":
      case "thought-log":
        return;
      default:
        return assertNever(chunk);
    }
  }

  #hear(text: string, isAnswer: boolean): void {
    this.wasHeard ||= text !== "";
    if (isAnswer) this.#hasText ||= text.trim() !== "";
  }

  /** Returns the failure of a stream that ended without a finish. */
  end(): Fault | undefined {
    if (this.hasFinished) return undefined;
    const error = errorOf(judgeFinish(undefined, { text: this.#hasText, calls: this.#hasCalls }));
    return error === undefined ? undefined : { error, as: { kind: "quiet" } };
  }

  /** Stops passing heartbeats on. Nothing more is read from the attempt. */
  leave(): void {
    this.#isLeft = true;
  }

  /** Handles a wrapper that discards its output. */
  #forget(error: ProviderError): void {
    this.#ports.log.discard(error);
    this.wasHeard = false;
    this.#hasText = continuesMessage(this.#attempt.request);
    this.#hasCalls = false;
    this.hasFinished = false;
    this.#hasBegun = false;
  }

  /** Handles a finish. An error of the loop is also a failure here. */
  #finish(chunk: FinishChunk): void {
    const error = errorOf(judgeFinish(chunk.reason, { text: this.#hasText, calls: this.#hasCalls }, chunk.raw));
    if (error !== undefined) {
      this.fault = { error, as: { kind: "chunk", chunk } };
      return;
    }
    this.hasFinished = true;
    this.#ports.tell(this.#ports.toFinish(chunk));
  }

  #toCall(guard: ModelCall): ModelCall {
    const { call } = this.#ports;
    const { patience } = this.#attempt;
    const before = this.#ports.spent();
    return {
      // A getter, because the guard creates its signal on first use.
      get signal() {
        return guard.signal;
      },
      heartbeat: (state) => {
        guard.heartbeat(state);
        if (!this.#isLeft) call.heartbeat(state);
      },
      mayAsk: (spent) => call.mayAsk?.([...before, ...spent]) !== false,
      iteration: call.iteration,
      clock: call.clock,
      timeouts: patience === undefined ? call.timeouts : { ...call.timeouts, ...patience },
    };
  }
}

/** True if a request continues a message that was partly received. */
export function continuesMessage({ continuationToken, messages }: ModelRequest): boolean {
  return continuationToken !== undefined || messages.at(-1)?.role === "assistant";
}

function errorOf({ status, reason }: ReturnType<typeof judgeFinish>): ProviderError | undefined {
  return status === "error" && reason?.kind === "provider-error" ? reason.error : undefined;
}
