// Decides what the run does next. This is a pure function of the state, without side effects.

import type { EndReason } from "../types/termination.ts";
import { none, noReserve, type ResolvedLimits } from "./limits.ts";
import { findSpent } from "./meter.ts";
import type { Requested } from "./claims.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import { isFatal } from "../../shared/to-outcome.ts";
import type { Answer, Ending, Hooks, Look, Outcome, State } from "../types/middleware.ts";
import { activeAt } from "./state.ts";
import { isNamed } from "../../shared/transcript.ts";

export type NextStep =
  /** Check what came from outside, such as messages and stops, and decide whether to continue. This step is called a "look". */
  | { readonly kind: "look"; readonly planned?: Ending | undefined }
  | { readonly kind: "request" }
  | { readonly kind: "calls" }
  | { readonly kind: "end"; readonly ending: Ending };

/** The planned ending that a look checks, and whether to repeat the newest request. */
export interface Looking {
  readonly planned?: Ending | undefined;
  /** True if the newest request should be repeated. */
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
  const { skipped, answers, pauses } = state;
  const answer = answers.at(-1);
  const ends = skipped ?? answer?.ends;
  if (ends !== undefined || answer === undefined) return { kind: "look", planned: ends };
  if (isUnfinished(answer)) {
    const { maxPauses: limit } = limits;
    // Lets a continued message spend the budget reserved for the final answer, because the message may become the final answer.
    const planned = pauses >= limit ? error({ kind: "max-pauses", limit }) : findOwnSpent(state, limits, true);
    return planned === undefined ? { kind: "request" } : { kind: "look", planned };
  }
  const ending = findAnswerEnd(answer, state) ?? askEnds(hooks, state);
  return ending === undefined ? { kind: "calls" } : { kind: "look", planned: ending };
}

function findAnswerEnd({ status, reason }: Answer, { finalText, contentDelivered, current }: State): Ending | undefined {
  if (status === "tool-calls") return current.calls.every(isNamed) ? undefined : error({ kind: "malformed-call" });
  // An empty message after earlier text or content means that the model has finished.
  const isDone = status === "empty-response" && (finalText !== "" || contentDelivered);
  return isDone ? { status: "completed", reason: { kind: "answered" } } : reason && { status, reason };
}

const drainedEnding: Ending = { status: "suspended", reason: { kind: "drained" } };

function afterCalls(state: State, hooks: readonly EndsHook[]): NextStep {
  const { waits, lastBatch } = state;
  const ends = findEnd(lastBatch);
  if (ends !== undefined) return { kind: "look", planned: ends };
  if (waits.length > 0) return { kind: "end", ending: { status: "suspended", reason: { kind: "waiting", waits } } };
  if (lastBatch.some(({ isDrained }) => isDrained === true)) return { kind: "end", ending: drainedEnding };
  // Ends the turn only if every call in the message completed. Otherwise, the model must read why some did not. A context restart also
  // needs another answer.
  const isTurnEnd =
    lastBatch.every(({ outcome }) => outcome.kind === "completed") &&
    lastBatch.some(({ outcome: it }) => it.kind === "completed" && it.endTurn === true && it.restart !== true);
  return { kind: "look", planned: isTurnEnd ? { status: "completed", reason: { kind: "end-turn" } } : askEnds(hooks, state) };
}

/** Returns the ending that the last message's calls require. A tool's fatal error takes precedence. */
function findEnd(lastBatch: State["lastBatch"]): Ending | undefined {
  const outcomes = lastBatch.map(({ outcome }) => outcome);
  const first = outcomes.find(isFatal) ?? outcomes.find(({ ends }) => ends !== undefined);
  return first && endOfCall(first);
}

/** Returns the ending that a call has caused. */
export function endOfCall(outcome: Outcome): Ending | undefined {
  if (!isFatal(outcome)) return outcome.ends;
  return error({ kind: "fatal-tool-error", toolName: outcome.call.name, error: outcome.error });
}

function askEnds(hooks: readonly EndsHook[], state: State): Ending | undefined {
  if (state.isGranted) return undefined;
  for (const one of hooks) {
    const ending = one.ends?.(state);
    if (ending !== undefined) return ending;
  }
  return undefined;
}

/** The information on which a look bases its decision. */
export interface Seen extends Pick<Look, "now" | "token" | "messages">, Partial<Requested> {
  /** The end of a run that was cancelled, or whose time is up. */
  readonly ended?: Ending | undefined;
  /** The smallest tool-call limit of this run and its outer runs. */
  readonly maxToolCalls: number;
  /** The limit of an outer run that leaves no room for another request. */
  readonly spentOutside?: EndReason | undefined;
}

interface LookRules {
  readonly limits: ResolvedLimits;
  readonly planned?: Ending | undefined;
  readonly hooks: readonly EndsHook[];
}

/** Returns the ending of the run, or undefined if the run continues. */
export function decideLook(state: State, seen: Seen, rules: LookRules): Ending | undefined {
  const { planned } = rules;
  const { ended, interrupted } = seen;
  const stopped = isStop(ended) ? ended : undefined;
  const drained = seen.drains === true ? drainedEnding : undefined;
  if (planned === undefined) return stopped ?? interrupted ?? drained ?? forbid(state, seen, rules);
  if (stopped !== undefined && isOutranked(planned)) return stopped;
  return seen.isSteered === true && isReopened(planned) ? (drained ?? keep(planned, forbid(state, seen, rules))) : planned;
}

function isStop(ended: Ending | undefined): boolean {
  return ended?.status === "stopped-by-user";
}

/** Returns the ending if another iteration is not allowed. */
function forbid(state: State, seen: Seen, { limits, hooks }: LookRules): Ending | undefined {
  return findLimit(state, seen, limits) ?? askEnds(hooks, state);
}

/**
 * Keeps the planned ending if a limit forbids another iteration, and returns the new messages as undelivered. Does not keep an ending that
 * hooks chose, because they have not seen the new messages.
 */
function keep(planned: Ending, found: Ending | undefined): Ending | undefined {
  return found === undefined || isAnswer(found) ? undefined : planned;
}

/** True if a new message lets the run continue after this ending. */
function isReopened(planned: Ending): boolean {
  return isAnswer(planned) || planned.status === "empty-response";
}

function isAnswer({ status, reason }: Ending): boolean {
  return status === "completed" || reason.kind === "invalid-output";
}

/** True if a stop, a kill or an abort that arrives after this ending was planned still replaces it. */
function isOutranked(ending: Ending): boolean {
  const { kind } = ending.reason;
  return isAnswer(ending) || kind === "interrupted" || kind === "stopped" || ending.status === "suspended";
}

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
  if (limit !== none && state.lastBatch.length > 0 && hasLimitedCall(state, state.iteration))
    return error({ kind: "max-tool-calls", limit });
  return findOwnSpent(state, limits) ?? (seen.spentOutside && error(seen.spentOutside));
}

/** True if an earlier call exceeded `maxToolCalls`, so the model is now asked to answer without tools. */
export function hasLimitedCall({ functionHistory }: State, before: number): boolean {
  return functionHistory.some(({ outcome, iteration }) => outcome === "limit" && iteration < before);
}

/** True if the limits do not even allow a request that may use the reserve. */
export function isExhausted(state: State, seen: Seen, limits: ResolvedLimits): boolean {
  if (seen.ended?.status === "timeout" || activeAt(state, seen) >= limits.wallClockMs) return true;
  return (seen.spentOutside ?? findOwnSpent(state, limits, true)) !== undefined;
}

/** Returns the run's own limit that forbids a request. A granted request (`isGranted`) may use the reserve. */
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
