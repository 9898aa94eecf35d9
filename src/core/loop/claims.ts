// Reserves an id and a control for a single run, and follows the signals that can cancel it.

import type { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import type { LoopControl } from "../types/loop-options.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { claims, type ControlClaim } from "./ports.ts";

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
