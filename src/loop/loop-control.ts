// The handle by which a program ends a running loop. A control serves one run at a time, and may serve many after each other.

import type { LoopControl, StopRequest } from "../contract/loop-options.ts";
import { LoopError } from "../errors/loop-error.ts";
import type { Cause, RunScope } from "../kit/run-scope.ts";

/** What a control knows of the run that holds it. */
interface Holder {
  readonly scope: RunScope;
  chainActive: boolean;
}

interface ControlState {
  holder: Holder | undefined;
  /** Asked for before the first run. */
  queued: Cause[];
  hasRun: boolean;
}

/** A run's hold on its control. */
export interface ControlClaim {
  /** The first call of the run is about to start. */
  startToolChain(): void;
  release(): void;
}

const states = new WeakMap<LoopControl, ControlState>();

/**
 * Makes a control to hand to `runToolLoop` or `streamToolLoop`. `stop` lets running tools finish within `settleMs`; `kill` leaves
 * them at once. Both answer "finished" after a run, until the next run takes the control; before the first run they queue. One
 * control in two live runs throws LoopError "already-running".
 *
 * @example
 * const control = createLoopControl();
 * const running = runToolLoop({ provider, tools, messages, control });
 * control.stop({ requester: "user 7" });
 * const { reason } = await running; // { kind: "stopped", requester: "user 7" }
 */
export function createLoopControl(): LoopControl {
  const state: ControlState = { holder: undefined, queued: [], hasRun: false };
  const request = (cause: Cause): "accepted" | "finished" => {
    if (state.holder !== undefined) state.holder.scope.cancel(cause);
    else if (state.hasRun) return "finished";
    else state.queued.push(cause);
    return "accepted";
  };
  const control: LoopControl = {
    stop: (facts?: StopRequest) =>
      request({ kind: "stop", requester: textOrNone(facts?.requester), note: textOrNone(facts?.note) }),
    kill: () => request({ kind: "kill" }),
    hasStopRequest: () => isAsked(state.holder?.scope.cause) || state.queued.length > 0,
    isToolChainActive: () => state.holder?.chainActive === true,
  };
  states.set(control, state);
  return control;
}

/** A button's handler may hand in its event. */
function textOrNone(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The wall clock is nobody's request. */
function isAsked(cause: Cause | undefined): boolean {
  return cause !== undefined && cause.kind !== "wall-clock";
}

/** Takes a control for a run; what was asked for before is passed on. Throws LoopError where another run holds it. */
export function claimControl(control: LoopControl, scope: RunScope): ControlClaim {
  const state = states.get(control);
  if (state === undefined) {
    throw new LoopError("invalid-option", {
      option: "control",
      expected: "a control made by createLoopControl",
      received: "another object",
    });
  }
  if (state.holder !== undefined) throw new LoopError("already-running", { what: "control" });
  const holder: Holder = { scope, chainActive: false };
  state.holder = holder;
  state.hasRun = true;
  const queued = state.queued;
  state.queued = [];
  for (const cause of queued) scope.cancel(cause);
  return {
    startToolChain: () => {
      holder.chainActive = true;
    },
    release: () => {
      state.holder = undefined;
    },
  };
}
