// A summary for llms.txt: the features for long runs. If a type here differs from the real type, the compiler reports an error.

import type { Compaction, Provider } from "turnwright";
import type * as compaction from "turnwright/compaction";
import { type Differing, expectNone } from "./same-names.ts";

// #region compaction
interface CompactionEntry {
  // pass it as policies.compaction; a share (up to 1) needs `contextWindow`, and numbers above 1 are tokens
  compactMessages(options?: {
    when?: number; // 0.8: old messages are summarized when the context reaches this size
    keep?: number; // 0.1: the latest messages stay, up to this size
    contextWindow?: number | ((provider: string, model: string) => number | undefined); // genaiContextWindow() of turnwright/prices
    summarise?: { provider?: Provider; maxOutputTokens?: number; maxCostUSD?: number; instructions?: string };
    native?: boolean; // true: a service with `compacts` writes its own summaries
  }): Compaction; // startWith(result.compaction) for the next run of the conversation
}
// #endregion compaction

expectNone<Differing<CompactionEntry, typeof compaction>>();
expectNone<Differing<NonNullable<Parameters<CompactionEntry["compactMessages"]>[0]>, compaction.CompactionOptions>>();
