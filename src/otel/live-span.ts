// One span. Errors of a tracer, a span or a processor go to OpenTelemetry's own log.

import { type Attributes, type Context, diag, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { dropPromise, type LoopEvents, redactText, toPlainError } from "../core/entry-kit.ts";
import { common, definedIn, genAi, own } from "./facts.ts";
import { cutName } from "../core/observe-kit.ts";

/** Calls a tracer or a meter. Its errors do not affect the run. */
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

/** One span. If it could not be begun, nothing is recorded, and its children become children of its parent. */
export class LiveSpan {
  /** The context for the work inside the span. */
  readonly context: Context;
  readonly #span: Span | undefined;

  constructor(begin: () => Span | undefined, parent: Context) {
    const span = quietly(begin);
    this.#span = span;
    this.context = span === undefined ? parent : trace.setSpan(parent, span);
  }

  /** Omits undefined values. */
  set(attributes: Attributes): void {
    quietly(() => this.#span?.setAttributes(definedIn(attributes)));
  }

  /** Adds an event to the span. */
  note(name: string, attributes: Attributes): void {
    quietly(() => this.#span?.addEvent(name, definedIn(attributes)));
  }

  /** Marks the span as failed. */
  fail(message: string | undefined): void {
    quietly(() => this.#span?.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }));
  }

  /** `at` is a time in milliseconds; default now. */
  end(at?: number): void {
    quietly(() => this.#span?.end(at));
  }
}

/** Limits of texts from results. */
const longestText = 128;
const mostNames = 50;

type Call = Pick<LoopEvents["late-result"], "callId" | "name">;

const callFacts = ({ callId, name }: Call): Attributes => ({
  [genAi.toolName]: cutName(name),
  [genAi.toolCallId]: cutName(callId),
});

/** Loop events that become span events. */
export interface Noted {
  readonly "attempt-discarded": LoopEvents["attempt-discarded"];
  readonly restart: LoopEvents["restart"];
  readonly "loop-detected": LoopEvents["loop-detected"];
  readonly "approval-asked": LoopEvents["approval-asked"];
  readonly "approval-decided": LoopEvents["approval-decided"];
  readonly "late-result": LoopEvents["late-result"];
}

/** The attributes of each span event. */
export const notes: { readonly [Type in keyof Noted]: (event: Noted[Type], capturesContent: boolean) => Attributes } = {
  "attempt-discarded": ({ attempt, error }) => ({ [own.attempt]: attempt, [common.errorType]: error.code }),
  // Both come from the result of a tool, and may contain any text.
  restart: ({ suffix, disableTools, ...call }, capturesContent) => ({
    ...callFacts(call),
    ...(capturesContent
      ? {
          [own.restartSuffix]: redactText(suffix, longestText),
          [own.disabledTools]: disableTools.slice(0, mostNames).map((name) => redactText(name, longestText)),
        }
      : {}),
  }),
  "loop-detected": ({ toolName, count, cycle, action }) => ({
    [genAi.toolName]: cutName(toolName),
    [own.loopCount]: count,
    [own.cycle]: cycle,
    [own.loopAction]: action,
  }),
  "approval-asked": callFacts,
  "approval-decided": ({ decision, ...call }) => ({ ...callFacts(call), [own.decision]: decision }),
  "late-result": ({ success, ...call }) => ({ ...callFacts(call), [own.lateSuccess]: success }),
};
