// The interfaces of two optional features, masking and loop detection. The code of a feature comes with the value that the user
// passes, so unused features are not bundled.

import type { Message } from "../../types/message.ts";
import type { LoopDetection } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { LoopState } from "../state/loop-state.ts";
import type { Repetition } from "../state/repeated-calls.ts";
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
