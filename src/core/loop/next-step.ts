// Decides what happens next. Pure, and the only place that decides: stages do, `applyStep` remembers, this judges. Whether a recorded
// ending stands is decided in reopen-run.ts, for that needs the journal.

import type { Ending, StreamStatus } from "../types/termination.ts";
import { assertNever } from "../utils/guards.ts";
import { findIdenticalCalls, findLoop } from "./state/apply-call.ts";
import { isUnfinished } from "../providers/judge-finish.ts";
import { type InboxAnswer, type LoopState, suspensionOf } from "./state/loop-state.ts";
import { isNamed } from "./state/transcript.ts";
import { isFatal } from "../tools/render-outcome.ts";
import type { Bounds } from "./run/resolve-policies.ts";
import type { PreToolTextPolicy } from "../types/policies.ts";
import type { ToolOutcome } from "../types/tool-outcome.ts";

/** The next step of the loop. */
export type NextStep =
  /** Read the inbox; a new iteration begins, or one that was suspended goes on. */
  | { readonly kind: "inbox" }
  /** Put the steered messages into the transcript. */
  | { readonly kind: "steer" }
  /** Stream the model; `toolChoice: "none"` where no tool may run any more. */
  | { readonly kind: "model"; readonly withoutTools: boolean; readonly finalAnswerTo?: Ending | undefined }
  | { readonly kind: "batch" }
  /** See whether the answer fits its schema, and ask again where it does not and that may be done. */
  | { readonly kind: "output"; readonly mayAskAgain: boolean }
  /** Ask `onIteration`. */
  | { readonly kind: "hook" }
  /** Read the inbox a last time before this ending. */
  | { readonly kind: "close"; readonly ending: Ending }
  | { readonly kind: "end"; readonly ending: Ending };

/** Says what happens next. */
export function nextStep(state: LoopState, bounds: Bounds): NextStep {
  const { phase } = state;
  if (phase === "close") return judgeClose(state, bounds);
  if (phase === "resume") return state.ending === undefined ? { kind: "inbox" } : { kind: "close", ending: state.ending };
  const ending = endings[phase](state, bounds);
  return ending === undefined ? following[phase](state, bounds) : beforeEnd(state, bounds, ending);
}

/** A step that comes before the run can end so. */
function beforeEnd(state: LoopState, bounds: Bounds, ending: Ending): NextStep {
  const { phase } = state;
  if (ending.status === "suspended") return { kind: "end", ending };
  if (phase === "model" && bounds.outputRetries !== undefined && ending.reason.kind === "answered")
    return { kind: "output", mayAskAgain: state.invalidAnswers < bounds.outputRetries };
  if (bounds.finalAnswer && (phase === "inbox" || phase === "steer") && grantsFinalAnswer(state, ending, bounds)) {
    if (phase === "inbox" && hasSteered(state)) return { kind: "steer" };
    return { kind: "model", withoutTools: true, finalAnswerTo: ending };
  }
  return { kind: "close", ending };
}

/** Phases that lead to the next step by themselves. The last look before an ending, and what follows a suspension, are judged apart. */
type Phase = Exclude<LoopState["phase"], "close" | "resume">;
type Judge<Answer> = (state: LoopState, bounds: Bounds) => Answer;

const readInbox: Judge<NextStep> = () => ({ kind: "inbox" });
const askModel: Judge<NextStep> = ({ toolLimitReached }) => ({ kind: "model", withoutTools: toolLimitReached });
const askOn: Judge<NextStep> = ({ toolLimitReached, finalAnswerTo }) =>
  finalAnswerTo === undefined
    ? { kind: "model", withoutTools: toolLimitReached }
    : { kind: "model", withoutTools: true, finalAnswerTo };

/** The next step after the last one, if the run goes on. */
const following: { readonly [Done in Phase]: Judge<NextStep> } = {
  start: readInbox,
  inbox: (state, bounds) => (hasSteered(state) ? { kind: "steer" } : askModel(state, bounds)),
  steer: askModel,
  reopen: askModel,
  model: (state, bounds) => (isPaused(state) ? askOn(state, bounds) : { kind: "batch" }),
  batch: (_, { asksIteration }) => ({ kind: asksIteration ? "hook" : "inbox" }),
  output: readInbox,
  hook: readInbox,
};

const noEnding: Judge<undefined> = () => undefined;

