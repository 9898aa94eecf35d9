// A summary for llms.txt: the features for long runs, and teams. If a type here differs from the real type, the compiler reports an
// error.

import type { Clock, LoopLimits, Provider, Tool } from "turnwright";
import type { Compaction, RunTree, TeamMember } from "turnwright/middleware";
import type { LoopEmitter } from "turnwright/kit";
import type * as middleware from "turnwright/middleware";
import { type ArgumentOf, type Differing, expectNone } from "./same-names.ts";

type TerminalOutput = ArgumentOf<typeof middleware.showTeam, 1>["output"];

// #region compaction
interface CompactionEntry {
  // pass it as compactMessages; a share (up to 1) needs `contextWindow`, and numbers above 1 are tokens
  compactMessages(options?: {
    when?: number; // 0.8: old messages are summarized when the context reaches this size
    keep?: number; // 0.1: the latest messages stay, up to this size
    contextWindow?: number | ((provider: string, model: string) => number | undefined); // genaiContextWindow() of turnwright/prices
    summarize?: { provider?: Provider; maxOutputTokens?: number; maxCostUSD?: number; instructions?: string };
    native?: boolean; // true: a service with `compacts` writes its own summaries
  }): Compaction; // startWith(result.compaction) for the next run of the conversation
}
// #endregion compaction

// #region team
interface TeamEntry {
  // options for runToolLoop: each member is a tool of the lead, and each of its calls is a nested run
  createTeam(options: {
    lead?: { system?: string; tools?: readonly Tool[] };
    members: { readonly [name: string]: TeamMember }; // { description, system, tools?, provider?, limits?, maxTasks?, inputSchema?, middleware?, ... }
    limits?: LoopLimits; // shared by the lead and all members
    maxParallel?: number;
  }): { system?: string | undefined; tools: readonly Tool[]; limits?: LoopLimits | undefined };
  showTeam(events: LoopEmitter, options: { output: TerminalOutput; name?: string; clock?: Clock }): () => void; // a live tree of nested runs
  createRunTree(options?: { name?: string; now?: () => number }): RunTree; // add(event); runs
  renderTree(tree: RunTree, options?: { width?: number; height?: number }): string;
}
// #endregion team

expectNone<
  Differing<NonNullable<Parameters<CompactionEntry["compactMessages"]>[0]>, ArgumentOf<typeof middleware.compactMessages>>
>();

export type { CompactionEntry, TeamEntry };
