// Counts the tokens, tool calls and costs of a run and its nested runs, and limits the nesting depth.

import { isRecord } from "../../utils/guards.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { InboxAnswer } from "../state/step-result.ts";
import { noReserve, type Reserve, type ResolvedLimits } from "./limits.ts";

export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

/**
 * The contexts and signals of tool calls store the nesting level of their run under this key. All copies of the package use the
 * same key.
 */
export const levelKey: unique symbol = Symbol.for("turnwright.Level");

export function noteLevel(signal: AbortSignal, { depth, maxDepth }: Level): void {
  if (!(levelKey in signal)) Object.defineProperty(signal, levelKey, { value: { depth, maxDepth } });
}

/** Returns the nesting level of the outer run. Returns undefined if `options` has neither the context nor the signal of a tool call. */
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
  readonly costUnknown?: boolean | undefined;
}

const none = Number.POSITIVE_INFINITY;

export class Meter {
  readonly #limits: SharedLimits;
  readonly #outer: Meter | undefined;
  readonly #reserve: Reserve;
  #tokens = 0;
  #toolCalls = 0;
  #costUSD = 0;
  #costUnknown = false;

  /** Only the final answer of this run may use `reserve`, so nested runs may use less than the limits. */
  constructor(limits: SharedLimits, outer: Meter | undefined, reserve: Reserve = noReserve) {
    this.#limits = limits;
    this.#outer = outer;
    this.#reserve = reserve;
  }

  add(spending: Spending): void {
    const { tokens = 0, toolCalls = 0, costUSD = 0, costUnknown = false } = spending;
    this.#tokens += tokens;
    this.#toolCalls += toolCalls;
    this.#costUSD += costUSD;
    this.#costUnknown ||= costUnknown;
    this.#outer?.add(spending);
  }

  addUsage({ usage, costUSD, knownCostUSD }: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD">): void {
    this.add({ tokens: usage?.totalTokens, costUSD: costUSD ?? knownCostUSD, costUnknown: costUSD === undefined });
  }

  /** The smallest number of tokens that the limits of this run and of its outer runs leave. */
  get tokensLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxTokens - this.#reserve.tokens - this.#tokens, this.#outer?.tokensLeft ?? none));
  }

  /** The smallest number of tool calls that the limits of this run and of its outer runs leave. */
  get toolCallsLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxToolCalls - this.#toolCalls, this.#outer?.toolCallsLeft ?? none));
  }

  /** The smallest amount in USD that the limits of this run and of its outer runs leave. Unknown costs are not counted. */
  get costLeftUSD(): number {
    return Math.max(
      0,
      Math.min(this.#limits.maxCostUSD - this.#reserve.costUSD - this.#costUSD, this.#outer?.costLeftUSD ?? none),
    );
  }

  get maxToolCalls(): number {
    return Math.min(this.#limits.maxToolCalls, this.#outer?.maxToolCalls ?? none);
  }

  /**
   * Returns the limit of an outer run that a stream with this cost would exceed. `unsettled` is spending that is not counted yet.
   */
  findSpentOutside(costUSD: number, unsettled: Spending = {}): InboxAnswer["spentOutside"] {
    return this.#outer?.findSpent(costUSD, unsettled);
  }

  /** Like `findSpentOutside`, but includes the limits of this run. The final answer (`isFinal`) may use the reserve of this run. */
  findSpent(costUSD: number, unsettled: Spending = {}, isFinal: boolean = false): InboxAnswer["spentOutside"] {
    return this.#findOwnSpent(costUSD, unsettled, isFinal) ?? this.findSpentOutside(costUSD, unsettled);
  }

  #findOwnSpent(costUSD: number, unsettled: Spending, isFinal: boolean): InboxAnswer["spentOutside"] {
    const { maxTokens, maxCostUSD, unknownCostEnds } = this.#limits;
    const kept = isFinal ? noReserve : this.#reserve;
    if (maxCostUSD !== none && unknownCostEnds && this.#costUnknown) return { kind: "cost-unknown" };
    const spentUSD = this.#costUSD + (unsettled.costUSD ?? 0);
    if (spentUSD + costUSD + kept.costUSD > maxCostUSD)
      return { kind: "max-cost", limitUSD: maxCostUSD, spentUSD, expectedUSD: costUSD };
    const spent = this.#tokens + (unsettled.tokens ?? 0);
    return spent + kept.tokens >= maxTokens ? { kind: "max-tokens", limit: maxTokens, spent } : undefined;
  }
}
