// The interfaces of optional features: masking, loop detection and watching the prompt cache. The code of a feature comes with the
// value that the user passes, so unused features are not bundled.

import type { Message } from "../../types/message.ts";
import type { LoopDetection } from "../../types/policies.ts";
import type { Masking, Usage } from "../../types/common.ts";
import type { PromptCacheUse, PromptCacheWatch, StreamCache } from "../../types/prompt-cache.ts";
import type { AttemptSpending, ModelCall, ModelRequest, StreamResult } from "../../types/provider.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { LoopState, Repetition } from "../state/loop-state.ts";
import type { CycleRules } from "../state/step-key.ts";

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
  /** The messages to send. They are valid after `update` was called for the iteration. */
  readonly messages: readonly Message[];
  /** Returns those iterations in `force` that still have results to mask. */
  findForced(force: ReadonlySet<number>): readonly number[];
  /** Masks old results before a stream. Returns the newly masked results, or undefined if no result was masked. */
  update(state: MaskingSource): Masked | undefined;
}

export interface ResultMasking extends Masking {
  readonly force: ReadonlySet<number> | undefined;
  createView(): MaskedView;
}

/** Watches the requests of one stream. */
export interface StreamWatch {
  /** Called with each request body of the stream, as `sending` of the model call. */
  readonly sending: NonNullable<ModelCall["sending"]>;
  /** Called after the stream has ended. Returns the facts about its requests, and makes `sending` ignore all further requests. */
  read(spendings: readonly AttemptSpending[], priceOf: (usage: Usage, by: AttemptSpending) => unknown): StreamCache | undefined;
}

/** Watches the prompt cache of one run. Created by the value of `policies.promptCache`. */
export interface CacheWatcher {
  /** Begins to watch the requests of a stream. */
  watch(request: ModelRequest): StreamWatch;
  /** Takes the recorded requests of a replayed stream, so that the next request is compared with these records. */
  replay(cache: StreamCache): void;
  /** Returns the sums for the result of the run. */
  sum(results: readonly StreamResult[]): PromptCacheUse;
}

export interface CacheWatch extends PromptCacheWatch {
  createWatcher(): CacheWatcher;
}
