// The main loop: decides on the next step, performs it, updates the state, and repeats until the run ends.

import type { Plain } from "../types/common.ts";
import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { LoopEvent } from "../types/loop-event.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Ending, EndReason } from "../types/termination.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { isLoopError } from "../errors/loop-error.ts";
import { isThenable } from "../utils/guards.ts";
import type { EventQueue } from "../utils/event-queue.ts";
import { dropPromise } from "../utils/promises.ts";
import { buildResult } from "./result/build-result.ts";
import type { LoopState } from "./state/loop-state.ts";
import { followRecord } from "./follow-record.ts";
import { continueAfter, toFinalEnding } from "./run/continue-run.ts";
import { endReplay } from "./run/run-step.ts";
import { askIteration } from "./run/ask-hook.ts";
import { compactRun } from "./run/compact-run.ts";
import { nextStep, type NextStep } from "./next-step.ts";
import { readInbox, readLastInbox, steerRun, takeUndelivered } from "./control/read-inbox.ts";
import { type CloseJournal, openJournal, recordRun } from "./start/record-run.ts";
import { runBatch } from "./tool-call/run-batch.ts";
import { refuseBroken } from "./run/journal-call.ts";
import { endIteration, runIteration } from "./run-iteration.ts";
import { type Nesting, type Run, type StartedRun } from "./run/run.ts";
import { startRun } from "./start/start-run.ts";

/**
 * Runs a model and its tools until there is an answer, a limit is reached, or the caller ends the run. However the run ends, the
 * promise resolves to a result with the status, the transcript, the calls and the usage. With `policies.output`, `result.output`
 * is the answer as a validated value.
 *
 * Rejects for misuse, before any request, with a LoopError: "invalid-option", "unknown-option", "invalid-messages",
 * "duplicate-tool", "invalid-tool", "invalid-schema", "already-running", "journal-mismatch", "tools-changed". Also rejects if the
 * journal hangs, with "journal-unresponsive", or throws an error, with that error. In both cases, `error.details.partial` is the
 * result so far.
 *
 * @example
 * const result = await runToolLoop({
 *   provider: openaiChat({ client: new OpenAI(), model: "gpt-5" }),
 *   tools: [weather],
 *   messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
 * });
 * console.log(result.status, result.reason.kind, result.text);
 */
export async function runToolLoop<Output = unknown, T extends Tool = Tool>(
  options: LoopOptions<Output, T>,
): Promise<LoopResult<Plain<Output>, T>> {
  // The cast is safe: the schema and the tools in `options` determine the types of the output and the calls.
  return driveRun(startRun(options, { nest })) as Promise<LoopResult<Plain<Output>, T>>;
}

/** A run that has begun. */
export interface BegunRun {
  readonly result: Promise<LoopResult>;
  stop(note: string): void;
}

/** Begins a run whose events also go to `queue`. Throws synchronously for invalid options. */
export function beginRun(options: LoopOptions, queue?: EventQueue<LoopEvent>): BegunRun {
  const run = startRun(options, { nest, queue });
  return { result: driveRun(run), stop: (note) => run.scope.cancel({ kind: "stop", note }) };
}

export function nest(options: LoopOptions, nesting: Nesting): StartedRun {
  refuseBroken(nesting.run);
  const run = startRun(options, { nest, nesting });
  return { run, drive: () => driveRun(run) };
}

export async function driveRun(run: Run): Promise<LoopResult> {
  const { state, bounds, journal } = run;
  let close: CloseJournal | undefined;
  try {
    if (journal.open !== undefined) {
      close = await openJournal(run, journal.open);
      if (close === undefined) return endUnopened(run);
    }
    await recordRun(run);
    sendRunStart(run);
    for (;;) {
      const planned = followRecord(run, nextStep(state, bounds));
      const next = isThenable(planned) ? await planned : planned;
      // Ends the open iteration, if there is one. A batch belongs to the iteration, so the iteration ends after the batch. An
      // iteration is still open before a model request only if the service has paused the message. This `iteration-end` then
      // lists no calls. The `iteration-end` of the final continuation lists all calls.
      if (next.kind !== "batch") endIteration(run, next.kind === "model");
      if (next.kind === "end") {
        const continued = continueAfter(run, next.ending);
        if (isThenable(continued) ? await continued : continued) continue;
        // Decide on the ending before the journal is closed, because a cancellation during `close` comes too late.
        const ending = toFinalEnding(run, next.ending);
        // Close the journal before building the result. If `close` fails, records are missing, and the run must reject.
        if (close !== undefined) await close();
        return finishRun(run, ending);
      }
      // TypeScript does not see that `perform[next.kind]` accepts `next`.
      const pending = perform[next.kind](run, next as never);
      if (isThenable(pending)) await pending;
    }
  } catch (error) {
    breakRun(run, error);
    await closeIgnoringErrors(error, close);
    throw error;
  } finally {
    run.release();
  }
}

