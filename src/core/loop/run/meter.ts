// Counts the spending of a run and of the runs inside it, and how deep they are nested.

import { isRecord, sharedMap } from "../../utils/guards.ts";
import type { InboxAnswer } from "../state/loop-state.ts";
import type { ResolvedLimits } from "./limits.ts";

/** The number of runs around a run, and the most levels allowed. */
export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

/** The level of a run, by the signal of each of its calls. */
const levels = /* @__PURE__ */ sharedMap<AbortSignal, Level>("levels");

/** The key under which the context of a call holds the level of its run, in every copy of the package. */
export const levelKey: unique symbol = Symbol.for("turnwright.Level");

/** Records the level of the run that a call's signal belongs to. */
export function noteLevel(signal: AbortSignal, { depth, maxDepth }: Level): void {
  if (!levels.has(signal)) levels.set(signal, { depth, maxDepth });
}

/** Returns the level of the run whose call passed on its signal or its context; undefined if neither is from a call. */
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

/** Spending to add to the meter. */
export interface Spending {
  readonly tokens?: number | undefined;
  readonly toolCalls?: number | undefined;
  /** The known part of the cost. */
  readonly costUSD?: number | undefined;
  /** True if a part of the cost is unknown. */
  readonly costUnknown?: boolean | undefined;
}

const none = Number.POSITIVE_INFINITY;

/** Counts for one run and for all runs around it. */
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

  /** The lowest rest of the token limits of this run and of all runs around it. */
  get tokensLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxTokens - this.#tokens, this.#outer?.tokensLeft ?? none));
  }

  /** The lowest rest of the tool-call limits. */
  get toolCallsLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxToolCalls - this.#toolCalls, this.#outer?.toolCallsLeft ?? none));
  }

  /** The lowest rest of the cost limits, in USD. Counts known costs only. */
  get costLeftUSD(): number {
    return Math.max(0, Math.min(this.#limits.maxCostUSD - this.#costUSD, this.#outer?.costLeftUSD ?? none));
  }

  /** The lowest limit of tool calls among these runs. */
  get maxToolCalls(): number {
    return Math.min(this.#limits.maxToolCalls, this.#outer?.maxToolCalls ?? none);
  }

  /** Finds the limit of an outer run that a stream of this cost would exceed, counting spending that is not settled yet. */
  findSpentOutside(costUSD: number, unsettled: Spending = {}): InboxAnswer["spentOutside"] {
    return this.#outer?.findSpent(costUSD, unsettled);
  }

  /** Finds such a limit of this run or of an outer run. */
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
