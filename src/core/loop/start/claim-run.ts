// What only one live run may hold: its id and its control. And what it listens to from outside.

import type { Journal } from "../../types/journal.ts";
import type { LoopControl } from "../../types/loop-control.ts";
import type { LoopOptions } from "../../types/loop-options.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { CancelReason, CancelScope } from "../../cancellation/cancel-scope.ts";
import { type ClaimPorts, claimControl } from "../control/loop-control.ts";
import type { ControlClaim } from "../run/control-claim.ts";
import type { Nesting } from "../run/run.ts";

/** Ids of the runs that are live in this process. */
const liveRunIds = new Set<string>();
/** Journals in memory that a live run writes: another run would take its records for its own. */
const liveJournals = new WeakSet<Journal>();

/** What a run holds until it is released. */
export interface Claims {
  readonly control: ControlClaim | undefined;
  release(): void;
}

interface Claiming extends ClaimPorts {
  readonly options: LoopOptions;
  readonly runId: string;
  readonly nesting: Nesting | undefined;
}

/** Takes the run id and the control, both at once, and listens to the caller's signal and to the run around this one. */
export function claimRun({ options, runId, scope, nesting, maxInterrupts }: Claiming): Claims {
  if (liveRunIds.has(runId)) throw new LoopError("already-running", { what: "runId", runId });
  const journal = options.journal?.durable === false ? options.journal : undefined;
  if (journal !== undefined && liveJournals.has(journal)) throw new LoopError("already-running", { what: "journal" });
  // First, because a signal of the caller's own may throw.
  const letGo = scope.follow(options.signal);
  const control = options.control === undefined ? undefined : claimOr(letGo, options.control, { scope, maxInterrupts });
  liveRunIds.add(runId);
  if (journal !== undefined) liveJournals.add(journal);
  const untie = nesting === undefined ? undefined : tie(scope, nesting.run.scope);
  return {
    control,
    release: () => {
      liveRunIds.delete(runId);
      if (journal !== undefined) liveJournals.delete(journal);
      control?.release();
      untie?.();
      letGo();
    },
  };
}

function claimOr(letGo: () => void, control: LoopControl, ports: ClaimPorts): ControlClaim {
  try {
    return claimControl(control, ports);
  } catch (error) {
    letGo();
    throw error;
  }
}

/** A nested run ends as the run around it does. */
function tie(scope: CancelScope, outer: CancelScope): () => void {
  const slot = { cancel: (cause: CancelReason): void => scope.cancel(cause) };
  outer.join(slot);
  if (outer.cause !== undefined) scope.cancel(outer.cause);
  return () => outer.leave(slot);
}
