// The second half of stage 02: runs one call that was found ready, against its time limit and the run's cancellation.

import type { Clock, Timeouts } from "../contract/clock.ts";
import type { ToolContext, ToolRegistry } from "../contract/tool.ts";
import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import { assertNever } from "../kit/assert-never.ts";
import { Deadline, type Raced } from "../kit/deadline.ts";
import { isThenable } from "../kit/is-thenable.ts";
import type { RunScope } from "../kit/run-scope.ts";
import { toFailure, toOutcome, type Completion, type Failure } from "../tools/to-outcome.ts";
import type { ReadyCall } from "./prepare-call.ts";

/** What dispatching uses of a run. */
export interface DispatchPorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: RunScope;
  /** Makes what the tool gets beside its arguments. The deadline holds its signal and its heartbeat. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Hears what a result carried for listeners only. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Hears of a call that ended after it had been left behind. */
  onLate?(call: ToolCall, success: boolean): void;
}

/** Runs one ready call. A tool that misbehaves is an outcome, never a rejection; a synchronous tool costs no timer. */
export function dispatchCall(ready: ReadyCall, ports: DispatchPorts): ToolOutcome | Promise<ToolOutcome> {
  const { call, definition } = ready;
  if (ports.scope.cause !== undefined) return { call, durationMs: 0, kind: "not-run" };
  const { timeouts } = ports;
  const limits = { limitMs: definition.timeoutMs ?? timeouts.toolMs, idleMs: definition.idleTimeoutMs, settleMs: timeouts.settleMs };
  const deadline = new Deadline(limits, ports);
  const attempt = (): unknown => ports.registry.executeTool(call.name, ready.args, ports.contextFor(call, deadline));
  const maxAttempts = definition.idempotent === true ? (definition.retry?.maxAttempts ?? 1) : 1;
  const output = maxAttempts > 1 ? attemptAgain(attempt, { maxAttempts, deadline, ports }) : tryOnce(attempt);
  if (!isThenable(output)) return conclude(ready, output, { deadline, ports });
  const raced = deadline.race(output, (success) => ports.onLate?.(call, success));
  return raced.then((end) => conclude(ready, end, { deadline, ports }));
}

/** An outcome without the facts of its call. */
type Ending = Completion | Failure | { readonly kind: "interrupted" } | { readonly kind: "timed-out"; readonly limitMs: number };

interface Dispatch {
  readonly deadline: Deadline;
  readonly ports: DispatchPorts;
}

/** A throw of a synchronous tool becomes the end of its race. */
function tryOnce(attempt: () => unknown): PromiseLike<unknown> | Raced<unknown> {
  try {
    const output = attempt();
    return isThenable(output) ? output : { kind: "value", value: output };
  } catch (error) {
    return { kind: "thrown", error };
  }
}

/** All attempts share the one deadline; the last failure is the one that counts. */
async function attemptAgain(attempt: () => unknown, { maxAttempts, deadline, ports }: Dispatch & { maxAttempts: number }): Promise<unknown> {
  for (let count = 1; ; count += 1) {
    const isLast = count === maxAttempts || ports.scope.cause !== undefined || deadline.expired;
    try {
      const output = await attempt();
      if (isLast || toOutcome(output).outcome.kind !== "failed" || deadline.expired) return output;
    } catch (error) {
      if (isLast || toFailure(error).fatal === true || deadline.expired || ports.scope.cause !== undefined) throw error;
    }
  }
}

function conclude(ready: ReadyCall, end: Raced<unknown>, { deadline, ports }: Dispatch): ToolOutcome {
  const { call, approvedArgs } = ready;
  deadline.end();
  const ending = judge(call, end, { deadline, ports });
  return { call, durationMs: deadline.elapsedMs(), approvedArgs, ...ending };
}

/** A stop is looked at first: what a stopped call says is dropped, also where it is an error. */
function judge(call: ToolCall, end: Raced<unknown>, { deadline, ports }: Dispatch): Ending {
  if (ports.scope.cause !== undefined) return { kind: "interrupted" };
  if (end.kind === "expired") return { kind: "timed-out", limitMs: end.limitMs };
  if (deadline.expired) return { kind: "timed-out", limitMs: deadline.limitMs };
  switch (end.kind) {
    case "value": {
      const { outcome, metadata } = toOutcome(end.value);
      if (metadata !== undefined) ports.onMetadata?.(call, metadata);
      return outcome;
    }
    case "thrown":
      return toFailure(end.error);
    case "cancelled":
      return { kind: "interrupted" };
    default:
      return assertNever(end);
  }
}
