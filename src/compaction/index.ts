export type { CompactedMessages } from "../core/kit.ts";
export { compactMessages, type Compaction, type CompactionOptions, type SummaryOptions } from "./compact-messages.ts";
