// The second half of stage 02: runs one call that was found ready, against its time limit and the run's cancellation.

import type { DispatchPorts } from "../run/prepared-call.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { quote } from "../../utils/describe-value.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promise-or-value.ts";
import { findTool } from "../../tools/find-tool.ts";
import { toFailure, toOutcome, type Completion, type Failure } from "../../tools/to-outcome.ts";
import type { ReadyCall } from "../run/prepared-call.ts";

/** The outcome of a call whose tool is not the one that was shown: the registry has another one of its name now, or none. */
export function refuseChanged(call: ToolCall, { registry }: Pick<DispatchPorts, "registry">): ToolOutcome {
  if (findTool(registry, call.name) === undefined)
    return {
      call,
      durationMs: 0,
      kind: "failed",
      error: { name: "ToolFailure", message: `The tool ${quote(call.name)} is not available.` },
    };
  const message = "the tool changed after this call was made, so it was not run; read what it takes now before calling it again";
  return { call, durationMs: 0, kind: "invalid-input", issues: [{ message }] };
}

/**
 * Runs one ready call. A tool that misbehaves is an outcome, never a rejection; a synchronous tool costs no timer. `execute` stands in
 * for the registry's tool.
 */
export function dispatchCall(
  ready: ReadyCall,
  ports: DispatchPorts,
  execute?: () => unknown,
): ToolOutcome | Promise<ToolOutcome> {
  const { call, definition } = ready;
  // Calls that hold the thread let no timer fire, so that time is looked at before each one.
  ports.scope.checkDeadline(ports.clock.now());
  if (ports.scope.cause !== undefined) return { call, durationMs: 0, kind: "not-run" };
  const { timeouts } = ports;
  const limits = {
    limitMs: definition.timeoutMs ?? timeouts.toolMs,
    idleMs: definition.idleTimeoutMs,
    settleMs: timeouts.settleMs,
  };
  const deadline = new Deadline(limits, ports);
  const dispatch: Dispatch = { ready, deadline, ports, execute };
  const maxAttempts = definition.idempotent === true ? (definition.retry?.maxAttempts ?? 1) : 1;
  const output = maxAttempts > 1 ? attemptAgain(dispatch, maxAttempts) : tryOnce(dispatch);
  if (!(output instanceof Promise)) return conclude(dispatch, output);
  const raced = deadline.race(output, (success) => ports.onLate?.(call, success));
  return raced.then((end) => conclude(dispatch, end));
}

/** What an attempt gives in place of a tool's value where the tool is not the one that was shown. */
const changed = Symbol("changed");

/** An outcome without the facts of its call. */
type CallEnding =
  | Completion
  | Failure
  | { readonly kind: "interrupted" }
  | { readonly kind: "timed-out"; readonly limitMs: number };

interface Dispatch {
  readonly ready: ReadyCall;
  readonly deadline: Deadline;
  readonly ports: DispatchPorts;
  readonly execute: (() => unknown) | undefined;
}

function attempt({ ready, deadline, ports, execute }: Dispatch): unknown {
  if (execute !== undefined) return execute();
  // Nothing may come between this and the call: what a person approved, or the model was shown, is what runs.
  if (ports.isCurrent?.(ready.definition) === false) return changed;
  return ports.registry.executeTool(ready.call.name, ready.args, ports.contextFor(ready.call, deadline));
}

/** A throw of a synchronous tool becomes the end of its race. */
function tryOnce(dispatch: Dispatch): Promise<unknown> | Raced<unknown> {
  try {
    const output = promiseOrValue(attempt(dispatch));
    return output instanceof Promise ? output : { kind: "value", value: output };
  } catch (error) {
    return { kind: "thrown", error };
  }
}

/** All attempts share the one deadline; the last failure is the one that counts. */
async function attemptAgain(dispatch: Dispatch, maxAttempts: number): Promise<unknown> {
  const { deadline, ports } = dispatch;
  const isOver = (): boolean =>
    deadline.expired || ports.scope.cause !== undefined || ports.isCurrent?.(dispatch.ready.definition) === false;
  for (let count = 1; ; count += 1) {
    try {
      // Attempts that fail at once leave no timer a chance.
      ports.scope.checkDeadline(ports.clock.now());
      const output = await attempt(dispatch);
      if (output === changed || count === maxAttempts || isOver() || toOutcome(output).outcome.kind !== "failed") return output;
    } catch (error) {
      if (count === maxAttempts || isOver() || toFailure(error).fatal === true) throw error;
    }
  }
}

function conclude({ ready, deadline, ports }: Dispatch, end: Raced<unknown>): ToolOutcome {
  const { call, approvedArgs } = ready;
  deadline.end();
  if (end.kind === "value" && end.value === changed) return refuseChanged(call, ports);
  const ending = judge(call, end, { deadline, ports });
  return toOutcomeOf(call, ending, { durationMs: deadline.elapsedMs(), approvedArgs });
}

/** A plain success is written out field by field: spreading takes longer than all the rest of a synchronous call. */
function toOutcomeOf(call: ToolCall, ending: CallEnding, facts: Pick<ToolOutcome, "durationMs" | "approvedArgs">): ToolOutcome {
  if (ending.kind !== "completed" || ending.release !== undefined || ending.restart !== undefined)
    return { ...ending, call, ...facts };
  const { kind, data, content, endTurn } = ending;
  return { kind, call, durationMs: facts.durationMs, approvedArgs: facts.approvedArgs, data, content, endTurn };
}

/** A stop is looked at first: what a stopped call says is dropped, also where it is an error. */
function judge(call: ToolCall, end: Raced<unknown>, { deadline, ports }: Pick<Dispatch, "deadline" | "ports">): CallEnding {
  if (ports.scope.cause !== undefined) return { kind: "interrupted" };
  if (end.kind === "expired") return { kind: "timed-out", limitMs: end.limitMs };
  if (deadline.expired) return { kind: "timed-out", limitMs: deadline.limitMs };
  switch (end.kind) {
    case "value":
      return read(call, end.value, ports);
    case "thrown":
      return toFailure(end.error);
    case "cancelled":
      return { kind: "interrupted" };
    default:
      return assertNever(end);
  }
}

/** A value whose own getters throw when it is read is a failed result. */
function read(call: ToolCall, value: unknown, ports: DispatchPorts): CallEnding {
  try {
    const { outcome, metadata } = toOutcome(value);
    if (metadata !== undefined) ports.onMetadata?.(call, metadata);
    return outcome;
  } catch (error) {
    return { kind: "failed", error: toPlainError(error) };
  }
}
