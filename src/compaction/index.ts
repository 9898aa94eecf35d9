export type { CompactedMessages, Compaction } from "../core/entry-kit.ts";
export { compactMessages, type CompactionOptions, type SummaryOptions } from "./compact-messages.ts";