/** The ending after the last step, if there is one. */
const endings: { readonly [Done in Phase]: Judge<Ending | undefined> } = {
  start: noEnding,
  inbox: findInboxEnding,
  steer: findInboxEnding,
  reopen: findInboxEnding,
  model: findIterationEnding,
  batch: (state, bounds) => findBatchEnding(state, bounds) ?? (bounds.asksIteration ? undefined : findEndOfTurn(state, bounds)),
  output: findOutputEnding,
  hook: (state, bounds) => findHookEnding(state) ?? findEndOfTurn(state, bounds),
};

/** Checked before each iteration, in this order. */
function findInboxEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { lastInbox } = state;
  return findOutsideEnding(lastInbox) ?? findInterrupt(state) ?? findDrain(lastInbox) ?? findLimitEnding(state, bounds);
}

/** A kill, an abort or a stop. */
function findOutsideEnding(inbox: InboxAnswer | undefined): Ending | undefined {
  return inbox?.ended?.status === "stopped-by-user" ? inbox.ended : undefined;
}

/** A message that was to interrupt does so before the first call of the run. */
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

/** The limits, in this order. */
function findLimitEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { maxIterations, wallClockMs } = bounds;
  if (state.lastInbox?.ended?.status === "timeout") return state.lastInbox.ended;
  if (state.activeMs >= wallClockMs) return { status: "timeout", reason: { kind: "wall-clock", limitMs: wallClockMs } };
  if (state.countedIterations >= maxIterations)
    return { status: "timeout", reason: { kind: "max-iterations", limit: maxIterations } };
  if (state.toolLimitBroken) {
    return { status: "error", reason: { kind: "max-tool-calls", limit: bounds.maxToolCalls } };
  }
  return findSpendingEnding(state, bounds);
}

const none = Number.POSITIVE_INFINITY;

/** Whether one more stream is too much: it is taken to cost what the last one did. */
function findSpendingEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { costUSD, unpriced, spentUSD, lastCostUSD, usage, lastInbox } = state;
  const { maxCostUSD = none, unknownCostEnds = true, maxTokens } = bounds;
  if (maxCostUSD !== none && costUSD === undefined && unknownCostEnds)
    return { status: "error", reason: { kind: "cost-unknown", ...unpriced } };
  if (spentUSD + lastCostUSD > maxCostUSD) {
    return { status: "error", reason: { kind: "max-cost", limitUSD: maxCostUSD, spentUSD, expectedUSD: lastCostUSD } };
  }
  const spent = usage.totalTokens;
  if (spent >= maxTokens) return { status: "error", reason: { kind: "max-tokens", limit: maxTokens, spent } };
  return lastInbox?.spentOutside === undefined ? undefined : { status: "error", reason: lastInbox.spentOutside };
}

/** How a stream ends that somebody did not want to hear out. */
const cutOff: ReadonlySet<StreamStatus> = new Set(["stopped-by-user", "follow-up-interrupt"]);

function findIterationEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const result = state.streamResults.at(-1);
  if (result === undefined) return undefined;
  const { status, reason } = result;
  if (isPaused(state)) return findPauseEnding(state, bounds);
  if (state.finalAnswerTo !== undefined && !cutOff.has(status)) return state.finalAnswerTo;
  if (result.stop !== undefined) return { status: "completed", reason: { kind: "stop-condition", ...result.stop } };
  if (status === "tool-calls") return findCallEnding(state, bounds);
  // Nothing more to say, after something was said.
  const answered = status === "empty-response" && (state.finalText !== "" || state.contentDelivered);
  if (answered) return { status: "completed", reason: { kind: "answered" } };
  return reason === undefined ? undefined : { status, reason };
}

/** A turn that is not over goes on, as often and as long as it may. */
function findPauseEnding(state: LoopState, bounds: Bounds): Ending | undefined {
  const { maxPauses: limit } = bounds;
  const isOften = state.pauses >= limit;
  const ending: Ending | undefined = isOften
    ? { status: "error", reason: { kind: "max-pauses", limit } }
    : findSpendingEnding(state, bounds);
  return ending === undefined ? undefined : (state.finalAnswerTo ?? ending);
}

/** Calls that are not to run at all. */
function findCallEnding(state: LoopState, { loopRule }: Bounds): Ending | undefined {
  const loop = loopRule?.action === "stop" ? findLoop(state, loopRule) : undefined;
  if (loop !== undefined) {
    const { toolName, count } = loop;
    return { status: "error", reason: { kind: "loop-detected", toolName, count } };
  }
  return state.current.calls.every(isNamed) ? undefined : { status: "error", reason: { kind: "malformed-call" } };
}

