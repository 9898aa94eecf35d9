// Describes in words how a run ended.

import type { CostUnknownWhy, EndReason, LoopStatus } from "../types/termination.ts";
import { quote } from "../utils/texts.ts";
import type { LoopResult } from "../types/loop-result.ts";
import { hasBrand, isRecord } from "../utils/guards.ts";
import { toPlainError } from "../utils/plain-error.ts";

/** The reasons of cost limits. */
type CostReason = Extract<EndReason, { readonly kind: "max-cost" | "cost-unknown" }>;

const because: { readonly [Why in CostUnknownWhy]: string } = {
  "no-usage": ", because the provider reported no usage",
  "no-price": ', because "pricing" gave undefined',
  "pricing-failed": ', because "pricing" threw or gave no number of 0 or more (see the event listener-error)',
};

/** Describes a cost reason. The text follows a colon. */
export function describeCost(reason: CostReason): string {
  if (reason.kind === "max-cost") {
    const { limitUSD, spentUSD, expectedUSD } = reason;
    const next = expectedUSD === undefined ? "" : `, one more stream is taken to cost $${round(expectedUSD)}`;
    return `$${round(spentUSD)} is spent${next}, and the limit is $${round(limitUSD)}`;
  }
  const { provider, model, iteration, why } = reason;
  const by = provider === undefined || model === undefined ? "" : ` with ${quote(model)} of ${quote(provider)}`;
  const place = iteration === undefined ? "an iteration" : `iteration ${iteration}`;
  const cause = why === undefined ? "" : because[why];
  return `what ${place} has cost${by} is not known${cause}, so that the limit of cost cannot be kept`;
}

function round(usd: number): number {
  return Number(usd.toPrecision(6));
}

/** The ways to end without completing: every `reason.kind` except those of status "completed". */
export type EndedKind = Exclude<
  EndReason["kind"],
  "answered" | "end-turn" | "pre-tool-text" | "stop-condition" | "length" | "refusal" | "content-filter"
>;

/** The reasons of some kinds, with their details. */
export type ReasonOf<Kind extends EndedKind> = EndReason & { readonly kind: Kind };

/** The reasons that are a limit. Without a text of its own, a limit is said to be reached. */
type LimitKind = Extract<EndReason, { readonly limit: number }>["kind"];

type ReasonWords = { readonly [Kind in Exclude<EndedKind, LimitKind>]: (reason: ReasonOf<Kind>) => string } & {
  readonly [Kind in LimitKind]?: (reason: ReasonOf<Kind>) => string;
};

/** One text per kind; each follows a colon. A kind that is no limit does not compile without a text. */
const words: ReasonWords = {
  "provider-error": ({ error }) => `the model failed with ${error.code}: ${error.message}`,
  "malformed-call": () => "the model called a tool without a name",
  "tool-error-cap": ({ count }) => `${count} tool errors came in a row`,
  "restart-cap": ({ count }) => `tools restarted the context ${count} times`,
  "loop-detected": ({ toolName, count }) => `the model repeated its calls ${count} times, among them ${quote(toolName)}`,
  "invalid-output": ({ attempts }) =>
    `the answer did not fit its schema, ${attempts === 1 ? "once" : `${attempts} times in a row`}`,
  "max-cost": describeCost,
  "cost-unknown": describeCost,
  "max-tokens": ({ limit, spent }) => `${spent} tokens are spent, and the limit is ${limit}`,
  "max-tool-calls": ({ limit }) => `the limit of ${limit} tool calls is reached`,
  "max-pauses": ({ limit }) => `the service paused its turn more than ${limit} times`,
  "hook-failed": ({ hook, error }) => `the hook ${hook} failed: ${error.message}`,
  "fatal-tool-error": ({ toolName, error }) => `the tool ${quote(toolName)} ended it: ${error.message}`,
  "max-iterations": ({ limit }) => `the limit of ${limit} iterations is reached`,
  "stream-idle": ({ limitMs }) => `the model was silent for ${limitMs} ms`,
  "first-chunk": ({ limitMs }) => `the model did not begin within ${limitMs} ms`,
  "wall-clock": ({ limitMs }) => `the limit of ${limitMs} ms is reached`,
  empty: () => "the model said nothing",
  stopped: ({ requester, note }) => `it was stopped${requester === undefined ? "" : ` by ${tidy(requester)}`}${behind(note)}`,
  killed: () => "it was killed",
  aborted: ({ reason }) => `its signal fired${behind(isRecord(reason) ? reason.message : reason)}`,
  "iteration-abort": ({ reason }) => `onIteration ended it${behind(reason)}`,
  interrupted: () => "a message interrupted it",
  drained: () => "it was drained, and can go on",
  "approval-required": ({ calls }) => `${countWaiting(calls)} for a decision`,
  "result-required": ({ calls }) => `${countWaiting(calls)} for a result`,
};

