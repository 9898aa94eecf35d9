// The span of one model stream. It is written when the iteration is over, but with the end time of the stream.

import { type Attributes, type Context, context, SpanKind } from "@opentelemetry/api";
import type { FinishReason, LoopEvents, ModelChunk, ModelRequest, Provider } from "../core/entry-kit.ts";
import { isFailed, type StreamObserver } from "../core/observe-kit.ts";
import { SaidContent, toInputMessages, toInstructions } from "./content.ts";
import { common, errorFacts, finishNameOf, genAi, operations, own, settingsFacts, unfinished, usageFacts } from "./facts.ts";
import type { LiveSpan } from "./live-span.ts";
import type { TracePorts } from "./instruments.ts";

type IterationEnd = LoopEvents["iteration-end"];

export interface StreamError {
  readonly type: string;
  readonly httpStatus?: number | undefined;
  readonly message?: string | undefined;
}

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
   * Measures the time to the first chunk. Returns true if more chunks are needed, which is always the case if content is
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
      // The name of the provider that answered. If the run's provider wraps others, this is one of the inner providers.
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
  /** The agent of the iteration. Undefined without `policies.handoffs`. */
  readonly agent: string | undefined;
}
