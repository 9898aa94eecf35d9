// Hands a run's usage, cost, summary and agent over to the conversation's next run.

import { addCost, addUsage, knownCostOf, noUsage } from "../shared/count-usage.ts";
import { isRecord } from "../core/kit.ts";
import type { CompactedMessages } from "../core/types/middleware-options.ts";
import type { Handoff } from "../core/types/tool-outcome.ts";
import type { EndReason, LoopOptions, LoopResult, LoopStatus, Message, Usage, UserMessage } from "../core/index.ts";
import { fitsMessages } from "../shared/transcript.ts";
import { isFunction } from "../shared/errors/check-fields.ts";
import { endCalls } from "../journal/inspect/end-calls.ts";
import type { JournalInspection } from "../journal/index.ts";

/** The values that a conversation's runs hand over to its next run, as JSON data. */
export interface Handover {
  /** The total for all runs whose usage is known. */
  readonly usage: Usage;
  /** The cost of the runs in USD. Undefined if part of the cost is unknown. */
  readonly costUSD?: number | undefined;
  /** The sum of the known costs in USD, if `costUSD` is undefined. */
  readonly knownCostUSD?: number | undefined;
  /** The newest summary. Undefined if no run wrote one. */
  readonly compaction?: CompactedMessages | undefined;
  /** The handoffs of all runs, in order. The last one names the current agent. Undefined without `createHandoffs`. */
  readonly handoffs?: readonly AgentChange[] | undefined;
  /** Digests of the last request. Undefined if the prompt cache was not watched. */
  readonly lastRequest?: LastRequest | undefined;
}

/** A handoff in a conversation. */
export type AgentChange = Pick<Handoff, "to" | "messagesBefore">;

type LastRequest = NonNullable<NonNullable<LoopResult["cache"]>["last"]>;

/** The values that one run adds to the handover. The usage is undefined if it is unknown. */
export type RunReport = { readonly [Field in keyof Handover]?: Handover[Field] | undefined };

/** The usage and the cost of a conversation. */
export interface ConversationUsage {
  /** The total for all runs whose usage is known. */
  readonly usage: Usage;
  /** The cost in USD. Undefined if part of the cost is unknown, for example the cost of a request that was stopped. */
  readonly costUSD: number | undefined;
  /** The sum of the known costs in USD. The conversation has cost at least this much. Equal to `costUSD` if that is known. */
  readonly knownCostUSD: number;
  /** The number of runs, including one that has not ended. */
  readonly runs: number;
}

export const noHandover: Handover = { usage: noUsage, costUSD: 0 };

type Reported = Pick<LoopResult, "usage" | "costUSD" | "knownCostUSD" | "compaction" | "handoffs"> & {
  readonly cache?: { readonly last?: LastRequest | undefined } | undefined;
};

/** Returns a run's report, from its result or from an inspection of its journal. */
export function toReport({ usage, costUSD, knownCostUSD, compaction, handoffs = [], cache }: Reported): RunReport {
  const changes = handoffs.map(({ to, messagesBefore }) => ({ to, messagesBefore }));
  const lastRequest = cache?.last;
  return {
    usage,
    ...(costUSD === undefined ? { knownCostUSD } : { costUSD }),
    ...(compaction !== undefined && { compaction }),
    ...(changes.length > 0 && { handoffs: changes }),
    ...(lastRequest !== undefined && { lastRequest }),
  };
}

/** The statuses after which `resume: "retry-last"` continues a run. */
export const reopenable: ReadonlySet<string> = new Set<LoopStatus>(["error", "timeout", "stopped-by-user"]);

/** Adds a run's report to the handover of the runs before it. */
export function addReport(before: Handover, run: RunReport): Handover {
  const compaction = run.compaction ?? before.compaction;
  const handoffs = [...(before.handoffs ?? []), ...(run.handoffs ?? [])];
  const lastRequest = run.lastRequest ?? before.lastRequest;
  return {
    usage: addUsage(before.usage, run.usage ?? noUsage),
    ...addCosts(before, run),
    ...(compaction !== undefined && { compaction }),
    ...(handoffs.length > 0 && { handoffs }),
    ...(lastRequest !== undefined && { lastRequest }),
  };
}

function addCosts(before: Handover, run: RunReport): Pick<Handover, "costUSD" | "knownCostUSD"> {
  const costUSD = addCost(before.costUSD, run.costUSD);
  return costUSD === undefined ? { knownCostUSD: knownCostOf(before) + knownCostOf(run) } : { costUSD };
}

export function toUsage(handover: Handover, runs: number): ConversationUsage {
  const { usage, costUSD } = handover;
  return { usage, costUSD, knownCostUSD: knownCostOf(handover), runs };
}

/**
 * Returns a conversation's handover after its last messages were removed, or its messages were replaced. `messages`
 * are the remaining messages. Omits the summary if it does not match them.
 */
