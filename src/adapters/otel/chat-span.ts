// The span of one stream. It lasts as long as the stream did, though how that ended is only known once its pass is over.

import { type Attributes, type Context, context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { LoopEvents, ModelChunk, ModelRequest, Provider } from "../../spi.ts";
import { isFailed, type StreamObserver } from "../../spi-observe.ts";
import { SaidContent, toInputMessages, toInstructions } from "./content.ts";
import { definedIn, errorFacts, settingsFacts, usageFacts } from "./facts.ts";
import { recordTokens } from "./instruments.ts";
import { common, finishNameOf, genAi, operations, own } from "./names.ts";
import type { TracePorts } from "./trace-ports.ts";

/** How the stream of a pass ended. */
type PassEnd = LoopEvents["pass-end"];

/** What is known of a failed stream's error. */
export interface StreamError {
  readonly type: string;
  readonly httpStatus?: number | undefined;
  readonly message?: string | undefined;
}

/** One stream. */
export class ChatSpan implements StreamObserver {
  readonly span: Span;
  readonly #ports: TracePorts;
  readonly #context: Context;
  readonly #startedAt = performance.now();
  readonly #startTime = Date.now();
  readonly #provider: string;
  readonly #model: string;
  readonly #said: SaidContent | undefined;
  #firstChunkMs: number | undefined;

  constructor(request: ModelRequest, { id, model }: Pick<Provider, "id" | "model">, { ports, parent, hop }: ChatPlace) {
    this.#ports = ports;
    this.#provider = id;
    this.#model = model;
    const attributes: Attributes = {
      [genAi.operationName]: operations.stream,
      [genAi.providerName]: id,
      [genAi.requestModel]: model,
      [genAi.requestStream]: true,
      ...settingsFacts(request.settings),
      ...definedIn({ [genAi.conversationId]: ports.conversationId }),
      [own.iteration]: request.iteration,
      [own.hop]: hop,
    };
    const { tracer, write } = ports;
    const facts = { kind: SpanKind.CLIENT, attributes, startTime: this.#startTime };
    this.span = tracer.startSpan(`${operations.stream} ${model}`, facts, parent);
    this.#context = trace.setSpan(parent, this.span);
    this.#said = ports.capturesContent ? new SaidContent() : undefined;
    const { system, messages } = request;
    ports.setText(
      this.span,
      genAi.systemInstructions,
      system === undefined ? undefined : write("system", () => toInstructions(system)),
    );
    ports.setText(
      this.span,
      genAi.inputMessages,
      write("input-messages", () => toInputMessages(messages)),
    );
  }

  run<Value>(step: () => Value): Value {
    return context.with(this.#context, step);
  }

  /** The first chunk says how long it took; later ones are only looked at where content is recorded. */
  onChunk(chunk: ModelChunk): boolean {
    if (this.#firstChunkMs === undefined && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded") {
      this.#firstChunkMs = performance.now() - this.#startedAt;
    }
    this.#said?.take(chunk);
    return this.#said !== undefined || this.#firstChunkMs === undefined;
  }

  /** Ends the span where the stream did. */
  end({ status, finish, usage, costUSD, provider, model, calls, durationMs }: PassEnd, error: StreamError | undefined): void {
    const { instruments } = this.#ports;
    const failed = isFailed(status) ? error : undefined;
    const firstChunk = this.#firstChunkMs === undefined ? undefined : this.#firstChunkMs / 1_000;
    this.span.setAttributes(
      definedIn({
        ...(usage === undefined ? {} : usageFacts(usage)),
        ...errorFacts(failed?.type),
        // Of a wrapping provider: who answered in the end.
        [genAi.providerName]: provider,
        [genAi.responseModel]: model,
        [genAi.responseFinishReasons]: finish === undefined ? undefined : [finishNameOf(finish)],
        [genAi.responseTimeToFirstChunk]: firstChunk,
        [common.httpStatus]: failed?.httpStatus,
        [own.passStatus]: status,
        [own.callsAsked]: calls,
        [own.costUSD]: costUSD,
      }),
    );
    this.#writeSaid();
    if (failed !== undefined) this.#ports.fail(this.span, failed.message);
    this.span.end(this.#startTime + durationMs);
    const dimensions = { ...this.#dimensions(), [genAi.providerName]: provider, [genAi.responseModel]: model };
    instruments.streamDuration.record(durationMs / 1_000, { ...dimensions, ...errorFacts(failed?.type) });
    if (firstChunk !== undefined) instruments.timeToFirstChunk.record(firstChunk, dimensions);
    if (usage !== undefined) recordTokens(instruments, usage, dimensions);
  }

  /** Ends the span of a stream that nobody says the end of, because its run broke. */
  abandon(errorType: string): void {
    this.span.setAttributes(errorFacts(errorType));
    this.#writeSaid();
    this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    this.#ports.instruments.streamDuration.record(seconds, { ...this.#dimensions(), ...errorFacts(errorType) });
  }

  #dimensions(): Attributes {
    const { stream } = operations;
    return { [genAi.operationName]: stream, [genAi.providerName]: this.#provider, [genAi.requestModel]: this.#model };
  }

  #writeSaid(): void {
    const said = this.#said;
    if (said === undefined) return;
    const { setText, write } = this.#ports;
    setText(
      this.span,
      genAi.outputMessages,
      write("output-messages", () => said.toMessages()),
    );
  }
}

/** Where a stream belongs. */
export interface ChatPlace {
  readonly ports: TracePorts;
  readonly parent: Context;
  readonly hop: number;
}
