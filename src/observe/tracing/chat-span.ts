// Creates the spans of model requests: `ChatSpan` for an iteration's stream, `SummarySpan` for a compaction's summary.

import { type Attributes, type Context, context, SpanKind } from "@opentelemetry/api";
import type { FinishReason, LoopEvents, ModelChunk, ModelRequest, Provider } from "../../core/index.ts";
import { isFailed, type StreamObserver } from "../run-observer.ts";
import { SaidContent, toInputMessages, toInstructions } from "./tracing-options.ts";
import {
  common,
  errorFacts,
  finishNameOf,
  genAi,
  operations,
  own,
  settingsFacts,
  thrownType,
  unfinished,
  usageFacts,
} from "./facts.ts";
import type { LiveSpan } from "./live-span.ts";
import type { TracePorts } from "./instruments.ts";

type IterationEnd = LoopEvents["iteration-end"];

export interface StreamError {
  readonly type: string;
  readonly httpStatus?: number | undefined;
  readonly message?: string | undefined;
}

/** The span of one model stream. `end` is called when the iteration is over, but the span's end time is that of the stream. */
export class ChatSpan implements StreamObserver {
  readonly span: LiveSpan;
  readonly #ports: TracePorts;
  readonly #startedAt: number;
  readonly #startTime: number;
  readonly #provider: string;
  readonly #model: string;
  readonly #said: SaidContent | undefined;
  #firstChunkMs: number | undefined;

  constructor(
    request: ModelRequest,
    { id, model }: Pick<Provider, "id" | "model">,
    { ports, parent, continuation, agent }: ChatPlace,
  ) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
    this.#startTime = ports.clock.wallTime() ?? Date.now();
    this.#provider = id;
    this.#model = model;
    const attributes: Attributes = {
      [genAi.operationName]: operations.stream,
      [genAi.providerName]: id,
      [genAi.requestModel]: model,
      [genAi.requestStream]: true,
      ...settingsFacts(request.settings),
      [genAi.conversationId]: ports.conversationId,
      [genAi.agentName]: agent,
      [own.iteration]: request.iteration,
      [own.continuation]: continuation,
    };
    const facts = { kind: SpanKind.CLIENT, attributes, startTime: this.#startTime };
    this.span = ports.start(`${operations.stream} ${model}`, facts, parent);
    const { content } = ports;
    this.#said = content.isOn ? new SaidContent() : undefined;
    const { system } = request;
    const instructions = system === undefined ? undefined : content.keep("system", () => toInstructions(system));
    this.span.set({
      [genAi.systemInstructions]: content.write(instructions),
      [genAi.inputMessages]: content.write(content.keep("input-messages", () => toInputMessages(request.messages))),
    });
  }

  run<Value>(step: () => Value): Value {
    return context.with(this.span.context, step);
  }

  /**
   * Measures the time to the first chunk. Returns true if the span needs more chunks: until that time is known, or always if content is
   * recorded.
   */
  onChunk(chunk: ModelChunk): boolean {
    if (this.#firstChunkMs === undefined && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded") {
      this.#firstChunkMs = this.#ports.clock.now() - this.#startedAt;
    }
    this.#said?.take(chunk);
    return this.#said !== undefined || this.#firstChunkMs === undefined;
  }

