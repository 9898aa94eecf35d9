// Reads a provider stream that may make several attempts. Announces when a failed attempt's output is discarded, so that readers can drop
// it.

import type { ProviderError, Timeouts, Usage } from "../types/common.ts";
import type { AttemptSpending, ModelCall, ModelChunk, ModelRequest, Provider } from "../types/provider.ts";
import { isRecord, assertNever } from "../../shared/guards.ts";
import { toUsage } from "../../shared/plain-error.ts";
import { addUsage, noUsage } from "../../shared/count-usage.ts";
import { toProviderError } from "../../shared/errors/read-sdk-error.ts";
import { textIn } from "../../shared/texts.ts";
import type { GuardedStream } from "./guard-stream.ts";
import { judgeFinish } from "../../shared/judge-finish.ts";
import { type Answerer, answererOf, type AttemptLog, continuesMessage } from "../../shared/attempt-log.ts";

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

export type FinishChunk = Extract<ModelChunk, { type: "finish" }>;

export interface PlannedAttempt {
  readonly provider: Provider;
  readonly request: ModelRequest;
  /** True if no other attempt can follow once this attempt has sent output. Default false. */
  readonly isFinal?: boolean | undefined;
  /**
   * This attempt's limits on silence, in milliseconds. Set if another provider can be tried after this attempt. Default:
   * the iteration's limits. If one of the iteration's limits expires, the iteration ends.
   */
  readonly patience?: Pick<Timeouts, "firstChunkMs" | "streamIdleMs"> | undefined;
  readonly delayMs?: number | undefined;
}

/** The error from a failed attempt. If no other attempt follows, the stream ends with `as`, a different form of the error. */
export interface Fault {
  readonly error: ProviderError;
  readonly as:
    | { readonly kind: "thrown"; readonly thrown: unknown }
    | { readonly kind: "chunk"; readonly chunk: ModelChunk }
    | { readonly kind: "quiet" };
}

export interface ReaderPorts {
  readonly call: ModelCall;
  readonly log: AttemptLog;
  tell(chunk: ModelChunk): void;
  spent(): readonly AttemptSpending[];
  toFinish(chunk: FinishChunk): FinishChunk;
}

export class AttemptReader implements GuardedStream {
  readonly iteration: number;
  readonly #attempt: PlannedAttempt;
  readonly #ports: ReaderPorts;
  fault: Fault | undefined;
  wasHeard: boolean;
  #hasText: boolean;
  #hasCalls = false;
  hasFinished: boolean;
  #hasBegun = false;
  #isLeft = false;

  constructor(attempt: PlannedAttempt, ports: ReaderPorts) {
    this.#attempt = attempt;
    this.#ports = ports;
    this.wasHeard = false;
    this.hasFinished = false;
    this.iteration = attempt.request.iteration;
    this.#hasText = continuesMessage(attempt.request);
  }

  open(guard: ModelCall): AsyncIterable<ModelChunk> {
    const { provider, request } = this.#attempt;
    return provider.stream(request, this.#toCall(guard));
  }

  take(chunk: ModelChunk): ReturnType<GuardedStream["take"]> {
    this.#take(chunk);
    if (this.fault !== undefined) return "over";
    return this.hasFinished ? "finished" : undefined;
  }

  #take(chunk: ModelChunk): void {
    const { log, tell } = this.#ports;
    if (chunk.type === "attempt-start") return this.#start(chunk);
    if (chunk.type === "attempt-discarded") return this.#forget(toProviderError(chunk.error));
    if (!log.isOpen) log.start({ ...answererOf(this.#attempt.provider), isFinal: this.#attempt.isFinal });
    this.#hasBegun = true;
    if (chunk.type === "finish") return this.#finish(chunk);
    if (chunk.type === "error") this.fault = { error: toProviderError(chunk.error), as: { kind: "chunk", chunk } };
    else {
      this.#note(chunk);
      tell(chunk);
    }
  }

  /**
   * Handles `attempt-start` from a provider that is itself a wrapper. If the wrapper sends another request with the same provider and
   * model, emits the chunk again, so that the time limit for the first chunk applies to that request.
   */
  #start(answerer: Answerer): void {
    const { log } = this.#ports;
    const isTold = log.start({ ...answerer, isFinal: this.#attempt.isFinal === true && answerer.isFinal === true });
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
      case "request-adjusted":
        return;
      default:
        return assertNever(chunk);
    }
  }

  #hear(text: string, isAnswer: boolean): void {
    this.wasHeard ||= text !== "";
    if (isAnswer) this.#hasText ||= text.trim() !== "";
  }

  end(): Fault | undefined {
    if (this.hasFinished) return undefined;
    const error = errorOf(judgeFinish(undefined, { text: this.#hasText, calls: this.#hasCalls }));
    return error === undefined ? undefined : { error, as: { kind: "quiet" } };
  }

  leave(): void {
    this.#isLeft = true;
  }

  #forget(error: ProviderError): void {
    this.#ports.log.discard(error);
    this.wasHeard = false;
    this.#hasText = continuesMessage(this.#attempt.request);
    this.#hasCalls = false;
    this.hasFinished = false;
    this.#hasBegun = false;
  }

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
      // Uses a getter because the guard creates its signal only when it is first read.
      get signal() {
        return guard.signal;
      },
      heartbeat: (state) => {
        guard.heartbeat(state);
        if (!this.#isLeft) call.heartbeat(state);
      },
      mayAsk: (spent) => call.mayAsk?.([...before, ...spent]) !== false,
      sending: call.sending,
      iteration: call.iteration,
      clock: call.clock,
      timeouts: patience === undefined ? call.timeouts : { ...call.timeouts, ...patience },
    };
  }
}

function errorOf({ status, reason }: ReturnType<typeof judgeFinish>): ProviderError | undefined {
  return status === "error" && reason?.kind === "provider-error" ? reason.error : undefined;
}
