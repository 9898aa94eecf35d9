// A run's hold on the control that was passed to it.

import type { LoopControl } from "../../types/loop-options.ts";
import type { EndReason } from "../../types/termination.ts";
import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import { sharedMap } from "../../utils/guards.ts";
import type { InboxMessage } from "../state/loop-state.ts";

/** The part of a run that its claim needs. */
export interface ClaimPorts {
  readonly scope: CancelScope;
  readonly maxInterrupts: number;
}

/** How each control is claimed: `createLoopControl` adds its code here, whichever copy of the package it comes from. */
export const claims: WeakMap<LoopControl, (ports: ClaimPorts) => ControlClaim> = /* @__PURE__ */ sharedMap("controls");

/** A run's hold on its control. */
export interface ControlClaim {
  /** Messages that were not taken yet, in order; more may come. */
  readonly messages: readonly InboxMessage[];
  /** Takes the first so many of them. */
  takeMessages(count: number): void;
  readonly drains: boolean;
  /** The first call of the run is about to start: from now on nothing interrupts it. */
  startToolChain(): void;
  /** The run has looked for the last time: from then on the verbs answer "finished". */
  shut(): void;
  /** Lets go of the control, once. From then on the verbs answer "finished", and messages that nobody took wait for the next run. */
  release(ending?: EndReason["kind"]): void;
}
