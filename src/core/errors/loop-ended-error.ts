// What is thrown for a run that did not complete, where the caller prefers throwing to looking at the result.

import type { LoopResult } from "../types/loop-result.ts";
import type { LoopStatus } from "../types/termination.ts";
import { hasBrand } from "../utils/has-brand.ts";
import { describeEnding, type EndedKind, type ReasonOf } from "./describe-ending.ts";

/** The result of a run that ended in some ways. */
export type EndedResult<Kind extends EndedKind = EndedKind> = LoopResult & { readonly reason: ReasonOf<Kind> };

/** Shared by every copy of the package, so that the guard works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.LoopEndedError");

/**
 * Thrown by `unwrap` and `generateWithTools` for a run that did not complete. Nothing is lost: `result` holds all that was said, done
 * and spent. It is left out where the error is printed or made JSON of. Ask `isLoopEndedError` rather than `instanceof`, which fails
 * where two copies of the package are loaded.
 */
export class LoopEndedError<Kind extends EndedKind = EndedKind> extends Error {
  override readonly name: string = "LoopEndedError";
  /** The whole result; its text is what was said before the end. */
  declare readonly result: EndedResult<Kind>;

  constructor(result: EndedResult<Kind>) {
    super(describeEnding(result));
    Object.defineProperty(this, "result", { value: result });
    Object.defineProperty(this, brand, { value: true });
  }

  /** Coarsely how the run ended. */
  get status(): LoopStatus {
    return this.result.status;
  }

  /** Exactly how the run ended. */
  get reason(): ReasonOf<Kind> {
    return this.result.reason;
  }

  /** In short: without the transcript, which may be large and private. */
  toJSON(): { readonly [field: string]: string } {
    const { name, message, status, reason, result } = this;
    return { name, message, status, kind: reason.kind, runId: result.runId };
  }
}

/** The iterations were used up: the iterations of a run, the rounds of tools of `generateWithTools`. */
export class IterationLimitError extends LoopEndedError<"max-iterations"> {
  override readonly name = "IterationLimitError";
}

/** The limit of cost was reached, or could not be kept because the cost of an iteration is not known. */
export class CostLimitError extends LoopEndedError<"max-cost" | "cost-unknown"> {
  override readonly name = "CostLimitError";
}

/** Somebody ended the run: by a control, by the signal, or in `onIteration`. */
export class AbortedError extends LoopEndedError<"stopped" | "killed" | "aborted" | "iteration-abort"> {
  override readonly name = "AbortedError";
}

/** The model or the way to it failed; `reason.error` says how, and whether another try is worth it. */
export class ProviderFailedError extends LoopEndedError<"provider-error"> {
  override readonly name = "ProviderFailedError";
}

/** Something took too long. */
export class TimedOutError extends LoopEndedError<"stream-idle" | "first-chunk" | "wall-clock"> {
  override readonly name = "TimedOutError";
}

/** The run is not over: the same call over `result.journal` goes on. */
export class SuspendedError extends LoopEndedError<"drained" | "approval-required"> {
  override readonly name = "SuspendedError";
}

/**
 * True for a LoopEndedError, of any copy of the package; with kinds, for one whose reason is one of these.
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
