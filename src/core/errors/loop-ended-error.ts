// Defines the errors that `unwrap` throws, and describes in words each way a run can end.

import type { GuardrailRefusal } from "../types/guardrails.ts";
import type { CostUnknownWhy, EndReason, LoopStatus } from "../types/termination.ts";
import { quote } from "../../shared/texts.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { hasBrand, isRecord } from "../../shared/guards.ts";
import { toPlainError } from "../../shared/plain-error.ts";

type CostReason = Extract<EndReason, { readonly kind: "max-cost" | "cost-unknown" }>;

const because: { readonly [Why in CostUnknownWhy]: string } = {
  "no-usage": " because the provider reported no usage",
  "no-price": ' because "pricing" returned undefined',
  "pricing-failed": ' because "pricing" threw or did not return a number of at least 0 (see the event "listener-error")',
};

function describeCost(reason: CostReason): string {
  if (reason.kind === "max-cost") {
    const { limitUSD, spentUSD, expectedUSD } = reason;
    const next = expectedUSD === undefined ? "" : `, the next request is expected to cost $${round(expectedUSD)}`;
    return `$${round(spentUSD)} was spent${next}, and the limit is $${round(limitUSD)}`;
  }
  const { provider, model, iteration, why } = reason;
  const by = provider === undefined || model === undefined ? "" : ` with model ${quote(model)} from provider ${quote(provider)}`;
  const place = iteration === undefined ? "an iteration" : `iteration ${iteration}`;
  const cause = why === undefined ? "" : because[why];
  return `the cost of ${place}${by} is unknown${cause}, so the cost limit cannot be enforced`;
}

type Refusal = Extract<EndReason, GuardrailRefusal>;

function describeRefusal(reason: Refusal): string {
  const refused = { "input-guardrail": "the input", "output-guardrail": "the answer", "tool-guardrail": "a call of" };
  const of = reason.kind === "tool-guardrail" ? ` ${quote(reason.toolName)}` : "";
  return `the guardrail ${quote(reason.guardrail)} refused ${refused[reason.kind]}${of}${behind(reason.reason)}`;
}

function round(usd: number): number {
  return Number(usd.toPrecision(6));
}

/** Every `reason.kind` of a run that did not complete. */
export type EndedKind = Exclude<
  EndReason["kind"],
  "answered" | "end-turn" | "pre-tool-text" | "stop-condition" | "length" | "refusal" | "content-filter"
>;

/** The end reasons whose `kind` is one of `Kind`. */
export type ReasonOf<Kind extends EndedKind> = EndReason & { readonly kind: Kind };

/** The kinds of end reasons with a `limit` field. They need no entry in `words`, because `wordsOf` has one sentence for all of them. */
type LimitKind = Extract<EndReason, { readonly limit: number }>["kind"];

type ReasonWords = { readonly [Kind in Exclude<EndedKind, LimitKind>]: (reason: ReasonOf<Kind>) => string } & {
  readonly [Kind in LimitKind]?: (reason: ReasonOf<Kind>) => string;
};

const words: ReasonWords = {
  "provider-error": ({ error }) => `the model failed with ${error.code}: ${error.message}`,
  "malformed-call": () => "the model called a tool without a name",
  "tool-error-cap": ({ count }) => `${count} consecutive tool errors occurred`,
  "handoff-cap": ({ count }) => `the agents handed the run over ${count} times`,
  "restart-cap": ({ count }) => `tools restarted the context ${count} times`,
  "loop-detected": ({ toolName, count }) =>
    `the model repeated its tool calls ${count} times, including ${quote(toolName)}. A tool that waits for a change needs "polls: true"`,
  "invalid-output": ({ attempts }) =>
    `the answer did not fit the output schema${attempts === 1 ? "" : ` ${attempts} times in a row`}`,
  "max-cost": describeCost,
  "cost-unknown": describeCost,
  "max-tokens": ({ limit, spent }) => `${spent} tokens were used, and the limit is ${limit}`,
  "max-tool-calls": ({ limit }) => `the limit of ${limit} tool calls was reached`,
  "max-pauses": ({ limit }) => `the provider paused its response more than ${limit} times`,
  "hook-failed": ({ hook, error }) => `the hook ${hook} failed: ${error.message}`,
  "fatal-tool-error": ({ toolName, error }) => `the tool ${quote(toolName)} ended the run: ${error.message}`,
  "input-guardrail": describeRefusal,
  "output-guardrail": describeRefusal,
  "tool-guardrail": describeRefusal,
  "max-iterations": ({ limit }) => `the limit of ${limit} iterations was reached`,
  "stream-idle": ({ limitMs }) => `the model sent nothing for ${limitMs} ms`,
  "first-chunk": ({ limitMs }) => `the model sent nothing within ${limitMs} ms`,
  "stream-too-long": ({ limitMs }) => `the model was still writing after ${limitMs} ms`,
  "wall-clock": ({ limitMs }) => `the time limit of ${limitMs} ms was reached`,
  empty: () => "the response was empty",
  stopped: ({ requester, note }) =>
    `the run was stopped${requester === undefined ? "" : ` by ${tidy(requester)}`}${behind(note)}`,
  killed: () => "the run was killed",
  aborted: ({ reason }) => `the run's signal was aborted${behind(isRecord(reason) ? reason.message : reason)}`,
  "iteration-abort": ({ reason }) => `onIteration ended the run${behind(reason)}`,
  interrupted: () => "a message interrupted the run",
  drained: () => "the run was drained, and can be resumed",
  "approval-required": ({ calls }) => `${countWaiting(calls)} for a decision`,
  "result-required": ({ calls }) => `${countWaiting(calls)} for a result`,
};

