// Reserves an id and a control for a single run, and follows the signals that can cancel it.

import type { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import type { LoopControl } from "../types/loop-options.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import type { EndReason } from "../types/termination.ts";
import type { InboxMessage, Ending, State } from "../types/middleware.ts";
import { sharedMap } from "../../shared/guards.ts";

const liveRunIds = new Set<string>();

interface Claims {
  readonly control: ControlClaim | undefined;
  release(): void;
}

interface Claiming {
  readonly options: {
    readonly control?: LoopControl | undefined;
    readonly signal?: AbortSignal | undefined;
  };
  readonly runId: string;
  readonly scope: CancelScope;
  readonly limits: { readonly maxInterrupts: number };
}

interface NestedIn {
  readonly signal?: AbortSignal | undefined;
}

export function claimRun({ options, runId, scope, limits }: Claiming, nesting: NestedIn | undefined): Claims {
  const { control } = options;
  if (liveRunIds.has(runId)) throw new LoopError("already-running", { what: "runId", runId });
  const claim = control === undefined ? undefined : claims.get(control);
  if (control !== undefined && claim === undefined) throw invalidOption("control", "a control from createLoopControl", control);
  const held = claim?.(scope, limits.maxInterrupts);
  scope.follow(options.signal, nesting?.signal);
  liveRunIds.add(runId);
  return {
    control: held,
    release: () => {
      liveRunIds.delete(runId);
      held?.release();
    },
  };
}

/** Maps each control to the function that connects it to a run. All copies of the package share this map. */
export const claims: WeakMap<LoopControl, (scope: CancelScope, maxInterrupts: number) => ControlClaim> =
  /* @__PURE__ */ sharedMap("control-claims");

/** The actions requested by messages to a run. */
export interface Requested {
  /** The ending of a run that a message interrupts. */
  readonly interrupted?: Ending | undefined;
  /** True if a message is waiting for the model. */
  readonly isSteered: boolean;
  readonly drains: boolean;
}

export interface ControlClaim {
  /** The messages that the run has not taken yet, in order. New messages may be added at the end. */
  readonly messages: readonly InboxMessage[];
  takeMessages(count: number): void;
  /** Determines which actions the messages request. */
  see(state: State, token: string): Requested;
  /** Called when the first tool call in the run is about to start. Later messages cannot interrupt the run. */
  startToolChain(): void;
  /** Called after the inbox was read for the last time. The control's methods then return "finished". */
  shut(): void;
  /** Releases the control. Its methods then return "finished", and remaining messages are kept for the next run. */
  release(ending?: EndReason["kind"]): void;
}
