// Decides what the run does next. Pure: it performs nothing.

import type { EndReason } from "../types/termination.ts";
import { noReserve, type ResolvedLimits } from "../loop/run/limits.ts";
import { findSpent } from "../loop/run/meter.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import { isFatal } from "../../shared/to-outcome.ts";
import type { Ending, Hooks, InboxMessage, Look, State } from "../types/middleware.ts";
import { activeAt } from "./state.ts";
import { isNamed } from "../../shared/transcript.ts";

export type NextStep =
  /** Look at what came from outside, and decide whether to go on. */
  | { readonly kind: "look"; readonly planned?: Ending | undefined }
  | { readonly kind: "request" }
  | { readonly kind: "calls" }
  | { readonly kind: "end"; readonly ending: Ending };

/** What a look is about. */
export interface Looking {
  readonly planned?: Ending | undefined;
  /** True if the newest request is made again. */
  readonly retries?: boolean;
}

type EndsHook = Pick<Hooks, "ends">;

export function nextStep(state: State, hooks: readonly EndsHook[], limits: ResolvedLimits): NextStep {
  switch (state.phase) {
    case "start":
      return { kind: "look" };
    case "again":
      return { kind: state.isGranted ? "request" : "look" };
    case "look":
      return state.look?.ending === undefined ? { kind: "request" } : { kind: "end", ending: state.look.ending };
    case "answer":
      return afterAnswer(state, hooks, limits);
    case "calls":
      return afterCalls(state, hooks);
  }
}

function afterAnswer(state: State, hooks: readonly EndsHook[], limits: ResolvedLimits): NextStep {
  if (state.skipped !== undefined) return { kind: "look", planned: state.skipped };
  const answer = state.answers.at(-1);
  if (answer === undefined) return { kind: "look" };
  if (answer.ends !== undefined) return { kind: "look", planned: answer.ends };
  if (isUnfinished(answer)) {
    const ending = findPauseLimit(state, limits);
    return ending === undefined ? { kind: "request" } : { kind: "look", planned: ending };
  }
  const planned = answer.status === "tool-calls" ? findBadCalls(state) : endingOf(state);
  const ending = planned ?? ask(hooks, state);
  return ending === undefined ? { kind: "calls" } : { kind: "look", planned: ending };
}

/** A paused message may use the reserve, because it may become the final answer. */
function findPauseLimit(state: State, limits: ResolvedLimits): Ending | undefined {
  const { maxPauses: limit } = limits;
  return state.pauses >= limit ? error({ kind: "max-pauses", limit }) : findOwnSpent(state, limits, true);
}

const drainedEnding: Ending = { status: "suspended", reason: { kind: "drained" } };

function findBadCalls({ current }: State): Ending | undefined {
  return current.calls.every(isNamed) ? undefined : { status: "error", reason: { kind: "malformed-call" } };
}

function endingOf(state: State): Ending | undefined {
  const { status, reason } = state.answers.at(-1) ?? {};
  // An empty message after earlier text or content means that the model has finished.
  if (status === "empty-response" && (state.finalText !== "" || state.contentDelivered))
    return { status: "completed", reason: { kind: "answered" } };
  return status === undefined || reason === undefined ? undefined : { status, reason };
}

function afterCalls(state: State, hooks: readonly EndsHook[]): NextStep {
  const { waits, lastBatch } = state;
  const { ends, isDrained, isTurnEnd } = readBatch(lastBatch);
  if (ends !== undefined) return { kind: "look", planned: ends };
  if (waits.length > 0) return { kind: "end", ending: { status: "suspended", reason: { kind: "waiting", waits } } };
  if (isDrained) return { kind: "end", ending: drainedEnding };
  const turnEnd: Ending = { status: "completed", reason: { kind: "end-turn" } };
  return { kind: "look", planned: isTurnEnd ? turnEnd : ask(hooks, state) };
}

/**
 * A tool ends the turn only if all calls of the message were completed, because the model has to read why others were not. After a
 * context restart, the model has to answer with the new context.
 */
function readBatch(lastBatch: State["lastBatch"]): {
  readonly ends: Ending | undefined;
  readonly isDrained: boolean;
  readonly isTurnEnd: boolean;
} {
  let fatal: Ending | undefined;
  let ends: Ending | undefined;
  let [isDrained, isTurnEnd, isWhole] = [false, false, true];
  for (const { outcome, isDrained: wasDrained } of lastBatch) {
    if (isFatal(outcome)) fatal ??= error({ kind: "fatal-tool-error", toolName: outcome.call.name, error: outcome.error });
    ends ??= outcome.ends;
    isDrained ||= wasDrained === true;
    isWhole &&= outcome.kind === "completed";
    isTurnEnd ||= outcome.kind === "completed" && outcome.endTurn === true && outcome.restart !== true;
  }
  return { ends: fatal ?? ends, isDrained, isTurnEnd: isTurnEnd && isWhole };
}

function ask(hooks: readonly EndsHook[], state: State): Ending | undefined {
  if (state.isGranted) return undefined;
  for (const one of hooks) {
    const ending = one.ends?.(state);
    if (ending !== undefined) return ending;
  }
  return undefined;
}

/** The facts from which a look decides. */
export interface Seen extends Pick<Look, "now" | "token" | "messages"> {
  /** Set if the run was cancelled, or its time is over. */
  readonly ended?: Ending | undefined;
  readonly drains?: boolean | undefined;
  /** The smallest limit of tool calls of this run and its outer runs. */
  readonly maxToolCalls: number;
  /** Set if an outer run may not spend more. */
  readonly spentOutside?: EndReason | undefined;
}

