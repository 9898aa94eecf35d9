// The values that web pages show, for all page protocols.

import type { Usage } from "../types/common.ts";
import type { Json } from "../types/json.ts";
import type { LoopEvent, LoopEvents } from "../types/loop-event.ts";
import type { ToolResultPart } from "../types/message.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";
import { addCost, addUsage, noUsage } from "../utils/count-usage.ts";
import { toJson } from "../utils/json.ts";

/** The cost that a page shows. `streams` is the number of model streams that have ended. */
export interface PageCost {
  readonly streams: number;
  readonly usage: Usage;
  readonly costUSD?: number | undefined;
}

export const noCost: PageCost = /* @__PURE__ */ Object.freeze({ streams: 0, usage: noUsage, costUSD: 0 });

/** Adds the usage and the cost of an iteration or a compaction. Returns the same object for a compaction without a request. */
export function addToCost(
  before: PageCost,
  event: Extract<LoopEvent, { readonly type: "iteration-end" | "compaction-end" }>,
): PageCost {
  if (event.provider === undefined) return before;
  const { usage, costUSD } = event;
  return {
    streams: before.streams + (event.type === "iteration-end" ? 1 : 0),
    usage: usage === undefined ? before.usage : addUsage(before.usage, usage),
    costUSD: addCost(before.costUSD, costUSD),
  };
}

/**
 * True if a recorded retry may still discard the message of a replayed iteration. A page must not show such a message yet. A
 * message with a call that has run is never discarded.
 */
export function mayBeDiscarded({ replayed, calls }: LoopEvents["iteration-end"]): boolean {
  return replayed === true && calls.every(({ outcome }) => outcome === "not-run");
}

const waiting: ReadonlySet<string> = new Set(["awaiting-approval", "awaiting-result", "deferred"]);

/** True if the call still waits. The result in the transcript is then only a placeholder. */
export function isWaiting({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return waiting.has(outcome);
}

/** Returns the ids of the outer calls and of the call itself, joined by "/". Omits the number of a question, such as `#2`. */
export function toCallPath({ id, callId }: Pick<WaitingCall, "id" | "callId">): string {
  const bare = id.replace(/#\d+$/, "");
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
