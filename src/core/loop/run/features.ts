// Masking and the detection of loops as the loop sees them. Their code comes with the values that the user passes.

import type { Message } from "../../types/message.ts";
import type { LoopDetection } from "../../types/policies.ts";
import type { Masking } from "../../types/common.ts";
import type { LoopRule } from "../state/apply-call.ts";
import type { LoopState, Repetition } from "../state/loop-state.ts";
import type { CycleRules } from "../state/step-key.ts";

/** Counts repeated calls. */
export interface LoopDetector extends LoopDetection, LoopRule {
  readonly cycles: CycleRules;
  begin(): Repetition;
}

/** The results that one update has masked: ids of calls, and the estimated tokens of their results, before and after. */
export interface Masked {
  readonly calls: readonly string[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The part of the state that masking reads. */
export type MaskingSource = Pick<
  LoopState,
  "messages" | "iteration" | "iterationStart" | "functionHistory" | "forcedIterations" | "releases"
>;

/** The transcript as it is sent. */
export interface MaskedView {
  /** The messages to send, once `update` has been called for the iteration. */
  readonly messages: readonly Message[];
  /** Of the iterations whose results can still be masked, those that `force` names. */
  findForced(force: ReadonlySet<number>): readonly number[];
  /** Brings the view up to date before a stream. Returns what is newly masked. */
  update(state: MaskingSource): Masked | undefined;
}

/** Clears old results from requests. */
export interface ResultMasking extends Masking {
  readonly force: ReadonlySet<number> | undefined;
  createView(): MaskedView;
}
