// What a run and the runs inside it have used so far, as it happens: what runs beside each other share is looked at here, inside a
// step, so that the answer is recorded.

/** The limits that nested runs share. `Infinity` means none. */
export interface SharedLimits {
  readonly maxTokens: number;
  readonly maxToolCalls: number;
}

/** Counts for one run and for all that are around it. */
export class Meter {
  readonly #limits: SharedLimits;
  readonly #outer: Meter | undefined;
  #tokens = 0;
  #toolCalls = 0;

  constructor(limits: SharedLimits, outer: Meter | undefined) {
    this.#limits = limits;
    this.#outer = outer;
  }

  add(tokens: number, toolCalls: number): void {
    this.#tokens += tokens;
    this.#toolCalls += toolCalls;
    this.#outer?.add(tokens, toolCalls);
  }

  /** What is left to this run and to each around it, whichever has the least. */
  get tokensLeft(): number {
    return Math.max(0, Math.min(this.#limits.maxTokens - this.#tokens, this.#outer?.tokensLeft ?? Number.POSITIVE_INFINITY));
  }

  /** As `tokensLeft`. */
  get toolCallsLeft(): number {
    const left = this.#limits.maxToolCalls - this.#toolCalls;
    return Math.max(0, Math.min(left, this.#outer?.toolCallsLeft ?? Number.POSITIVE_INFINITY));
  }

  /** The least number of calls that any of these runs may make. */
  get maxToolCalls(): number {
    return Math.min(this.#limits.maxToolCalls, this.#outer?.maxToolCalls ?? Number.POSITIVE_INFINITY);
  }

  /** The token limit of a run around this one that is used up. */
  findSpentOutside(): { readonly limit: number; readonly spent: number } | undefined {
    for (let meter = this.#outer; meter !== undefined; meter = meter.#outer) {
      const limit = meter.#limits.maxTokens;
      if (meter.#tokens >= limit) return { limit, spent: meter.#tokens };
    }
    return undefined;
  }
}
