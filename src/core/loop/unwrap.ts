import type { LoopResult } from "../types/loop-result.ts";
import { type Check, refuseOption } from "../../shared/errors/check-fields.ts";
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
import { isRecord } from "../../shared/guards.ts";

const resultCheck: Check = [
  "the awaited result of runToolLoop",
  () => false,
  (value) =>
    isRecord(value) && "result" in value ? { received: "a stream", instead: "unwrap(await stream.result)" } : undefined,
];

type ErrorClass<Kind extends EndedKind> = new (result: EndedResult<Kind>) => LoopEndedError;

/** The error class for each kind of ending. Other kinds use the base class, LoopEndedError. */
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
  "stream-too-long": TimedOutError,
  "first-chunk": TimedOutError,
  "wall-clock": TimedOutError,
  drained: SuspendedError,
  "approval-required": SuspendedError,
  "result-required": SuspendedError,
};

/**
 * Returns the result if the run completed, and throws otherwise. The error is an IterationLimitError, CostLimitError, AbortedError,
 * ProviderFailedError, TimedOutError or SuspendedError. For any other ending, the error is a LoopEndedError, the base class of these
 * classes. `error.result` is the whole result, and `error.reason` says exactly how the run ended.
 *
 * Also accepts the result of a durable loop, which has no journal. Throws LoopError "invalid-option" if the argument is not a result,
 * for example a promise that was not awaited.
 *
 * A run also counts as completed if its answer was cut off (`length`), refused or filtered. Check `reason.kind` to detect this.
 *
 * @example
 * const { text } = unwrap(await runToolLoop(options));
 */
export function unwrap<Result extends Omit<LoopResult, "journal">>(result: Result): Result {
  if (!isRecord(result) || !isRecord(result.reason)) throw refuseOption("result", resultCheck, result);
  if (result.status === "completed") return result;
  // A durable loop's result has no journal, but the cast is safe because nothing here reads it.
  const ended = result as unknown as EndedResult;
  throw toError(ended, ended.reason.kind);
}

function toError<Kind extends EndedKind>(result: EndedResult<Kind>, kind: Kind): LoopEndedError {
  // Results from a different version of the package may have an unknown kind, for which the base class is used.
  const Thrown: ErrorClass<Kind> = (Object.hasOwn(classes, kind) ? classes[kind] : undefined) ?? LoopEndedError;
  return new Thrown(result);
}
