// A span that disturbs nobody: what a tracer, a span or one of its processors throws goes to OpenTelemetry's own log.

import { type Attributes, type Context, diag, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { dropPromise, toPlainError } from "../core/provider-kit.ts";
import { definedIn } from "./facts.ts";

/** Does something with a tracer or a meter, which a run must not notice. */
export function quietly<Value>(work: () => Value): Value | undefined {
  try {
    const value = work();
    dropPromise(value);
    return value;
  } catch (error) {
    diag.error("turnwright could not record a run", toPlainError(error).message);
    return undefined;
  }
}

/** One span. Where none could be begun, nothing is recorded, and what would be below it is below its parent. */
export class LiveSpan {
  /** In which what the span is of is done. */
  readonly context: Context;
  readonly #span: Span | undefined;

  constructor(begin: () => Span | undefined, parent: Context) {
    const span = quietly(begin);
    this.#span = span;
    this.context = span === undefined ? parent : trace.setSpan(parent, span);
  }

  /** What is undefined is left out. */
  set(attributes: Attributes): void {
    quietly(() => this.#span?.setAttributes(definedIn(attributes)));
  }

  /** Notes what happened besides. */
  note(name: string, attributes: Attributes): void {
    quietly(() => this.#span?.addEvent(name, definedIn(attributes)));
  }

  /** Says that what the span is of has failed. */
  fail(message: string | undefined): void {
    quietly(() => this.#span?.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }));
  }

  /** At a time in milliseconds; default now. */
  end(at?: number): void {
    quietly(() => this.#span?.end(at));
  }
}
