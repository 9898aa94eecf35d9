// For callers who would rather catch an error than look at a status.

import type { LoopResult } from "../types/loop-result.ts";
import { invalidOption } from "../errors/check-fields.ts";
import {
  AbortedError,
  CostLimitError,
  type EndedKind,
  type EndedResult,
  IterationLimitError,
  LoopEndedError,
  ProviderFailedError,
  SuspendedError,
  TimedOutError,
} from "../errors/loop-ended-error.ts";
import { isRecord } from "../utils/guards.ts";

type ErrorClass<Kind extends EndedKind> = new (result: EndedResult<Kind>) => LoopEndedError;

/** The error class for a kind of ending; for the others, the common base class. */
const classes: { readonly [Kind in EndedKind]?: ErrorClass<Kind> } = {
  "max-iterations": IterationLimitError,
  "max-cost": CostLimitError,
  "cost-unknown": CostLimitError,
  stopped: AbortedError,
  killed: AbortedError,
  aborted: AbortedError,
  "iteration-abort": AbortedError,
  "provider-error": ProviderFailedError,
  "stream-idle": TimedOutError,
  "first-chunk": TimedOutError,
  "wall-clock": TimedOutError,
  drained: SuspendedError,
  "approval-required": SuspendedError,
};

/**
 * Gives back the result of a run that completed, and throws for any other: an IterationLimitError, CostLimitError, AbortedError,
 * ProviderFailedError, TimedOutError or SuspendedError, and for what is none of these the LoopEndedError that they all extend.
 * `error.result` is the whole result, so that nothing is lost, and `error.reason` says exactly how the run ended.
 *
 * Throws LoopError "invalid-option" for what is no result, such as a promise of one.
 *
 * An answer that was cut off (`length`), a refusal and a filtered one are complete: look at `reason.kind`.
 *
 * @example
 * const { text } = unwrap(await runToolLoop(options));
 */
export function unwrap<Result extends LoopResult>(result: Result): Result {
  if (!isRecord(result) || !isRecord(result.reason))
    throw invalidOption("result", "the result of a run, which runToolLoop gives when it is awaited", result);
  if (!isUnsuccessful(result)) return result;
  throw toError(result, result.reason.kind);
}

function toError<Kind extends EndedKind>(result: EndedResult<Kind>, kind: Kind): LoopEndedError {
  // A kind of another version of the package may be anything.
  const Thrown: ErrorClass<Kind> = (Object.hasOwn(classes, kind) ? classes[kind] : undefined) ?? LoopEndedError;
  return new Thrown(result);
}

/** The reasons of every other status are those of kinds that have ended. */
function isUnsuccessful(result: LoopResult): result is EndedResult {
  return result.status !== "completed";
}
