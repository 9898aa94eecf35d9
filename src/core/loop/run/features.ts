// The interfaces between the loop and two optional features, masking and loop detection. The values that the user passes contain
// the code, so that unused features are not bundled.

import type { Message } from "../../types/message.ts";
import type { LoopDetection } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { LoopState, Repetition } from "../state/loop-state.ts";
import type { CycleRules } from "../state/step-key.ts";

export interface LoopDetector extends LoopDetection, LoopRule {
  readonly cycles: CycleRules;
  begin(): Repetition;
}

/** The results that one update masked: the ids of their calls, and their estimated tokens before and after. */
export interface Masked {
  readonly calls: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export type MaskingSource = Pick<
  LoopState,
  "messages" | "iteration" | "iterationStart" | "functionHistory" | "forcedIterations" | "releases"
>;

/** The transcript as sent to the model. */
export interface MaskedView {
  /** The messages to send. Call `update` for the iteration first. */
  readonly messages: readonly Message[];
  /** Returns the iterations in `force` whose results can still be masked. */
  findForced(force: ReadonlySet<number>): readonly number[];
  /** Updates the view before a stream. Returns the newly masked results, or undefined if there are none. */
  update(state: MaskingSource): Masked | undefined;
}

export interface ResultMasking extends Masking {
  readonly force: ReadonlySet<number> | undefined;
  createView(): MaskedView;
}
