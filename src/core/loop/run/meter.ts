// What a run and the runs inside it have used so far, as it happens: what runs beside each other share is looked at here, inside a
// step, so that the answer is recorded.

import type { InboxAnswer } from "../state/loop-state.ts";
import type { ResolvedLimits } from "./resolve-limits.ts";

/** The limits that nested runs share. */
export type SharedLimits = Pick<ResolvedLimits, "maxTokens" | "maxToolCalls" | "maxCostUSD" | "unknownCostEnds">;

/** What was used. */
export interface Spending {
  readonly tokens?: number | undefined;
  readonly toolCalls?: number | undefined;
  /** The known part. */
  readonly costUSD?: number | undefined;
  /** Whether there is a part that is not known. */
  readonly costUnknown?: boolean | undefined;
}

const none = Number.POSITIVE_INFINITY;

/** Counts for one run and for all that are around it. */
export class Meter {
  readonly #limits: SharedLimits;
  readonly #outer: Meter | undefined;
  #tokens = 0;
  #toolCalls = 0;
  #costUSD = 0;
  #costUnknown = false;

  constructor(limits: SharedLimits, outer: Meter | undefined) {
    this.#limits = limits;
    this.#outer = outer;
  }

  add(spending: Spending): void {
    const { tokens = 0, toolCalls = 0, costUSD = 0, costUnknown = false } = spending;
    this.#tokens += tokens;
    this.#toolCalls += toolCalls;
    this.#costUSD += costUSD;
    this.#costUnknown ||= costUnknown;
    this.#outer?.add(spending);
  }

  /** What is left to this run and to each around it, whichever has the least. */
  get tokensLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxTokens - this.#tokens, this.#outer?.tokensLeft ?? none));
  }

  /** As `tokensLeft`. */
  get toolCallsLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxToolCalls - this.#toolCalls, this.#outer?.toolCallsLeft ?? none));
  }

  /** As `tokensLeft`, in USD, of what is known. */
  get costLeftUSD(): number {
    return Math.max(0, Math.min(this.#limits.maxCostUSD - this.#costUSD, this.#outer?.costLeftUSD ?? none));
  }

  /** The least number of calls that any of these runs may make. */
  get maxToolCalls(): number {
    return Math.min(this.#limits.maxToolCalls, this.#outer?.maxToolCalls ?? none);
  }

  /** The budget of a run around this one for which a stream of this cost is too much, after what is not settled yet. */
  findSpentOutside(costUSD: number, unsettled: Spending = {}): InboxAnswer["spentOutside"] {
    return this.#outer?.findSpent(costUSD, unsettled);
  }

  /** The same, of this run and of all around it. */
  findSpent(costUSD: number, unsettled: Spending = {}): InboxAnswer["spentOutside"] {
    return this.#findOwnSpent(costUSD, unsettled) ?? this.findSpentOutside(costUSD, unsettled);
  }

  #findOwnSpent(costUSD: number, unsettled: Spending): InboxAnswer["spentOutside"] {
    const { maxTokens, maxCostUSD, unknownCostEnds } = this.#limits;
    if (maxCostUSD !== none && unknownCostEnds && this.#costUnknown) return { kind: "cost-unknown" };
    const spentUSD = this.#costUSD + (unsettled.costUSD ?? 0);
    if (spentUSD + costUSD > maxCostUSD) return { kind: "max-cost", limitUSD: maxCostUSD, spentUSD, expectedUSD: costUSD };
    const spent = this.#tokens + (unsettled.tokens ?? 0);
    return spent >= maxTokens ? { kind: "max-tokens", limit: maxTokens, spent } : undefined;
  }
}
