// Defines the values and failure messages that web pages show, for all UI protocols. The messages never quote errors, which may contain
// secrets.

import type {
  ApprovalDecision,
  EndReason,
  Json,
  LoopEvents,
  LoopStatus,
  ToolOutcome,
  ToolResultPart,
  Usage,
} from "../core/index.ts";
import type { WaitingCall } from "../core/kit.ts";
import type { OutsideResult } from "../core/types/middleware-options.ts";
import { addCost, addUsage, noUsage } from "../shared/count-usage.ts";
import type { SpendingEvent } from "../shared/event-table.ts";
import { toJson } from "../shared/json.ts";
import { withoutRepeats } from "../shared/wait-ids.ts";

/** An answer that a web page sent. A page cannot keep a call waiting, so it cannot answer "ask". */
export type PageAnswer = (Exclude<ApprovalDecision, { readonly kind: "ask" }> | OutsideResult) & {
  /** Set to true, so that the run refuses the answer unless a page may send it. */
  readonly fromPage?: boolean | undefined;
};

/** The cost that a page shows. `streams` is the number of model streams that have ended. */
export interface PageCost {
  readonly streams: number;
  readonly usage: Usage;
  readonly costUSD?: number | undefined;
}

export const noCost: PageCost = /* @__PURE__ */ Object.freeze({ streams: 0, usage: noUsage, costUSD: 0 });

/** Adds the usage and cost of an iteration or compaction. Returns the same object for a compaction without a request. */
export function addToCost(before: PageCost, event: SpendingEvent): PageCost {
  if (event.provider === undefined) return before;
  const { usage, costUSD } = event;
  return {
    streams: before.streams + (event.type === "iteration-end" ? 1 : 0),
    usage: usage === undefined ? before.usage : addUsage(before.usage, usage),
    costUSD: addCost(before.costUSD, costUSD),
  };
}

/**
 * True if a recorded retry may still discard a replayed iteration's message. A page must not show such a message yet. A
 * message with a call that has run is never discarded.
 */
export function mayBeDiscarded({ replayed, calls }: LoopEvents["iteration-end"]): boolean {
  return replayed === true && calls.every(({ outcome }) => outcome === "not-run");
}

const waiting: ReadonlySet<string> = new Set(["awaiting-approval", "awaiting-result", "deferred"]);

/** True if the call is still waiting for an answer. The result in the transcript is then only a placeholder. */
export function isWaiting({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return waiting.has(outcome);
}

/** Returns the ids of the outer calls and of the call itself, joined with "/". Omits the numbers of a repeated wait. */
export function toCallPath({ id, callId }: Pick<WaitingCall, "id" | "callId">): string {
  const bare = withoutRepeats(id);
  return bare === callId || bare.endsWith(`/${callId}`) ? bare : id;
}

/** Copies a value from a tool. Returns null for a value that JSON cannot represent. */
export function toPlain(value: unknown): Json {
  try {
    return toJson(value ?? null);
  } catch {
    return null;
  }
}

/** A failure that a page shows to its user. */
export type PageFailure =
  /** The run ended with status "error", "timeout" or "empty-response". */
  | { readonly kind: "run"; readonly status: LoopStatus; readonly reason: EndReason }
  /** A call did not complete. `result` is the result that the model receives. */
  | { readonly kind: "tool"; readonly toolName: string; readonly outcome: ToolOutcome["kind"]; readonly result: unknown }
  /** The event source threw `error`, or ended before the run did. */
  | { readonly kind: "thrown"; readonly error: unknown };

/** Returns the message that the page shows for a failure. */
export type OnError = (failure: PageFailure) => string;

export const failedStatuses: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "empty-response"]);

const toolTexts = new Map<string, string>([
  ["failed", "The tool failed."],
  ["timed-out", "The tool took too long."],
  ["blocked", "The tool is not allowed here."],
  ["denied", "The call was denied."],
  ["approval-failed", "The call could not be approved."],
  ["unknown-tool", "The tool does not exist."],
  ["invalid-input", "The arguments do not fit the tool."],
  ["malformed", "The arguments are not valid JSON."],
  ["truncated", "The arguments were cut off."],
  ["interrupted", "The call was stopped."],
  ["not-run", "The call did not run."],
  ["limit", "The call did not run because the maximum number of calls was reached."],
]);

export function toFailureText(failure: PageFailure, onError: OnError | undefined): string {
  try {
    const text: unknown = onError?.(failure);
    if (typeof text === "string") return text;
  } catch {
    // Shows the default message if `onError` throws.
  }
  return neutralText(failure);
}

/** Returns the text for a stored result of a call that did not succeed. Its own text may contain secrets. */
export function toCallFailureText(
  { name: toolName, outcome, result }: Pick<ToolResultPart, "name" | "outcome" | "result">,
  onError: OnError | undefined,
): string {
  // Safe cast: a call that only waits has not failed.
  return toFailureText({ kind: "tool", toolName, outcome: outcome as ToolOutcome["kind"], result }, onError);
}

function neutralText(failure: PageFailure): string {
  return failure.kind === "tool" ? (toolTexts.get(failure.outcome) ?? "The call did not complete.") : "An error occurred.";
}