/** An answer that does not fit ends the run only once it has been asked for often enough. */
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
  for (const { outcome } of state.lastBatch) {
    if (!isFatal(outcome)) continue;
    return { status: "error", reason: { kind: "fatal-tool-error", toolName: outcome.call.name, error: outcome.error } };
  }
  const suspension = suspensionOf(state);
  if (suspension !== undefined) return suspension;
  const cap = bounds.maxConsecutiveToolErrors;
  if (state.errorPeak >= cap) return { status: "error", reason: { kind: "tool-error-cap", count: cap } };
  const loop = findIdenticalCalls(state, bounds);
  if (loop !== undefined) return { status: "error", reason: { kind: "loop-detected", ...loop } };
  if (state.restarts > bounds.maxRestarts) return { status: "error", reason: { kind: "restart-cap", count: state.restarts } };
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

/** A call that restarted the context ends nothing: the model is to answer with what came of it. */
function findEndOfTurn({ lastBatch, current, streamResults }: LoopState, { preToolText }: Bounds): Ending | undefined {
  const ends = lastBatch.some(
    ({ outcome, restart }) => restart === undefined && outcome.kind === "completed" && outcome.endTurn === true,
  );
  if (ends) return { status: "completed", reason: { kind: "end-turn" } };
  const saidAll = shouldEndAfterPreToolText(
    { text: current.text, family: streamResults.at(-1)?.family, calls: lastBatch },
    preToolText,
  );
  return saidAll ? { status: "completed", reason: { kind: "pre-tool-text" } } : undefined;
}

/** The last stream asked to be resent. */
function isPaused(state: LoopState): boolean {
  const last = state.streamResults.at(-1);
  return last !== undefined && isUnfinished(last);
}

/** After the last look at the inbox: the ending stands, something outranks it, or there is one more thing to say to the model. */
function judgeClose(state: LoopState, bounds: Bounds): NextStep {
  const { lastInbox, ending } = state;
  if (ending === undefined) return { kind: "inbox" };
  const outside = isOutranked(ending) ? findOutsideEnding(lastInbox) : undefined;
  if (outside !== undefined) return { kind: "end", ending: outside };
  const isReopened = isAnswer(ending) || ending.status === "empty-response";
  if (!isReopened || !hasSteered(state)) return { kind: "end", ending };
  const drained = findDrain(lastInbox);
  if (drained !== undefined) return { kind: "end", ending: drained };
  // Messages for which a limit leaves no iteration come back undelivered: the answer stands.
  return findLimitEnding(state, bounds) === undefined ? { kind: "inbox" } : { kind: "end", ending };
}

/** The model was done. An answer that does not fit is one all the same. */
function isAnswer({ status, reason }: Ending): boolean {
  return status === "completed" || reason.kind === "invalid-output";
}

/** A stop, a kill or an abort outranks what is complete, and an interrupt; a kill a stop. */
function isOutranked(ending: Ending): boolean {
  const { kind } = ending.reason;
  return isAnswer(ending) || kind === "interrupted" || kind === "stopped";
}

/** Past the wall clock there is no time left for one, and where one more stream is too much, nothing to pay it with. */
function grantsFinalAnswer(state: LoopState, { reason }: Ending, bounds: Bounds): boolean {
  if (reason.kind !== "max-iterations" && reason.kind !== "max-tool-calls") return false;
  return findSpendingEnding(state, bounds) === undefined;
}

/** An iteration and what became of its calls. */
export interface FinishedIteration {
  readonly text: string;
  readonly family: string | undefined;
  readonly calls: readonly {
    readonly outcome: ToolOutcome;
    readonly restart?: object | undefined;
    readonly needsNoFollowUp?: boolean | undefined;
  }[];
}

/** Whether an iteration that said something and whose every call succeeded ends the run. A call that restarted the context asks for more. */
export function shouldEndAfterPreToolText({ text, family, calls }: FinishedIteration, policy: PreToolTextPolicy = {}): boolean {
  if (calls.length === 0 || text.trim() === "") return false;
  if (!calls.every(({ outcome, restart }) => outcome.kind === "completed" && restart === undefined)) return false;
  const { endAfterTextFamilies = [], suppressFollowUpAfterText = [] } = policy;
  if (family !== undefined && endAfterTextFamilies.includes(family)) return true;
  return calls.every(
    ({ outcome, needsNoFollowUp }) => needsNoFollowUp === true || suppressFollowUpAfterText.includes(outcome.call.name),
  );
}
