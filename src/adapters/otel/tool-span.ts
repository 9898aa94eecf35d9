// The span of one call, from its first event to its last, whether it ran or was refused.

import { type Context, type Span, SpanKind, trace } from "@opentelemetry/api";
import { isRecord, type LoopEvents, textOf, type ToolDefinition } from "../../spi.ts";
import { countsAsError } from "../../spi-observe.ts";
import { cutName, definedIn, errorFacts } from "./facts.ts";
import { genAi, operations, own } from "./names.ts";
import type { TracePorts } from "./trace-ports.ts";

/** Where a call belongs. */
export interface ToolPlace {
  readonly ports: TracePorts;
  readonly parent: Context;
  readonly agentName: string | undefined;
  /** Undefined where the model made the name up. */
  readonly definition: ToolDefinition | undefined;
}

/** One call. */
export class ToolSpan {
  readonly #context: Context;
  readonly #span: Span;
  readonly #place: ToolPlace;
  readonly #startedAt = performance.now();
  /** A refused call has not run, and one that took over what a discarded attempt had started does not run again. */
  #hasRun = false;

  constructor({ callId, name, index, args, iteration }: LoopEvents["tool-start"], place: ToolPlace) {
    const { ports, parent, definition } = place;
    this.#place = place;
    const attributes = definedIn({
      [genAi.operationName]: operations.call,
      [genAi.toolName]: cutName(name),
      [genAi.toolCallId]: cutName(callId),
      [genAi.toolType]: "function",
      [genAi.toolDescription]: definition?.description,
      [genAi.conversationId]: ports.conversationId,
      [own.iteration]: iteration,
      [own.toolIndex]: index,
    });
    // A name that the model made up is no name for a span.
    const spanName = definition === undefined ? operations.call : `${operations.call} ${name}`;
    this.#span = ports.tracer.startSpan(spanName, { kind: SpanKind.INTERNAL, attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
    ports.setText(
      this.#span,
      genAi.toolCallArguments,
      ports.write("tool-arguments", () => args),
    );
  }

  /** In which the call runs. */
  get context(): Context {
    this.#hasRun = true;
    return this.#context;
  }

  end({ name, outcome, result }: LoopEvents["tool-end"]): void {
    const { ports, agentName } = this.#place;
    const error = errorFacts(countsAsError(outcome) ? outcome : undefined);
    this.#span.setAttributes({ ...error, [own.toolOutcome]: outcome, [own.toolExecuted]: this.#hasRun });
    ports.setText(
      this.#span,
      genAi.toolCallResult,
      ports.write("tool-result", () => result),
    );
    if (countsAsError(outcome)) ports.fail(this.#span, isRecord(result) ? textOf(result["reason"]) : undefined);
    this.#span.end();
    if (!this.#hasRun) return;
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const dimensions = { [genAi.toolName]: name, [genAi.toolType]: "function", [genAi.agentName]: agentName };
    ports.instruments.toolDuration.record(seconds, { ...definedIn(dimensions), ...error });
  }

  /** Ends the span of a call that nobody says the end of, because its run broke. */
  abandon(errorType: string): void {
    this.#span.setAttributes({ ...errorFacts(errorType), [own.toolExecuted]: this.#hasRun });
    this.#place.ports.fail(this.#span, undefined);
    this.#span.end();
  }
}
