// Decides what the loop does next, and performs nothing: other files perform the steps, and `applyStep` updates the state. One
// decision is in another file, run/continue-run.ts: a run that is about to end may continue because of its journal or the option
// `resume`.

import type { Ending, EndReason, StreamStatus } from "../types/termination.ts";
import { assertNever } from "../utils/guards.ts";
import { findIdenticalCalls, findLoop, shouldEndAfterPreToolText } from "./state/apply-call.ts";
import { isUnfinished } from "../providers/judge-finish.ts";
import { type LoopState, suspensionOf } from "./state/loop-state.ts";
import type { InboxAnswer, SettledCall } from "./state/step-result.ts";
import { isNamed, isTooLong } from "./state/transcript.ts";
import { isFatal } from "../tools/outcome-texts.ts";
import { type Bounds, findSpendingEnding, noReserve } from "./run/limits.ts";

/** The next step of the loop, and its parameters. */
export type NextStep =
  /** Read the inbox before a new iteration begins, or before a suspended iteration continues. */
  | { readonly kind: "inbox" }
  /** Add the messages that were sent with `steer` to the transcript. */
  | { readonly kind: "steer" }
  /** Replace old messages in requests with a summary. */
  | { readonly kind: "compaction" }
  /** Request a stream from the model. If `withoutTools`, the request has `toolChoice: "none"`, because no more tools may run. */
  | { readonly kind: "model"; readonly withoutTools: boolean; readonly finalAnswerTo?: Ending | undefined }
  | { readonly kind: "batch" }
  /** Validate the answer against the output schema. If the answer is invalid and `mayAskAgain` is true, request a new answer. */
  | { readonly kind: "output"; readonly mayAskAgain: boolean }
  /** Call `onIteration`. */
  | { readonly kind: "hook" }
  /** Read the inbox for the last time before the run ends with `ending`. */
  | { readonly kind: "last-look"; readonly ending: Ending }
  | { readonly kind: "end"; readonly ending: Ending };

/** Decides the next step of the loop. */
export function nextStep(state: LoopState, bounds: Bounds): NextStep {
  const { phase } = state;
  if (phase === "last-look") return judgeClose(state, bounds);
  if (phase === "resume") return state.ending === undefined ? { kind: "inbox" } : { kind: "last-look", ending: state.ending };
  const ending = endings[phase](state, bounds);
  return ending === undefined ? following[phase](state, bounds) : beforeEnd(state, bounds, ending);
}

/**
 * Returns the next step of a run that is about to end: validate the answer, request a final answer, or read the inbox once more.
 * A suspended run ends without another step.
 */
function beforeEnd(state: LoopState, bounds: Bounds, ending: Ending): NextStep {
  const { phase } = state;
  if (ending.status === "suspended") return { kind: "end", ending };
  if (phase === "model" && bounds.outputRetries !== undefined && ending.reason.kind === "answered")
    return { kind: "output", mayAskAgain: state.invalidAnswers < bounds.outputRetries };
  const isBeforeModel = phase === "inbox" || phase === "steer" || phase === "compaction";
  if (bounds.finalAnswer && isBeforeModel && grantsFinalAnswer(state, ending, bounds)) {
    const next = following[phase](state, bounds);
    return next.kind === "model" ? { ...next, withoutTools: true, finalAnswerTo: ending } : next;
  }
  return { kind: "last-look", ending };
}

type Phase = Exclude<LoopState["phase"], "last-look" | "resume">;
type Judge<Answer> = (state: LoopState, bounds: Bounds) => Answer;

const readInbox: Judge<NextStep> = () => ({ kind: "inbox" });
const askModel: Judge<NextStep> = ({ toolLimitReached }) => ({ kind: "model", withoutTools: toolLimitReached });
const compactOrAsk: Judge<NextStep> = (state, bounds) =>
  state.lastInbox?.compact === undefined ? askModel(state, bounds) : { kind: "compaction" };