interface LookRules {
  readonly limits: ResolvedLimits;
  readonly planned?: Ending | undefined;
  readonly hooks: readonly EndsHook[];
}

/** Returns the ending of the run, or undefined if the run goes on. */
export function decideLook(state: State, seen: Seen, rules: LookRules): Ending | undefined {
  const { planned, hooks } = rules;
  const outside = seen.ended?.status === "stopped-by-user" ? seen.ended : undefined;
  const unsent = unsentIn(state, seen);
  const findEnding = (): Ending | undefined => findLimit(state, seen, rules.limits) ?? ask(hooks, state);
  if (planned === undefined) return outside ?? interruptIn(state, unsent) ?? drainedBy(seen) ?? findEnding();
  if (outside !== undefined && isOutranked(planned)) return outside;
  if (!isReopened(planned, unsent)) return planned;
  return drainedBy(seen) ?? (mayReopen(findEnding()) ? undefined : planned);
}

/**
 * If a limit forbids another iteration, the run ends with its answer, and returns the new messages as undelivered. The hooks have
 * seen the answer only, so their answer counts no more than that of the model.
 */
function mayReopen(found: Ending | undefined): boolean {
  return found === undefined || isAnswer(found);
}

function drainedBy({ drains }: Seen): Ending | undefined {
  return drains === true ? drainedEnding : undefined;
}

/** An earlier execution has returned its unsent messages to its caller. */
function unsentIn({ look, unsent }: State, { token, messages = [] }: Seen): readonly InboxMessage[] {
  return look?.token === token ? [...unsent, ...messages] : messages;
}

/** True if a new message lets the run go on after its answer. */
function isReopened(planned: Ending, unsent: readonly InboxMessage[]): boolean {
  return (isAnswer(planned) || planned.status === "empty-response") && unsent.some(({ verb }) => verb === "steer");
}

function interruptIn(state: State, unsent: readonly InboxMessage[]): Ending | undefined {
  // After the first call, an interrupt comes too late, even if the call did not run.
  const hasCalled = state.answers.some(({ calls }) => calls.length > 0);
  const asked = hasCalled ? undefined : unsent.find(({ verb }) => verb === "interrupt");
  return asked === undefined
    ? undefined
    : { status: "follow-up-interrupt", reason: { kind: "interrupted", message: asked.message } };
}

function isAnswer({ status, reason }: Ending): boolean {
  return status === "completed" || reason.kind === "invalid-output";
}

/** A stop, a kill or an abort may arrive after this ending was planned. True if it still replaces the ending. */
function isOutranked(ending: Ending): boolean {
  const { kind } = ending.reason;
  return isAnswer(ending) || kind === "interrupted" || kind === "stopped" || ending.status === "suspended";
}

const none = Number.POSITIVE_INFINITY;

/** Returns the limit that forbids another request. A request must leave the reserve unused. */
export function findLimit(state: State, seen: Seen, limits: ResolvedLimits): Ending | undefined {
  if (state.isGranted) return undefined;
  if (seen.ended?.status === "timeout") return seen.ended;
  const { wallClockMs, maxIterations, maxConsecutiveToolErrors, reserve } = limits;
  if (activeAt(state, seen) + reserve.ms >= wallClockMs) return timeout({ kind: "wall-clock", limitMs: wallClockMs });
  if (state.consecutiveToolErrors >= maxConsecutiveToolErrors)
    return error({ kind: "tool-error-cap", count: maxConsecutiveToolErrors });
  if (state.countedIterations >= maxIterations) return timeout({ kind: "max-iterations", limit: maxIterations });
  const { maxToolCalls: limit } = seen;
  if (limit !== none && state.lastBatch.length > 0 && hasReachedLimit(state)) return error({ kind: "max-tool-calls", limit });
  return findOwnSpent(state, limits) ?? (seen.spentOutside && error(seen.spentOutside));
}

/** True if a call of an earlier message was beyond the limit, so that the model was asked to answer without tools. */
function hasReachedLimit({ functionHistory, iteration: now }: State): boolean {
  return functionHistory.some(({ outcome, iteration }) => outcome === "limit" && iteration < now);
}

/** True if there is no room for a request that may use the reserve. */
export function isExhausted(state: State, seen: Seen, limits: ResolvedLimits): boolean {
  if (seen.ended?.status === "timeout" || activeAt(state, seen) >= limits.wallClockMs) return true;
  return (seen.spentOutside ?? findOwnSpent(state, limits, true)) !== undefined;
}

/** A request that was granted (`isGranted`) may use the reserve. */
function findOwnSpent(state: State, limits: ResolvedLimits, isGranted?: true): Ending | undefined {
  const { costUSD, unpriced, spentUSD, lastCostUSD, usage, answers } = state;
  const spent = { tokens: usage.totalTokens, costUSD: spentUSD, costUnknown: costUSD === undefined };
  const tokens = limits.reserve.tokens === 0 ? 0 : (answers.at(-1)?.usage?.totalTokens ?? 0);
  const found = findSpent(
    spent,
    { tokens, costUSD: lastCostUSD },
    isGranted === true ? { ...limits, reserve: noReserve } : limits,
  );
  return found && error(found.kind === "cost-unknown" ? { ...found, ...unpriced } : found);
}

const error = (reason: EndReason): Ending => ({ status: "error", reason });
const timeout = (reason: EndReason): Ending => ({ status: "timeout", reason });