/** Cancels everything that may still run after an error, such as a failed journal. */
function breakRun(run: Run, error: unknown): void {
  run.failure ??= { error };
  run.events.fail(error);
  run.scope.cancel({ kind: "abort", reason: error });
  for (const nested of run.sharingRuns) breakRun(nested, error);
  if (run.parking !== undefined) dropPromise(run.parking.end());
}

/** A journal that did not close in time must not be closed again. */
function isCloseTimeout(error: unknown): boolean {
  return isLoopError(error, "journal-unresponsive") && error.details.verb === "close";
}

async function closeIgnoringErrors(error: unknown, close: CloseJournal | undefined): Promise<void> {
  if (close === undefined || isCloseTimeout(error)) return;
  try {
    await close();
  } catch {
    // The caller gets the error that ended the run, instead of this error of `close`.
  }
}

type Performed<Kind> = Extract<NextStep, { readonly kind: Kind }>;

const perform: {
  readonly [Kind in Exclude<NextStep["kind"], "end">]: (run: Run, next: Performed<Kind>) => void | PromiseLike<void>;
} = {
  inbox: (run) => readInbox(run, (read) => endAfter(run, read)),
  steer: steerRun,
  compaction: compactRun,
  model: runIteration,
  batch: runBatch,
  output: (run, { mayAskAgain }) => run.features.output?.judge(run, mayAskAgain),
  hook: askIteration,
  "last-look": (run, { ending }) => readLastInbox(run, ending, (read) => endAfter(run, read)),
};

/**
 * Returns the ending that follows a reading of the inbox. `read` is the state with the new inbox record. The inbox step needs the
 * ending before the record is written, to close the control in time and to add the ending to the record.
 */
function endAfter({ bounds }: Run, read: LoopState): Ending | undefined {
  const next = nextStep(read, bounds);
  return next.kind === "end" ? next.ending : undefined;
}

function sendRunStart({ events, runId, options: { provider } }: Run): void {
  events.send({ type: "run-start", runId, iteration: 0, provider: provider.id, model: provider.model });
}

/** Ends a run whose time limit has expired before its journal was open. */
function endUnopened(run: Run): LoopResult {
  sendRunStart(run);
  run.control?.shut();
  return finishRun(run, endingOfReason(run.scope.cause ?? { kind: "wall-clock", limitMs: run.bounds.wallClockMs }));
}

const notices: { readonly [Kind in EndReason["kind"]]?: "max-iterations" | "tool-error-cap" | "stream-timeout" } = {
  "max-iterations": "max-iterations",
  "tool-error-cap": "tool-error-cap",
  "stream-idle": "stream-timeout",
  "first-chunk": "stream-timeout",
  "stream-too-long": "stream-timeout",
};

function finishRun(run: Run, ending: Ending): LoopResult {
  // In a cancelled run, decisions may remain unused, because the run may end before the calls that wait for these decisions.
  if (run.scope.cause === undefined) run.decisions.refuseUnused();
  else run.decisions.excuseUnused();
  const { state, events, runId, journal, session } = run;
  const undelivered = takeUndelivered(run, ending);
  const { maxCostUSD } = run.bounds;
  const cache = run.cacheWatcher?.sum(state.streamResults);
  const result = buildResult(state, { ending, undelivered, maxCostUSD, cache, runId, journal, session });
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const base = { runId, iteration: state.iteration };
  // A run that shares the journal of its outer run emits no `replay-end`, because the outer run may still be replaying.
  if (!run.sharesJournal) endReplay(run);
  const notice = notices[reason.kind];
  if (notice !== undefined && session.surfaceUserErrors !== false) events.send({ type: "notice", ...base, kind: notice });
  events.send({ type: "run-end", ...base, status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs });
  return result;
}