  end(
    { status, finish, usage, costUSD, provider, model, calls, durationMs }: IterationEnd,
    error: StreamError | undefined,
  ): void {
    const { instruments, content } = this.#ports;
    const failed = isFailed(status) ? error : undefined;
    const failure = errorFacts(failed?.type);
    const firstChunk = this.#firstChunkMs === undefined ? undefined : this.#firstChunkMs / 1_000;
    this.span.set({
      ...(usage && usageFacts(usage)),
      ...failure,
      // The provider that answered, which may be wrapped in another one, such as `withFallback`.
      [genAi.providerName]: provider,
      [genAi.responseModel]: model,
      [genAi.responseFinishReasons]: this.#whyFinished(finish),
      [genAi.responseTimeToFirstChunk]: firstChunk,
      [common.httpStatus]: failed?.httpStatus,
      [own.iterationStatus]: status,
      [own.callsAsked]: calls.length,
      [own.costUSD]: costUSD,
    });
    this.#writeSaid();
    if (failed !== undefined) this.span.fail(content.describe(content.keep("error", () => failed.message ?? null)));
    this.span.end(this.#startTime + durationMs);
    const dimensions = { ...this.#dimensions(), [genAi.providerName]: provider, [genAi.responseModel]: model };
    instruments.streamDuration(durationMs / 1_000, { ...dimensions, ...failure });
    if (firstChunk !== undefined) instruments.timeToFirstChunk(firstChunk, dimensions);
    if (usage !== undefined) instruments.tokens(usage, dimensions, failure);
  }

  #whyFinished(finish: FinishReason | undefined): string[] | undefined {
    if (finish !== undefined) return [finishNameOf(finish)];
    return this.#firstChunkMs === undefined ? undefined : [unfinished];
  }

  abandon(errorType: string): void {
    this.span.set(errorFacts(errorType));
    this.#writeSaid();
    this.span.fail(undefined);
    this.span.end();
    const seconds = (this.#ports.clock.now() - this.#startedAt) / 1_000;
    this.#ports.instruments.streamDuration(seconds, { ...this.#dimensions(), ...errorFacts(errorType) });
  }

  #dimensions(): Attributes {
    const { stream } = operations;
    return { [genAi.operationName]: stream, [genAi.providerName]: this.#provider, [genAi.requestModel]: this.#model };
  }

  #writeSaid(): void {
    const said = this.#said;
    if (said === undefined) return;
    const { content } = this.#ports;
    this.span.set({ [genAi.outputMessages]: content.write(content.keep("output-messages", () => said.toMessages())) });
  }
}

export interface ChatPlace {
  readonly ports: TracePorts;
  readonly parent: Context;
  readonly continuation: number;
  /** The name of the agent in this iteration. Undefined without `createHandoffs`. */
  readonly agent: string | undefined;
}

/**
 * The span of a summary that replaces old messages. It is created only when the summary is finished, because the model is unknown until
 * then. Its start time is still the time at which the summary began.
 */
export class SummarySpan {
  readonly #ports: TracePorts;
  readonly #startedAt: number;
  readonly #startTime: number;

  constructor(ports: TracePorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
    this.#startTime = ports.clock.wallTime() ?? Date.now();
  }

  /** Creates and ends the span. No span is created for a compaction that sent no request. */
  end({ iteration, provider, model, usage, costUSD, outcome, error }: LoopEvents["compaction-end"], parent: Context): void {
    if (provider === undefined || model === undefined) return;
    const { content, instruments, conversationId, clock, start } = this.#ports;
    const durationMs = clock.now() - this.#startedAt;
    const dimensions: Attributes = {
      [genAi.operationName]: operations.stream,
      [genAi.providerName]: provider,
      [genAi.requestModel]: model,
      [genAi.responseModel]: model,
    };
    const failure = outcome === "failed" ? errorFacts(thrownType(error)) : {};
    const attributes = {
      ...dimensions,
      ...(usage && usageFacts(usage)),
      ...failure,
      [genAi.conversationId]: conversationId,
      [own.iteration]: iteration,
      [own.purpose]: "summary",
      [own.costUSD]: costUSD,
    };
    const facts = { kind: SpanKind.CLIENT, attributes, startTime: this.#startTime };
    const span = start(`${operations.stream} ${model}`, facts, parent);
    if (outcome === "failed") span.fail(content.describe(content.keep("error", () => error?.message ?? null)));
    span.end(this.#startTime + durationMs);
    instruments.streamDuration(durationMs / 1_000, { ...dimensions, ...failure });
    if (usage !== undefined) instruments.tokens(usage, dimensions, failure);
  }
}
