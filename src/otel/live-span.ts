import { type Attributes, type Context, diag, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { dropPromise } from "../shared/promises.ts";
import type { LoopEvents } from "../core/index.ts";
import { redactText } from "../shared/redact-secrets.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { cleanName } from "../observe/run-observer.ts";
import { common, definedIn, genAi, own, thrownType } from "./facts.ts";

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

/** All times are in milliseconds. */
export interface SpanClock {
  /** For durations. The starting point of this time is not defined. */
  now(): number;
  /** Returns the time since 1970, or undefined. If undefined, the tracer reads the time itself, which is more exact. */
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
const longestText = 128;
const mostNames = 50;

type Call = Pick<LoopEvents["late-result"], "callId" | "name">;

const callFacts = ({ callId, name }: Call): Attributes => ({
  [genAi.toolName]: cleanName(name),
  [genAi.toolCallId]: cleanName(callId),
});

export interface Noted {
  readonly "attempt-discarded": LoopEvents["attempt-discarded"];
  readonly "compaction-end": LoopEvents["compaction-end"];
  readonly handoff: LoopEvents["handoff"];
  readonly guardrail: LoopEvents["guardrail"];
  readonly restart: LoopEvents["restart"];
  readonly "loop-detected": LoopEvents["loop-detected"];
  readonly "cache-break": LoopEvents["cache-break"];
  readonly "request-adjusted": LoopEvents["request-adjusted"];
  readonly "approval-asked": LoopEvents["approval-asked"];
  readonly "approval-decided": LoopEvents["approval-decided"];
  readonly "late-result": LoopEvents["late-result"];
  readonly "tool-emit": LoopEvents["tool-emit"];
}

export const notes: { readonly [Type in keyof Noted]: (event: Noted[Type], capturesContent: boolean) => Attributes } = {
  "attempt-discarded": ({ attempt, error }) => ({ [own.attempt]: attempt, [common.errorType]: error?.code }),
  "compaction-end": ({ outcome, tokensBefore, tokensAfter, error }) => ({
    [own.compactionOutcome]: outcome,
    [own.compactionTokensBefore]: tokensBefore,
    [own.compactionTokensAfter]: tokensAfter,
    [common.errorType]: error && thrownType(error),
  }),
  handoff: ({ from, to, ...call }) => ({ ...callFacts(call), [own.handoffFrom]: from, [own.handoffTo]: to }),
  guardrail: ({ stage, guardrail, verdict, error }) => ({
    [own.guardrail]: guardrail,
    [own.guardrailStage]: stage,
    [own.guardrailVerdict]: verdict,
    [common.errorType]: error && thrownType(error),
  }),
  // `suffix` and `disableTools` come from a tool result and may contain any text, so they are recorded only with
  // `captureContent`.
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
    [genAi.toolName]: cleanName(toolName),
    [own.loopCount]: count,
    [own.cycle]: cycle,
    [own.loopAction]: action,
  }),
  "cache-break": ({ cause, keptBytes, lostBytes }) => ({
    [own.cacheBreakCause]: cause.kind,
    [own.cacheKeptBytes]: keptBytes,
    [own.cacheLostBytes]: lostBytes,
  }),
  "request-adjusted": ({ changes }) => ({
    [own.requestChanges]: changes
      .slice(0, mostNames)
      .map(({ by, field, action, reason }) => redactText(`${field} ${action} by ${by}: ${reason}`, longestText)),
  }),
  "approval-asked": callFacts,
  "approval-decided": ({ decision, ...call }) => ({ ...callFacts(call), [own.decision]: decision }),
  "late-result": ({ success, ...call }) => ({ ...callFacts(call), [own.lateSuccess]: success }),
  "tool-emit": ({ part, ...call }) => ({ ...callFacts(call), [own.emittedName]: part.type === "data" ? part.name : undefined }),
};
