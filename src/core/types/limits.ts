/** How much a run may do. Whole numbers, USD apart; absent means the default, `Infinity` none. */
export interface LoopLimits {
  /** Most iterations. Default 100. */
  readonly maxIterations?: number | undefined;
  /** The 0-based iteration before which a "still-working" notice goes out, and from which on `ToolContext.showKillHint` is true. Default 20. */
  readonly softWarnIteration?: number | undefined;
  /** Tool errors in a row that end the run. Default 5. */
  readonly maxConsecutiveToolErrors?: number | undefined;
  /** Context restarts allowed. Default 5. */
  readonly maxRestarts?: number | undefined;
  /** Runs in a row that one control may interrupt; past it messages only queue. Default 3. */
  readonly maxInterrupts?: number | undefined;
  /** Iterations in a row with the same calls, arguments and successful results that end the run as `loop-detected`. At least 2. Default 10. */
  readonly maxIdenticalCalls?: number | undefined;
  /** Resends of a paused turn allowed. Default 10. */
  readonly maxPauses?: number | undefined;
  /** How deep runs may be nested: with 3 a run, a run in one of its tools, and one in that one's. Default 3. */
  readonly maxDepth?: number | undefined;
  /** Calls that run at once. Default 10. */
  readonly toolConcurrency?: number | undefined;
  /** Most calls dispatched. Default none. */
  readonly maxToolCalls?: number | undefined;
  /** Most tokens, input and output. Checked before each stream. Default none. */
  readonly maxTokens?: number | undefined;
  /** Most USD, as `pricing` says; checked before each stream, with what the last one cost added to what is spent. Default none. */
  readonly maxCostUSD?: number | undefined;
  /** What a run with a `maxCostUSD` does behind a stream whose cost is not known: end as `cost-unknown`, or go by the known ones. Default "end". */
  readonly onUnknownCost?: "continue" | "end" | undefined;
  /** Longest active time of the run in milliseconds. Default none. */
  readonly wallClockMs?: number | undefined;
}