function countWaiting({ length }: { readonly length: number }): string {
  return length === 1 ? "a call waits" : `${length} calls wait`;
}

/**
 * Describes how a run ended: its status, its reason, and their meaning.
 *
 * @example describeEnding(result); // "The run ended as timeout (max-iterations): the limit of 10 iterations is reached."
 */
function describeEnding({ status, reason }: Pick<LoopResult, "status" | "reason">): string {
  const ending = `The run ended as ${status} (${reason.kind})`;
  const why = wordsOf(reason);
  if (why === undefined) return `${ending}.`;
  const said = `${ending}: ${why}`;
  return said.endsWith(".") ? said : `${said}.`;
}

/** Returns undefined for a completed run, and for kinds that only another version of the package has. */
function wordsOf(reason: EndReason): string | undefined {
  // The table has one function for each kind of reason.
  const table: { readonly [kind: string]: ((reason: never) => string) | undefined } = words;
  const say = Object.hasOwn(table, reason.kind) ? table[reason.kind] : undefined;
  if (say !== undefined) return say(reason as never);
  return "limit" in reason ? `the limit of ${reason.limit} is reached` : undefined;
}

function behind(text: unknown): string {
  return typeof text === "string" && text !== "" ? `: ${tidy(text)}` : "";
}

/** Shortens texts of a caller and removes credentials. Errors are clean already. */
function tidy(text: string): string {
  return toPlainError(text).message;
}

/** The result of a run that ended for one of these reasons. */
export type EndedResult<Kind extends EndedKind = EndedKind> = LoopResult & { readonly reason: ReasonOf<Kind> };

/** Shared by all copies of the package, so that the guard works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.LoopEndedError");

/**
 * Thrown by `unwrap` and `generateWithTools` for a run that did not complete. `result` is the whole result. It is not enumerable,
 * so it is omitted when the error is printed or converted to JSON. Use `isLoopEndedError` instead of `instanceof`, which fails if
 * two copies of the package are loaded.
 */
export class LoopEndedError<Kind extends EndedKind = EndedKind> extends Error {
  override readonly name: string = "LoopEndedError";
  /** The whole result. Its `text` is the last text before the end. */
  declare readonly result: EndedResult<Kind>;

  constructor(result: EndedResult<Kind>) {
    super(describeEnding(result));
    Object.defineProperty(this, "result", { value: result });
    Object.defineProperty(this, brand, { value: true });
  }

  /** The coarse ending of the run. */
  get status(): LoopStatus {
    return this.result.status;
  }

  /** The exact ending of the run. */
  get reason(): ReasonOf<Kind> {
    return this.result.reason;
  }

  /** Omits the transcript, which may be large and private. */
  toJSON(): { readonly [field: string]: string } {
    const { name, message, status, reason, result } = this;
    return { name, message, status, kind: reason.kind, runId: result.runId };
  }
}

/** The iteration limit was reached: `limits.maxIterations`, or `maxIterations` of `generateWithTools`. */
export class IterationLimitError extends LoopEndedError<"max-iterations"> {
  override readonly name = "IterationLimitError";
}

/** The cost limit was reached, or could not be checked because the cost of an iteration is unknown. */
export class CostLimitError extends LoopEndedError<"max-cost" | "cost-unknown"> {
  override readonly name = "CostLimitError";
}

/** The run was ended by a control, by the signal, or in `onIteration`. */
export class AbortedError extends LoopEndedError<"stopped" | "killed" | "aborted" | "iteration-abort"> {
  override readonly name = "AbortedError";
}

/** The model or the connection to it failed. `reason.error` has the details, and says if a retry may succeed. */
export class ProviderFailedError extends LoopEndedError<"provider-error"> {
  override readonly name = "ProviderFailedError";
}

/** The model was silent for too long, or the run exceeded its wall clock. */
export class TimedOutError extends LoopEndedError<"stream-idle" | "first-chunk" | "wall-clock"> {
  override readonly name = "TimedOutError";
}

/** The run is not over. The same call with `result.journal` continues it. */
export class SuspendedError extends LoopEndedError<"drained" | "approval-required" | "result-required"> {
  override readonly name = "SuspendedError";
}

/**
 * True for a LoopEndedError of any copy of the package. With kinds, true only if its reason is one of them.
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
