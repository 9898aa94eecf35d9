/** Time as the loop sees it: monotonic milliseconds and one-shot timers. Tests hand in their own. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Every time limit that guards one foreign await, in milliseconds; `Infinity` means none. */
export interface Timeouts {
  /** Longest silence of a model stream after its first content. Heartbeats put it off to twelve times as long. Default 120,000. */
  readonly streamIdleMs: number;
  /** Longest silence before the first content of a model stream, put off in the same way. Default max(streamIdleMs, 300,000). */
  readonly firstChunkMs: number;
  /** Longest run of one tool call, fresh for each call. Default 300,000. */
  readonly toolMs: number;
  /** How long a stopped tool or an expired stream may take to finish before it is left behind. Default 5,000; 0 does not wait. */
  readonly settleMs: number;
  /** Longest wait for an approval. Default none, for a person may take days. */
  readonly approvalMs: number;
  /** Longest run of one hook or asynchronous validation. Default 30,000. */
  readonly hookMs: number;
  /**
   * Longest silence of a journal, while no body of a step runs. Then the run rejects with LoopError "journal-unresponsive". The stages
   * do not need it. Default 60,000.
   */
  readonly journalMs?: number | undefined;
}