export function trimHandover(handover: Handover, messages: readonly Message[]): Handover {
  return { ...trimReport(handover, messages), usage: handover.usage };
}

function trimReport(report: RunReport, messages: readonly Message[]): RunReport {
  const { compaction, handoffs = [], lastRequest: _, ...spent } = report;
  const kept = handoffs.filter(({ messagesBefore }) => messagesBefore <= messages.length);
  return {
    ...spent,
    ...(compaction !== undefined && fitsMessages(compaction, messages) && { compaction }),
    ...(kept.length > 0 && { handoffs: kept }),
  };
}

/** Returns the options for the next run, which begins with the handover's summary and agent. */
export function withHandover<Options extends Pick<LoopOptions, "middleware">>(
  options: Options,
  { compaction, handoffs, lastRequest }: Handover,
): Options {
  const { middleware } = options;
  // Passes an invalid list on unchanged, because the run refuses it with a clear error.
  if (!Array.isArray(middleware)) return options;
  const agent = handoffs?.at(-1);
  const starts: ReadonlyMap<unknown, readonly unknown[]> = new Map([
    ["compaction", [compaction]],
    ["handoffs", [agent?.to, agent?.messagesBefore]],
    ["prompt-cache", [lastRequest]],
  ]);
  const begin = (one: unknown): unknown => {
    const { name, startWith } = isRecord(one) ? one : {};
    const start = starts.get(name);
    return start !== undefined && isFunction(startWith)
      ? (startWith as (...given: readonly unknown[]) => unknown)(...start)
      : one;
  };
  return { ...options, middleware: middleware.map(begin) };
}

interface EndedStatus {
  readonly status: "running" | LoopStatus;
  readonly reason?: EndReason | undefined;
}

const unchecked: ReadonlySet<string> = new Set<EndReason["kind"]>(["hook-failed", "max-cost", "max-tokens", "cost-unknown"]);

/** True if a run's messages passed its input checks. A run that was cut off or stopped may not have checked them. */
function hasChecked({ status, reason }: EndedStatus): boolean {
  if (status === "error") return reason !== undefined && !unchecked.has(reason.kind);
  return status === "completed" || status === "suspended" || status === "empty-response";
}

/**
 * Returns the position of the first message that is removed from the conversation if an input check refuses the next run. Earlier
 * unanswered messages from the user stay if they passed their run's checks. `added` is the number of new messages.
 */
export function findOwn(messages: readonly Message[], added: number, last: EndedStatus | undefined): number {
  const isChecked = last === undefined || hasChecked(last);
  return added > 0 && isChecked ? messages.length : messages.findLastIndex(({ role }) => role !== "user") + 1;
}

/**
 * Returns a run's messages without those that an input check refused. The checks would also refuse each later run with these
 * messages. `own` comes from `findOwn`.
 */
export function withoutRefused(
  { reason, messages }: { readonly reason?: EndReason | undefined; readonly messages: readonly Message[] },
  own: number,
): readonly Message[] {
  if (reason?.kind !== "input-guardrail") return messages;
  const answered = messages.findLastIndex(({ role }) => role !== "user") + 1;
  return messages.slice(0, Math.max(answered, own));
}

/** The messages and the handover that a run leaves for the next run. */
export interface Left {
  readonly messages: readonly Message[];
  /** The handover from the earlier runs. */
  readonly handover: Handover;
  readonly report: RunReport;
}

/**
 * Returns what a run leaves for the next run. Messages that an input check refused are removed from the conversation, with any summary and
 * handoffs that no longer match. `own` comes from `findOwn`.
 */
export function leaveRun(
  run: Reported & { readonly reason?: EndReason | undefined; readonly messages: readonly Message[] },
  { own, handover }: { readonly own: number; readonly handover: Handover },
): Left {
  const messages = withoutRefused(run, own);
  const report = toReport(run);
  if (messages.length === run.messages.length) return { messages, handover, report };
  return { messages, handover: trimHandover(handover, messages), report: trimReport(report, messages) };
}

/**
 * Returns what a run that was cut off leaves for the next run. `given` are the messages that the run began with. A run records its
 * beginning before its first request, so a run without a record has spent nothing.
 */
export function leaveCutOff(
  run: JournalInspection | undefined,
  given: { readonly messages: readonly Message[]; readonly own: number; readonly handover: Handover },
): Left {
  const { messages, handover } = given;
  if (run === undefined || run.status === "not-started") return { messages, handover, report: noHandover };
  return leaveRun({ ...run, messages: endCalls(run) }, given);
}

/** Returns the messages that reached a run too late. The next run begins with them. */
export function lateMessagesOf({ reason, undelivered }: Pick<LoopResult, "reason" | "undelivered">): readonly UserMessage[] {
  return reason.kind === "interrupted" ? [reason.message, ...undelivered] : undelivered;
}
