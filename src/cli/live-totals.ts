// Sums up the live part of a repeated run.

import type { LoopEvents, LoopOptions } from "../core/index.ts";
import { countThings, formatMs, formatUSD } from "../inspect/format.ts";

/** The time, tokens and cost of the iterations and summaries that were not repeated, including nested runs. */
export class LiveTotals {
  readonly #startedAt = performance.now();
  #tokens = 0;
  #costUSD: number | undefined = 0;

  constructor(events: NonNullable<LoopOptions["events"]>) {
    events.on("iteration-end", (event) => this.#add(event));
    events.on("compaction-end", (event) => {
      // A summary without a request used nothing.
      if (event.provider !== undefined) this.#add(event);
    });
  }

  #add({ replayed, usage, costUSD }: Pick<LoopEvents["iteration-end"], "replayed" | "usage" | "costUSD">): void {
    if (replayed === true) return;
    this.#tokens += usage?.totalTokens ?? 0;
    this.#costUSD = costUSD === undefined || this.#costUSD === undefined ? undefined : this.#costUSD + costUSD;
  }

  describe(): string {
    const cost = this.#costUSD === undefined ? "cost unknown" : formatUSD(this.#costUSD);
    return [formatMs(performance.now() - this.#startedAt), countThings(this.#tokens, "token"), cost].join(" · ");
  }
}