const askOn: Judge<NextStep> = ({ toolLimitReached, finalAnswerTo }) =>
  finalAnswerTo === undefined
    ? { kind: "model", withoutTools: toolLimitReached }
    : { kind: "model", withoutTools: true, finalAnswerTo };

const following: { readonly [Done in Phase]: Judge<NextStep> } = {
  start: readInbox,
  inbox: (state, bounds) => (hasSteered(state) ? { kind: "steer" } : compactOrAsk(state, bounds)),
  steer: compactOrAsk,
  compaction: askModel,
  reopen: askModel,
  model: (state, bounds) => {
    if (isTooLong(state)) return readInbox(state, bounds);
    return isPaused(state) ? askOn(state, bounds) : { kind: "batch" };
  },
  batch: (_, { asksIteration }) => ({ kind: asksIteration ? "hook" : "inbox" }),
  output: readInbox,
  hook: readInbox,
};

const none = Number.POSITIVE_INFINITY;

const noEnding: Judge<undefined> = () => undefined;

const endings: { readonly [Done in Phase]: Judge<Ending | undefined> } = {
  start: noEnding,
  inbox: findInboxEnding,
  steer: findInboxEnding,
  reopen: findInboxEnding,
  compaction: findCompactionEnding,
  model: findIterationEnding,
  batch: (state, bounds) => findBatchEnding(state, bounds) ?? (bounds.asksIteration ? undefined : findEndOfTurn(state, bounds)),
  output: findOutputEnding,
  hook: (state, bounds) => findHookEnding(state) ?? findEndOfTurn(state, bounds),
};

function findInboxEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { lastInbox } = state;
  return findOutsideEnding(lastInbox) ?? findInterrupt(state) ?? findDrain(lastInbox) ?? findLimitEnding(state, bounds);
}

function findOutsideEnding(inbox: InboxAnswer | undefined): Ending | undefined {
  return inbox?.ended?.status === "stopped-by-user" ? inbox.ended : undefined;
}

function findInterrupt({ chainStarted, unsent }: LoopState): Ending | undefined {
  const asked = chainStarted ? undefined : unsent.find(({ verb }) => verb === "interrupt");
  if (asked === undefined) return undefined;
  return { status: "follow-up-interrupt", reason: { kind: "interrupted", message: asked.message } };
}

function findDrain(inbox: InboxAnswer | undefined): Ending | undefined {
  return inbox?.drain === true ? { status: "suspended", reason: { kind: "drained" } } : undefined;
}

function hasSteered({ unsent }: LoopState): boolean {
  return unsent.some(({ verb }) => verb === "steer");
}

function findLimitEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { maxIterations, wallClockMs } = bounds;
  if (state.lastInbox?.ended?.status === "timeout") return state.lastInbox.ended;
  const { ms: keptMs } = bounds.reserve ?? noReserve;
  if (state.activeMs + keptMs >= wallClockMs) return { status: "timeout", reason: { kind: "wall-clock", limitMs: wallClockMs } };
  if (state.countedIterations >= maxIterations)
    return { status: "timeout", reason: { kind: "max-iterations", limit: maxIterations } };
  if (state.toolLimitBroken) {
    return { status: "error", reason: { kind: "max-tool-calls", limit: bounds.maxToolCalls } };
  }
  return findSpendingEnding(state, bounds);
}

/**
 * If the service refused a request as too long, and the summary of old messages failed, the run ends with that refusal. If the
 * summary was cancelled, the run goes on to the next stream, which ends immediately because of the cancellation.
 */
function findCompactionEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { lastInbox, lastCompaction, streamResults } = state;
  const reason = lastInbox?.compact === "forced" ? streamResults.at(-1)?.reason : undefined;
  const isFailed = lastCompaction?.answer.kind === "failed" && lastCompaction.answer.cancelled !== true;
  return isFailed && reason !== undefined ? { status: "error", reason } : findLimitEnding(state, bounds);
}

const cutOff: ReadonlySet<StreamStatus> = new Set(["stopped-by-user", "follow-up-interrupt"]);

function findIterationEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const result = state.streamResults.at(-1);
  if (result === undefined) return undefined;
  const { status, reason } = result;
  if (isPaused(state)) return findPauseEnding(state, bounds);
  if (state.finalAnswerTo !== undefined && !cutOff.has(status)) return state.finalAnswerTo;
  if (mayShorten(state, bounds)) return undefined;
  if (result.stop !== undefined) return { status: "completed", reason: { kind: "stop-condition", ...result.stop } };
  if (status === "tool-calls") return findCallEnding(state, bounds);
  // An empty message after earlier text or content means that the model has finished.
  const answered = status === "empty-response" && (state.finalText !== "" || state.contentDelivered);
  if (answered) return { status: "completed", reason: { kind: "answered" } };
  return reason === undefined ? undefined : { status, reason };
}

/**
 * True if the next iteration may send the refused request again, with a summary of old messages. False if the refused request
 * already had such a summary, or if `maxIterations` allows no further iteration.
 */
function mayShorten(state: LoopState, { compacts = false, maxIterations }: Bounds): boolean {
  const isShort = state.lastInbox?.compact === "forced" && state.lastCompaction?.answer.kind !== "failed";
  return compacts && !isShort && state.countedIterations < maxIterations && isTooLong(state);
}

function findPauseEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { maxPauses: limit } = bounds;
  // A paused message may use the reserve, because the message may become the final answer.
  const ending: Ending | undefined =
    state.pauses >= limit
      ? { status: "error", reason: { kind: "max-pauses", limit } }
      : findSpendingEnding(state, bounds, noReserve);
  return ending === undefined ? undefined : (state.finalAnswerTo ?? ending);
}

function findCallEnding(state: LoopState, { loopRule }: Bounds): Ending | undefined {
  const loop = loopRule?.action === "stop" ? findLoop(state, loopRule) : undefined;
  if (loop !== undefined) {
    const { toolName, count } = loop;
    return { status: "error", reason: { kind: "loop-detected", toolName, count } };
  }
  return state.current.calls.every(isNamed) ? undefined : { status: "error", reason: { kind: "malformed-call" } };
}

function findOutputEnding({ lastOutput, invalidAnswers }: LoopState, { outputRetries = 0 }: Bounds): Ending | undefined {
  switch (lastOutput?.kind) {
    case "valid":
      return { status: "completed", reason: { kind: "answered" } };
    case "invalid": {
      const { issues } = lastOutput;
      if (invalidAnswers <= outputRetries) return undefined;
      return { status: "error", reason: { kind: "invalid-output", issues, attempts: invalidAnswers } };
    }
    case "ended":
      return lastOutput.ending;
    case undefined:
      return undefined;
    default:
      return assertNever(lastOutput);
  }
}

function findBatchEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const fatal = findFatalCall(state);
  if (fatal !== undefined) return { status: "error", reason: fatal };
  const suspension = suspensionOf(state);
  if (suspension !== undefined) return suspension;
  const cap = bounds.maxConsecutiveToolErrors;
  if (state.consecutiveToolErrors >= cap) return { status: "error", reason: { kind: "tool-error-cap", count: cap } };
  const loop = findIdenticalCalls(state, bounds);
  if (loop !== undefined) return { status: "error", reason: { kind: "loop-detected", ...loop } };
  if (state.restarts > bounds.maxRestarts) return { status: "error", reason: { kind: "restart-cap", count: state.restarts } };
  return findHandoffEnding(state, bounds);
}

/**
 * Ends the run only in the iteration in which the handoff happened. Otherwise a run that is retried after this ending would end
 * again immediately.
 */
function findHandoffEnding({ handoffs, iteration }: LoopState, { maxHandoffs = none }: Bounds): Ending | undefined {
  const { length: count } = handoffs;
  const isOver = count > maxHandoffs && handoffs.at(-1)?.iteration === iteration;
  return isOver ? { status: "error", reason: { kind: "handoff-cap", count } } : undefined;
}

