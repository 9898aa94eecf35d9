// The loop: decide, step, fold, until there is an ending.

import type { Plain } from "../types/json.ts";
import type { LoopOptions } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Ending, EndReason } from "../types/termination.ts";
import { isLoopError } from "../errors/loop-error.ts";
import { assertNever, isThenable } from "../utils/guards.ts";
import { dropPromise, whenReady } from "../utils/promises.ts";
import { endingOfReason, isEnded } from "../cancellation/cancel-scope.ts";
import { buildResult } from "./result/build-result.ts";
import { type LoopState, type ReopenAnswer, suspensionOf } from "./state/loop-state.ts";
import { type CloseJournal, openJournal, mayReopen, parkRun, isReplayed, runStep } from "./run/run-step.ts";
import { askIteration } from "./stream/ask-stop.ts";
import { nextStep, type NextStep } from "./next-step.ts";
import { readInbox, readLastInbox, steerRun, takeUndelivered } from "./control/read-inbox.ts";
import { recordRun } from "./start/record-run.ts";
import { runBatch } from "./tool-call/run-batch.ts";
import { refuseBroken } from "./run/journal-call.ts";
import { endIteration, runIteration } from "./run-iteration.ts";
import type { Nesting, Run, StartedRun } from "./run/run.ts";
import { startRun } from "./start/start-run.ts";
import { applyStep } from "./state/apply-step.ts";
import { endingKey, nextKeyAfter, retryKey } from "./state/step-key.ts";

/**
 * Drives a model and its tools until there is an answer, or a limit, or somebody ends it. However it ends, it resolves to a result
 * that says how and holds everything that was said, done and spent. With `policies.output` the answer is also a value, `result.output`.
 *
 * Rejects only for misuse, before any request, with a LoopError: "invalid-option", "unknown-option", "invalid-messages",
 * "duplicate-tool", "invalid-tool", "invalid-schema", "already-running", "journal-mismatch", "tools-changed"; and with what a durable
 * journal itself throws.
 *
 * @example
 * const result = await runToolLoop({
 *   provider: openaiChat({ client: new OpenAI(), model: "gpt-5" }),
 *   tools: [weather],
 *   messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
 * });
 * console.log(result.status, result.reason.kind, result.text);
 */
export async function runToolLoop<Output = unknown>(options: LoopOptions<Output>): Promise<LoopResult<Plain<Output>>> {
  // The schema of the options made the output.
  return driveRun(startRun(options, { nest })) as Promise<LoopResult<Plain<Output>>>;
}

/** Starts a run inside a call of another run. */
export function nest(options: LoopOptions, nesting: Nesting): StartedRun {
  refuseBroken(nesting.run);
  const run = startRun(options, { nest, nesting });
  return { run, drive: () => driveRun(run) };
}

/** Runs a started run to its end, and releases all that it holds. */
export async function driveRun(run: Run): Promise<LoopResult> {
  const { state, bounds, events, options, journal } = run;
  let close: CloseJournal | undefined;
  try {
    if (journal.open !== undefined) close = await openJournal(run);
    await recordRun(run);
    const { provider } = options;
    events.send({ type: "run-start", runId: run.runId, iteration: 0, provider: provider.id, model: provider.model });
    for (;;) {
      const next = nextStep(state, bounds);
      // Only a stream that the service paused is followed by another one at once.
      if (next.kind !== "batch") endIteration(run, next.kind === "model");
      if (next.kind === "end") {
        const on = goesOn(run, next.ending);
        if (isThenable(on) ? await on : on) continue;
        // Messages that come while the journal is closed come too late.
        const ending = whenOverruled(run, next.ending);
        // First, because one that cannot be closed has kept too little, and what was said meanwhile comes back as well.
        if (close !== undefined) await close();
        return finishRun(run, ending);
      }
      const pending = perform(run, next);
      if (isThenable(pending)) await pending;
    }
  } catch (error) {
    breakRun(run, error);
    if (close !== undefined && !isClosing(error)) await closeBroken(close);
    throw error;
  } finally {
    run.release();
  }
}

/** Ends everything that a failed journal may have left running. */
function breakRun(run: Run, error: unknown): void {
  run.failure ??= { error };
  run.events.fail(error);
  run.scope.cancel({ kind: "abort", reason: error });
  for (const part of run.parts) breakRun(part, error);
  if (run.parking !== undefined) dropPromise(run.parking.end());
}

/** A journal that hangs while it is closed is not asked again. */
function isClosing(error: unknown): boolean {
  return isLoopError(error, "journal-unresponsive") && error.details.verb === "close";
}

/**
 * A run that waits for decisions, and was told to end before it took them, ends as that says. Its records still say that it waits, so that
 * the decisions can be made again.
 */
function whenOverruled({ scope, decisions, journal, isPart }: Run, ending: Ending): Ending {
  const { cause } = scope;
  if (cause === undefined || ending.reason.kind !== "approval-required" || isPart || journal.replays !== undefined) return ending;
  return isEnded(scope) || !decisions.isEmpty ? endingOfReason(cause) : ending;
}