function countWaiting({ length }: { readonly length: number }): string {
  return length === 1 ? "1 call is waiting" : `${length} calls are waiting`;
}

/** @example describeEnding(result); // "The run ended as timeout (max-iterations): the limit of 10 iterations was reached." */
function describeEnding({ status, reason }: Pick<LoopResult, "status" | "reason">): string {
  const ending = `The run ended as ${status} (${reason.kind})`;
  const why = wordsOf(reason);
  if (why === undefined) return `${ending}.`;
  const said = `${ending}: ${why}`;
  return said.endsWith(".") ? said : `${said}.`;
}

/** Explains why a run ended. */
export function wordsOf(reason: EndReason): string | undefined {
  // TypeScript cannot see that the function found under `reason.kind` accepts this `reason`, so the call below casts it to `never`.
  const table: { readonly [kind: string]: ((reason: never) => string) | undefined } = words;
  const say = Object.hasOwn(table, reason.kind) ? table[reason.kind] : undefined;
  if (say !== undefined) return say(reason as never);
  return "limit" in reason ? `the limit of ${reason.limit} was reached` : undefined;
}

function behind(text: unknown): string {
  return typeof text === "string" && text !== "" ? `: ${tidy(text)}` : "";
}

function tidy(text: string): string {
  return toPlainError(text).message;
}

/** The result of a run that ended for one of the given kinds of reasons. */
export type EndedResult<Kind extends EndedKind = EndedKind> = LoopResult & { readonly reason: ReasonOf<Kind> };

const brand = Symbol.for("turnwright.LoopEndedError");

/**
 * Thrown by `unwrap` and `generateWithTools` for a run that did not complete. The `result` field is the run's whole result. It
 * is not enumerable, so it is omitted when the error is printed or converted to JSON. Use `isLoopEndedError` instead of
 * `instanceof`, which fails if two copies of the package are loaded.
 */
export class LoopEndedError<Kind extends EndedKind = EndedKind> extends Error {
  override readonly name: string = "LoopEndedError";
  /** The run's whole result. `result.text` is the last text before the run ended. */
  declare readonly result: EndedResult<Kind>;

  constructor(result: EndedResult<Kind>) {
    super(describeEnding(result));
    Object.defineProperty(this, "result", { value: result });
    Object.defineProperty(this, brand, { value: true });
  }

  /** The run's status. `reason` says more precisely why the run ended. */
  get status(): LoopStatus {
    return this.result.status;
  }

  /** The exact reason why the run ended. */
  get reason(): ReasonOf<Kind> {
    return this.result.reason;
  }

  /** Returns the error without its `result`, because the transcript in the result may be large and private. */
  toJSON(): { readonly [field: string]: string } {
    const { name, message, status, reason, result } = this;
    return { name, message, status, kind: reason.kind, runId: result.runId };
  }
}

/** The iteration limit was reached: `limits.maxIterations`, or `maxIterations` in `generateWithTools`. */
export class IterationLimitError extends LoopEndedError<"max-iterations"> {
  override readonly name = "IterationLimitError";
}

/** The cost limit was reached, or could not be enforced because the cost of an iteration is unknown. */
export class CostLimitError extends LoopEndedError<"max-cost" | "cost-unknown"> {
  override readonly name = "CostLimitError";
}

/** The run was ended by its control, by its signal, or by `onIteration`. */
export class AbortedError extends LoopEndedError<"stopped" | "killed" | "aborted" | "iteration-abort"> {
  override readonly name = "AbortedError";
}

/** The model, or the connection to it, failed. `reason.error` contains the details, and says whether a retry may succeed. */
export class ProviderFailedError extends LoopEndedError<"provider-error"> {
  override readonly name = "ProviderFailedError";
}

/** The model sent nothing for too long, a stream did not end in time, or the run exceeded its time limit. */
export class TimedOutError extends LoopEndedError<"stream-idle" | "first-chunk" | "stream-too-long" | "wall-clock"> {
  override readonly name = "TimedOutError";
}

/** The run is suspended, not over. To continue the run, repeat the call and pass `result.journal`. */
export class SuspendedError extends LoopEndedError<"drained" | "approval-required" | "result-required"> {
  override readonly name = "SuspendedError";
}

/**
 * True for a LoopEndedError from any copy of the package. If `kinds` are given, true only if `reason.kind` is one of these kinds.
 *
 * @example if (isLoopEndedError(error, "provider-error")) console.log(error.reason.error.retryable);
 */
export function isLoopEndedError<Kind extends EndedKind = EndedKind>(
  value: unknown,
  ...kinds: readonly Kind[]
): value is LoopEndedError<Kind> {
  if (!isBranded(value)) return false;
  return kinds.length === 0 || kinds.some((kind) => kind === value.reason.kind);
}

function isBranded(value: unknown): value is LoopEndedError {
  return hasBrand(value, brand);
}