function findFatalCall({ lastBatch }: LoopState): EndReason | undefined {
  for (const { outcome } of lastBatch) {
    const toolName = outcome.call.name;
    if (isFatal(outcome)) return { kind: "fatal-tool-error", toolName, error: outcome.error };
    if (outcome.kind !== "denied" || outcome.guardrail?.endsRun !== true) continue;
    return { kind: "tool-guardrail", guardrail: outcome.guardrail.name, toolName, reason: outcome.reason };
  }
  return undefined;
}

function findHookEnding({ lastHook }: LoopState): Ending | undefined {
  switch (lastHook?.kind) {
    case "abort":
      return { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: lastHook.reason } };
    case "failed":
      return { status: "error", reason: { kind: "hook-failed", hook: "onIteration", error: lastHook.error } };
    case "continue":
    case undefined:
      return undefined;
    default:
      return assertNever(lastHook);
  }
}

/**
 * Returns the ending if the finished calls end the run. `endTurn` does not end the run if the context was restarted by the same
 * call, because the model has to answer with the new context. It does not end the run either if another call was not completed,
 * because the model has to read why.
 */
function findEndOfTurn({ lastBatch, current, streamResults }: LoopState, { preToolText }: Bounds): Ending | undefined {
  if (lastBatch.every(({ outcome }) => outcome.kind === "completed") && lastBatch.some(endsTurn))
    return { status: "completed", reason: { kind: "end-turn" } };
  const saidAll = shouldEndAfterPreToolText(
    { text: current.text, family: streamResults.at(-1)?.family, calls: lastBatch },
    preToolText,
  );
  return saidAll ? { status: "completed", reason: { kind: "pre-tool-text" } } : undefined;
}

function endsTurn({ outcome, restart }: SettledCall): boolean {
  return restart === undefined && outcome.kind === "completed" && outcome.endTurn === true;
}

function isPaused(state: LoopState): boolean {
  const last = state.streamResults.at(-1);
  return last !== undefined && isUnfinished(last);
}

/**
 * Called after the final reading of the inbox. The run ends as planned, ends for a more important reason, or continues with a new
 * message.
 */
function judgeClose(state: LoopState, bounds: Bounds): NextStep {
  const { lastInbox, ending } = state;
  if (ending === undefined) return { kind: "inbox" };
  const outside = isOutranked(ending) ? findOutsideEnding(lastInbox) : undefined;
  if (outside !== undefined) return { kind: "end", ending: outside };
  const isReopened = isAnswer(ending) || ending.status === "empty-response";
  if (!isReopened || !hasSteered(state)) return { kind: "end", ending };
  const drained = findDrain(lastInbox);
  if (drained !== undefined) return { kind: "end", ending: drained };
  // If a limit forbids another iteration, the run ends with the current answer, and returns the new messages as undelivered.
  return findLimitEnding(state, bounds) === undefined ? { kind: "inbox" } : { kind: "end", ending };
}

function isAnswer({ status, reason }: Ending): boolean {
  return status === "completed" || reason.kind === "invalid-output";
}

/** A stop, a kill or an abort may arrive after this ending was decided. True if it still replaces the ending. */
function isOutranked(ending: Ending): boolean {
  const { kind } = ending.reason;
  return isAnswer(ending) || kind === "interrupted" || kind === "stopped";
}

const counted: ReadonlySet<string> = new Set(["max-iterations", "max-tool-calls"]);
const reserved: ReadonlySet<string> = new Set(["max-tokens", "max-cost", "wall-clock"]);

/**
 * True if the model may give a final answer: after `maxIterations` or `maxToolCalls`, or after another limit with a reserve. The
 * limits, including the reserve, must still allow one more stream.
 */
function grantsFinalAnswer(state: LoopState, { reason }: Ending, bounds: Bounds): boolean {
  const mayAsk = counted.has(reason.kind) || (bounds.reserve !== undefined && reserved.has(reason.kind));
  const isTimedOut = state.lastInbox?.ended?.status === "timeout" || state.activeMs >= bounds.wallClockMs;
  return mayAsk && !isTimedOut && findSpendingEnding(state, bounds, noReserve) === undefined;
}
