import { type Attributes, type AttributeValue, type Context, diag, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { dropPromise } from "../../shared/promises.ts";
import type { LoopEvent } from "../../core/index.ts";
import { textOf } from "../../core/kit.ts";
import { rowOf } from "../../shared/event-table.ts";
import { redactText } from "../../shared/redact-secrets.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { cleanName } from "../run-observer.ts";
import { common, definedIn, genAi, thrownType } from "./facts.ts";

/** Calls a function that uses a tracer or a meter. Errors are logged with OpenTelemetry's `diag` and do not affect the run. */
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

/** The source of time for spans. All times are in milliseconds. */
export interface SpanClock {
  /** Returns a time for measuring durations. Its starting point is arbitrary. */
  now(): number;
  /** Returns the time since 1970, or undefined to let the tracer read the time itself, which is more accurate. */
  wallTime(): number | undefined;
}

export const liveClock: SpanClock = { now: () => performance.now(), wallTime: () => undefined };

/** An OpenTelemetry span that never throws. If the tracer cannot start the span, its child spans become children of the parent. */
export class LiveSpan {
  readonly context: Context;
  readonly #span: Span | undefined;
  readonly #clock: SpanClock;

  constructor(begin: () => Span | undefined, parent: Context, clock: SpanClock) {
    const span = quietly(begin);
    this.#span = span;
    this.#clock = clock;
    this.context = span === undefined ? parent : trace.setSpan(parent, span);
  }

  set(attributes: Attributes): void {
    quietly(() => this.#span?.setAttributes(definedIn(attributes)));
  }

  note(name: string, attributes: Attributes): void {
    quietly(() => this.#span?.addEvent(name, definedIn(attributes), this.#clock.wallTime()));
  }

  fail(message: string | undefined): void {
    quietly(() => this.#span?.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }));
  }

  /** Ends the span. `at` is the end time in milliseconds since 1970. Default: now. */
  end(at?: number): void {
    quietly(() => this.#span?.end(at ?? this.#clock.wallTime()));
  }
}

/** The maximum number of characters to record from a string in a tool result. */
const maxTextLength = 128;
const maxNames = 50;

/** Returns the field that identifies an object, such as a request change, a cause or a part. */
function nameOf(value: object): unknown {
  const { kind, name, field, action, by, reason }: { readonly [field: string]: unknown } = { ...value };
  return typeof field === "string" ? `${field} ${textOf(action)} by ${textOf(by)}: ${textOf(reason)}` : (kind ?? name);
}

function toAttribute(value: unknown): AttributeValue | undefined {
  if (typeof value === "string") return redactText(value, maxTextLength);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.slice(0, maxNames).map((item) => String(toAttribute(item)));
  return typeof value === "object" && value !== null ? toAttribute(nameOf(value)) : undefined;
}

/** Returns the attributes of a span event. Fields that may contain arbitrary text are omitted unless `capturesContent` is true. */
export function noteFacts(event: LoopEvent, capturesContent: boolean): Attributes {
  const { span, spanContent } = rowOf(event);
  const names = Object.entries({ ...span, ...(capturesContent && spanContent) });
  const { name, toolName = name, callId, error }: { readonly [field: string]: unknown } = { ...event };
  return {
    [genAi.toolName]: typeof toolName === "string" ? cleanName(toolName) : undefined,
    [genAi.toolCallId]: typeof callId === "string" ? cleanName(callId) : undefined,
    [common.errorType]: error === undefined ? undefined : thrownType(error),
    ...Object.fromEntries(names.map(([field, to]) => [`turnwright.${to}`, toAttribute(Reflect.get(event, field))])),
  };
}
