// The interfaces of three optional features: masking, loop detection and compaction. The code of a feature comes with the value
// that the user passes, so unused features are not bundled.

import type { Message } from "../../types/message.ts";
import type { CompactedMessages, Compaction, CompactionAnswer, LoopDetection } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { Provider } from "../../types/provider.ts";
import type { LoopState } from "../state/loop-state.ts";
import type { Repetition } from "../state/repeated-calls.ts";
import type { CycleRules } from "../state/step-key.ts";
import type { Run } from "./run.ts";

export interface LoopDetector extends LoopDetection, LoopRule {
  readonly cycles: CycleRules;
  begin(): Repetition;
}

export interface Masked {
  readonly calls: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export type MaskingSource = Pick<
  LoopState,
  "messages" | "iteration" | "iterationStart" | "functionHistory" | "forcedIterations" | "releases"
>;

export interface MaskedView {
  /** The messages to send. The messages are valid after `update` was called for the iteration. */
  readonly messages: readonly Message[];
  /** Returns those iterations in `force` that still have results to mask. */
  findForced(force: ReadonlySet<number>): readonly number[];
  /** Masks old results before a stream. Returns the newly masked results, or undefined if there are none. */
  update(state: MaskingSource): Masked | undefined;
}

export interface ResultMasking extends Masking {
  readonly force: ReadonlySet<number> | undefined;
  createView(): MaskedView;
}

export interface Compactor extends Compaction {
  /** Returns the summary of an earlier run. Throws LoopError "invalid-option" if it does not fit the messages of this run. */
  earlierOf(messages: readonly Message[]): CompactedMessages | undefined;
  /** True if old messages must be summarized before the next request, and if there are messages to summarize. */
  isDue(run: Run): boolean;
  /** Writes the summary, in a journal step. Never rejects. */
  compact(run: Run): Promise<CompactionAnswer>;
  /** The `compactAt` of a request to this provider, in tokens. Undefined for a provider that cannot compact. */
  thresholdFor(provider: Provider): number | undefined;
}
