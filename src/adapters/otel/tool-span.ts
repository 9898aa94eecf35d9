// The span of one call, from its first event to its last, whether it ran or was refused.

import { type Attributes, type Context, type Span, SpanKind, trace } from "@opentelemetry/api";
import { isRecord, type LoopEvents, type ToolDefinition, type ToolOutcome } from "../../spi.ts";
import { cutName, definedIn, errorFacts } from "./facts.ts";
import { genAi, operations, own } from "./names.ts";
import type { TracePorts } from "./trace-ports.ts";

/** What became of calls: which of them have run, and which are errors, as the loop counts them. */
const outcomes: { readonly [Kind in ToolOutcome["kind"]]: { readonly ran?: true; readonly isError?: true } } = {
  completed: { ran: true },
  failed: { ran: true, isError: true },
  "timed-out": { ran: true, isError: true },
  interrupted: { ran: true },
  blocked: { isError: true },
  "unknown-tool": { isError: true },
  "invalid-input": { isError: true },
  malformed: { isError: true },
  truncated: { isError: true },
  denied: {},
  limit: {},
  "not-run": {},
};

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
  /** In which the call runs. */
  readonly context: Context;
  readonly #span: Span;
  readonly #place: ToolPlace;
  readonly #startedAt = performance.now();

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
    this.context = trace.setSpan(parent, this.#span);
    ports.setText(
      this.#span,
      genAi.toolCallArguments,
      ports.write("tool-arguments", () => args),
    );
  }

  end({ name, outcome, result }: LoopEvents["tool-end"]): void {
    const { ports } = this.#place;
    const { ran, isError } = outcomes[outcome];
    const error = errorFacts(isError === true ? outcome : undefined);
    this.#span.setAttributes({ ...error, [own.toolOutcome]: outcome });
    ports.setText(
      this.#span,
      genAi.toolCallResult,
      ports.write("tool-result", () => result),
    );
    if (isError === true) ports.fail(this.#span, isRecord(result) ? String(result["reason"] ?? outcome) : outcome);
    this.#close(name, ran === true ? error : undefined);
  }

  /** Ends the span of a call that nobody says the end of, because its run broke. */
  abandon(errorType: string): void {
    this.#span.setAttributes(errorFacts(errorType));
    this.#place.ports.fail(this.#span, undefined);
    this.#close("", undefined);
  }

  /** Measures a call that has run. */
  #close(name: string, error: Attributes | undefined): void {
    this.#span.end();
    if (error === undefined) return;
    const { ports, agentName } = this.#place;
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const dimensions = { [genAi.toolName]: name, [genAi.toolType]: "function", [genAi.agentName]: agentName };
    ports.instruments.toolDuration.record(seconds, { ...definedIn(dimensions), ...error });
  }
}
