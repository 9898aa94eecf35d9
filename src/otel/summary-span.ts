// The span of a summary that replaces old messages. Its model is known only at the end, so the span is created then, with the time
// at which the summary began.

import { type Attributes, type Context, SpanKind } from "@opentelemetry/api";
import type { LoopEvents } from "../core/entry-kit.ts";
import { errorFacts, genAi, operations, own, thrownType, usageFacts } from "./facts.ts";
import type { TracePorts } from "./instruments.ts";

export class SummarySpan {
  readonly #ports: TracePorts;
  readonly #startedAt: number;
  readonly #startTime: number;

  constructor(ports: TracePorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
    this.#startTime = ports.clock.wallTime() ?? Date.now();
  }

  /** Writes the span. A compaction that sent no request has none. */
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
