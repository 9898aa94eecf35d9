// Counts the tokens, tool calls and costs of a run and its nested runs, and tracks the nesting depth.

import { isRecord } from "../../utils/guards.ts";
import type { InboxAnswer } from "../state/loop-state.ts";
import type { ResolvedLimits } from "./limits.ts";

/** The nesting level of a run: `depth` is the number of outer runs, and `maxDepth` the maximum number of levels. */
export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

/**
 * The context and the signal of each tool call have the level of their run under this key. All copies of the package use the same
 * key.
 */
export const levelKey: unique symbol = Symbol.for("turnwright.Level");

/** Stores the level of a run in the signal of one of its tool calls. */
export function noteLevel(signal: AbortSignal, { depth, maxDepth }: Level): void {
  if (!(levelKey in signal)) Object.defineProperty(signal, levelKey, { value: { depth, maxDepth } });
}

/** Returns the level of the run whose tool call passed on its signal or context. Undefined if neither is from a tool call. */
export function findOuterLevel({
  signal,
  context,
}: {
  readonly signal?: AbortSignal | undefined;
  readonly context?: unknown;
}): Level | undefined {
  return levelIn(signal) ?? levelIn(context);
}

function levelIn(source: unknown): Level | undefined {
  const found: unknown = isRecord(source) ? Reflect.get(source, levelKey) : undefined;
  if (!isRecord(found)) return undefined;
  const { depth, maxDepth } = found;
  return typeof depth === "number" && typeof maxDepth === "number" ? { depth, maxDepth } : undefined;
}

export type SharedLimits = Pick<ResolvedLimits, "maxTokens" | "maxToolCalls" | "maxCostUSD" | "unknownCostEnds">;

export interface Spending {
  readonly tokens?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly costUSD?: number | undefined;
  /** True if a part of the cost is unknown. */
  readonly costUnknown?: boolean | undefined;
}

const none = Number.POSITIVE_INFINITY;

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

  /** The number of tokens that are left: the lowest remainder among the limits of this run and its outer runs. */
  get tokensLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxTokens - this.#tokens, this.#outer?.tokensLeft ?? none));
  }

  /** The number of tool calls that are left: the lowest remainder among the limits of this run and its outer runs. */
  get toolCallsLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxToolCalls - this.#toolCalls, this.#outer?.toolCallsLeft ?? none));
  }

  /** The USD that are left: the lowest remainder among the limits of this run and its outer runs. Counts only known costs. */
  get costLeftUSD(): number {
    return Math.max(0, Math.min(this.#limits.maxCostUSD - this.#costUSD, this.#outer?.costLeftUSD ?? none));
  }

  get maxToolCalls(): number {
    return Math.min(this.#limits.maxToolCalls, this.#outer?.maxToolCalls ?? none);
  }

  /** Finds the limit of an outer run that a stream with this cost would exceed. `unsettled` is not counted in the meter yet. */
  findSpentOutside(costUSD: number, unsettled: Spending = {}): InboxAnswer["spentOutside"] {
    return this.#outer?.findSpent(costUSD, unsettled);
  }

  /** Like `findSpentOutside`, but also checks the limits of this run. */
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