/** How a run broke says more than that its journal could not be closed either. */
async function closeBroken(close: CloseJournal): Promise<void> {
  try {
    await close();
  } catch {
    // Nothing more can be done about it.
  }
}

function perform(run: Run, next: Exclude<NextStep, { kind: "end" }>): void | PromiseLike<void> {
  switch (next.kind) {
    case "inbox":
      return readInbox(run, (looked) => endAfter(run, looked));
    case "steer":
      return steerRun(run);
    case "model":
      return runIteration(run, next);
    case "batch":
      return runBatch(run);
    case "output":
      return run.features.output?.judge(run, next.mayAskAgain);
    case "hook":
      return askIteration(run);
    case "close":
      return readLastInbox(run, next.ending, (looked) => endAfter(run, looked));
    default:
      return assertNever(next);
  }
}

function endAfter({ bounds }: Run, looked: LoopState): Ending | undefined {
  const next = nextStep(looked, bounds);
  return next.kind === "end" ? next.ending : undefined;
}

/** Notices for users about an ending. */
const notices: { readonly [Kind in EndReason["kind"]]?: "max-iterations" | "tool-error-cap" | "stream-timeout" } = {
  "max-iterations": "max-iterations",
  "tool-error-cap": "tool-error-cap",
  "stream-idle": "stream-timeout",
  "first-chunk": "stream-timeout",
};

function finishRun(run: Run, ending: Ending): LoopResult {
  // A run that was ended from outside may not have come to the calls that its decisions name: of those nothing can be said.
  if (run.scope.cause === undefined) run.decisions.refuseLeft([]);
  const { state, events, runId, journal, session, bounds } = run;
  const undelivered = takeUndelivered(run, ending);
  const result = buildResult(state, { ending, undelivered, maxCostUSD: bounds.maxCostUSD, runId, journal, session });
  const { status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs } = result;
  const base = { runId, iteration: state.iteration };
  const notice = notices[reason.kind];
  if (notice !== undefined && session.surfaceUserErrors !== false) events.send({ type: "notice", ...base, kind: notice });
  events.send({ type: "run-end", ...base, status, reason, usage, costUSD, iterations, toolCallsExecuted, durationMs });
  return result;
}

/**
 * Whether a run that is about to end goes on after all. Answers at once where its ending is new: between the last look at the inbox and
 * the end there is no moment in which something could be said and lost.
 */
function goesOn(run: Run, ending: Ending): boolean | PromiseLike<boolean> {
  return whenReady(isFollowed(run, ending), (goes) => {
    if (!goes) run.control?.shut();
    return goes;
  });
}

function isFollowed(run: Run, ending: Ending): boolean | PromiseLike<boolean> {
  if (ending.status === "suspended") return resumeRun(run);
  return mayReopen(run, ending) ? reopenRun(run, ending) : false;
}

/**
 * Resumes a suspended run where this is another execution than the one that was suspended. Say that one execution was told to drain: it
 * ends as `drained`. The same call over its journal replays up to there, finds that the drain was meant for another execution, and goes
 * on. Under `replayJournal` it goes on where the journal has records of what followed.
 */
function resumeRun(run: Run): boolean | PromiseLike<boolean> {
  const { state, token, journal } = run;
  // A run inside a call was suspended in this execution, or it would have gone on by itself.
  if (suspensionOf(state) !== undefined) return false;
  const resumesPast = journal.replays === undefined ? state.lastInbox?.token !== token : isReplayed(run, nextKeyAfter(state));
  const resume = (): true => {
    applyStep(state, { kind: "resume" });
    return true;
  };
  return whenReady(resumesPast, (goes) => {
    if (goes) return resume();
    // Suspended for good only with the run around this one: whoever ends that one before ends this one.
    return whenReady(parkRun(run, true), (end) => (end === "suspended" ? false : resume()));
  });
}

/**
 * The steps before the ending were replayed from the journal: this call, or one that the journal remembers, may have asked to try again. A
 * recorded retry is followed whatever comes from outside meanwhile: only a new one is not begun in a run that is being ended.
 */
async function reopenRun(run: Run, ending: Ending): Promise<boolean> {
  const { state, options, clock, token, journal, scope } = run;
  const before = endingKey(state, ending);
  for (let attempt = state.retry + 1; ; attempt += 1) {
    // Once this has run, the iteration counts as new: an ending that a limit brings about at once is not reopened again.
    const body = (): ReopenAnswer => {
      const reopen = options.resume === "retry-last" && scope.cause === undefined;
      if (!reopen) run.control?.shut();
      return { reopen, before, now: clock.now(), token };
    };
    const key = retryKey(attempt);
    if (journal.replays !== undefined && !(await isReplayed(run, key))) return false;
    const step = { key, kind: "reopen" as const, input: null, run: body };
    const { answer, live } = await runStep(step, run, (given, isLive) => ({ answer: given, live: isLive }));
    if (answer.before !== before) continue;
    if (answer.reopen) {
      applyStep(state, { kind: "reopen", answer, attempt });
      return true;
    }
    // An execution before this one was told to leave it at that.
    if (live) return false;
  }
}
