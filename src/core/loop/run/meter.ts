// Counts what a run and the runs inside it spend, and how deep they are nested.

import { isRecord, sharedMap } from "../../utils/guards.ts";
import type { InboxAnswer } from "../state/loop-state.ts";
import type { ResolvedLimits } from "./resolve-policies.ts";

/** How many runs there are around a run, and how many levels there may be. */
export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

/** By the signal of a call: the level of its run. */
const levels = /* @__PURE__ */ sharedMap<AbortSignal, Level>("levels");

/** A context of a call has the level of its run under this key, in every copy of the package. */
export const levelKey: unique symbol = Symbol.for("turnwright.Level");

/** Notes the run that the call of a signal belongs to. */
export function noteLevel(signal: AbortSignal, { depth, maxDepth }: Level): void {
  if (!levels.has(signal)) levels.set(signal, { depth, maxDepth });
}

/** The level of the run whose call handed on its signal or its context; undefined if neither is that of a call. */
export function findOuterLevel({
  signal,
  context,
}: {
  readonly signal?: AbortSignal | undefined;
  readonly context?: unknown;
}): Level | undefined {
  const known = signal === undefined ? undefined : levels.get(signal);
  return known ?? (isRecord(context) ? levelIn(context) : undefined);
}

function levelIn(context: object): Level | undefined {
  const found: unknown = Reflect.get(context, levelKey);
  if (!isRecord(found)) return undefined;
  const { depth, maxDepth } = found;
  return typeof depth === "number" && typeof maxDepth === "number" ? { depth, maxDepth } : undefined;
}

/** The limits that nested runs share. */
export type SharedLimits = Pick<ResolvedLimits, "maxTokens" | "maxToolCalls" | "maxCostUSD" | "unknownCostEnds">;

/** The spending so far. */
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

  /** The rest of the limits of this run and each around it, whichever has the least. */
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
