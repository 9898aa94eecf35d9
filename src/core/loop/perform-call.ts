// Performs one tool call: checks that it is allowed, passes it through the middleware, and runs the tool once.

import type { PlainError } from "../types/common.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { detectContextRestart } from "./context-restart.ts";
import { restartedResult } from "../../shared/transcript.ts";
import {
  executeToolCall,
  refuseChanged,
  refuseBlocked,
  validateCall,
  type ReadyCall,
  type ToolCallPorts,
} from "./execute-tool-call.ts";
import { renderOutcome, toPreliminary } from "../../shared/to-outcome.ts";
import { findTool } from "../tools/registry.ts";
import { freezeDeep, isSameJson, toJson } from "../../shared/json.ts";
import { chainHooks, HookError, StepCancelled } from "./hooks.ts";
import { isReplay } from "./journals.ts";
import { sumSpending } from "../../shared/count-usage.ts";
import { HookRecorder, CallContext } from "./recorder.ts";
import { isBarring } from "./seam.ts";
import { isCurrent, type Run } from "./run.ts";
import { durabilityOf, type GivenCall, type Activity } from "./activity.ts";
import type { Next, NextCall, Outcome } from "../types/middleware.ts";

/** Runs one call. Rejects only if the journal fails. A waiting call stays pending: see `Activity.settle`. */
export async function performCall(activity: Activity, call: ToolCall): Promise<Outcome> {
  const { run } = activity;
  activity.end = (outcome) => {
    activity.end = () => {};
    sendEnd(run, outcome, activity.isReplayed);
  };
  const last: Next<NextCall, Outcome> = (given, signal) => runCall(activity, { made: call, given, signal });
  const recorderOf = (name: string, given: ToolCall): HookRecorder => new HookRecorder(activity, name, given);
  const inner = chainHooks(run.hooks, "execute", { last, recorderOf, activity });
  const chain = chainHooks(run.hooks, "call", { last: inner, recorderOf, activity });
  let outcome: Outcome;
  try {
    outcome = await activity.watched(chain(call));
  } catch (error) {
    if (error instanceof StepCancelled) outcome = activity.made ?? { call, durationMs: 0, kind: "not-run" };
    else if (!(error instanceof HookError)) throw error;
    else {
      // Hides the error from the model, because it may reveal details of the program. The run's `reason` contains the error.
      const failed: Outcome = {
        call,
        durationMs: 0,
        kind: "failed",
        error: { name: error.name, message: "A check of this call failed." },
      };
      outcome = { ...(activity.made ?? failed), ends: error.ending };
    }
  }
  const { ends = outcome.ends } = activity;
  if (ends !== outcome.ends) outcome = { ...outcome, ends };
  barAfter(activity, outcome);
  const recorded = durabilityOf(run)?.recordCallEnd(activity, outcome);
  if (recorded !== undefined) await recorded;
  activity.end(outcome);
  return outcome;
}

/**
 * Prevents other calls from starting after an outcome that ends the run. An early call is exempt, because its attempt may still be
 * discarded.
 */
function barAfter({ run, isEarly }: Activity, outcome: Outcome): void {
  if (!isEarly && isBarring(outcome)) run.isBarred = true;
}

/** Runs a call's tool. If the run records its steps, the tool runs only once, however often the run is executed. */
async function runCall(activity: Activity, call: GivenCall): Promise<Outcome> {
  const durability = durabilityOf(activity.run);
  if (durability !== undefined) return durability.runCall(activity, call);
  await awaitTurn(activity, call);
  return (activity.made = await activity.inCore(() => runPlain(activity, call)));
}

/** Waits until a call's tool may begin. */
export async function awaitTurn(activity: Activity, { given: { together } }: GivenCall): Promise<void> {
  together?.join();
  const turn = activity.takeTurn?.(together !== undefined);
  if (turn === undefined) return;
  activity.isHeld = true;
  await activity.inCore(() => turn);
  activity.isHeld = false;
}

/** Ends the nested runs that the tool did not await, and adds the spending of all its nested runs. */
export async function addNested(activity: Activity, outcome: Outcome, mark: number): Promise<Outcome> {
  await activity.nested?.end();
  const nested = sumSpending(activity.spent.splice(mark));
  return nested === undefined ? outcome : { ...outcome, nested };
}

/** Runs an ordinary tool, unless the call must not begin or its arguments are invalid. */
export async function runPlain(activity: Activity, call: GivenCall): Promise<Outcome> {
  const { run } = activity;
  const ports = portsOf(activity, call.signal);
  const admitted = admit(activity, call, ports);
  // Awaits only if there is a promise, because an unneeded `await` would let other code run between the check and the tool.
  const ready = admitted instanceof Promise ? await admitted : admitted;
  if (ready.kind !== "ready") return ready;
  sendStart(run, call.made, false);
  const mark = activity.spent.length;
  const made = executeToolCall(ready, ports);
  // Does not await a synchronous tool, so that after a fatal error in the tool, the next call in the message does not begin.
  const outcome = endTool(activity, made instanceof Promise ? await made : made);
  return activity.nested === undefined ? outcome : addNested(activity, outcome, mark);
}

export function endTool(activity: Activity, outcome: Outcome): Outcome {
  activity.onToolEnd?.();
  barAfter(activity, outcome);
  // Only the `context-restarts` middleware adds the context that a restart requests. Without it, the result becomes an error that the model
  // can read.
  const isLost = outcome.kind === "completed" && outcome.restart === true;
  if (!isLost || activity.run.middleware.some(({ name }) => name === "context-restarts")) return outcome;
  const { call, durationMs, approvedArgs } = outcome;
  return { call, durationMs, approvedArgs, kind: "failed", error: noRestarts };
}

const noRestarts: PlainError = {
  name: "ToolFailure",
  message: "The tool restarts the context, but the run has no contextRestarts() in its middleware.",
};

/**
 * Prepares and counts a call that begins now. Returns its outcome instead if it must not begin. Returns a promise only if there is
 * something to await, so that calls begin in order.
 */
export function admit(
  activity: Activity,
  call: GivenCall,
  ports: ToolCallPorts,
): ReadyCall | Outcome | Promise<ReadyCall | Outcome> {
  const prepared = prepare(activity, call, ports);
  const count = (one: ReadyCall | ToolOutcome): ReadyCall | Outcome => countCall(activity.run, call, one);
  return prepared instanceof Promise ? prepared.then(count) : count(prepared);
}

/** Counts a call. Returns a refusal if the limits, which parallel calls share, allow no more calls. */
function countCall(run: Run, call: GivenCall, prepared: ReadyCall | ToolOutcome): ReadyCall | Outcome {
  const { meter, places, draft } = run;
  const { made } = call;
  if (mayNotBegin(run, call)) return { ...factsOf(call), kind: "not-run" };
  if (prepared.kind !== "ready") return prepared;
  // The set of allowed tools may have changed since the original request, so a resumed call is checked again.
  const allowed = places.has(made.callId) ? draft?.allowedTools : undefined;
  if (allowed?.includes(made.name) === false) return refuseBlocked(made, new Set(allowed), run);
  if (meter.toolCallsLeft < 1) return { ...factsOf(call), kind: "limit" };
  meter.add({ toolCalls: 1 });
  return prepared;
}

/** True if a call must not begin, because the run is ending. */
export function mayNotBegin({ scope, clock, isBarred }: Run, { signal }: GivenCall): boolean {
  scope.checkDeadline(clock.now());
  return scope.cause !== undefined || isBarred || signal?.aborted === true;
}

export function factsOf({ made, given }: GivenCall): Pick<Outcome, "call" | "durationMs" | "approvedArgs"> {
  const isEdited = given !== made && !isSameJson(given.args, made.args);
  return { call: made, durationMs: 0, ...(isEdited && { approvedArgs: given.args }) };
}

/** Validates the arguments, unless they were validated when the message ended. */
export function prepare(
  activity: Activity,
  call: GivenCall,
  ports: ToolCallPorts,
): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { run } = activity;
  const { made, given } = call;
  const definition = run.registered.get(made.name) ?? findTool(run.registry, made.name);
  if (definition === undefined || !isCurrent(run, definition)) return refuseChanged(made, ports);
  const { approvedArgs } = factsOf(call);
  const args = approvedArgs === undefined ? run.prepared.get(made.callId) : undefined;
  const { together } = given;
  const ready: ReadyCall = { kind: "ready", call: made, definition, args: args ?? toJson(given.args), approvedArgs, together };
  return args === undefined ? activity.inCore(() => validateCall(ready, ports)) : ready;
}

/** Metadata of tool results, by call, stored until `tool-end` is sent. */
const metadataOf = new WeakMap<ToolCall, unknown>();

export function portsOf(activity: Activity, signal?: AbortSignal): ToolCallPorts {
  const { run } = activity;
  const { registry, clock, timeouts, advice, events } = run;
  return {
    registry,
    clock,
    timeouts,
    advice,
    scope: scopeOf(activity, signal),
    shown: run.shown,
    mayDefer: run.mayWait && run.durability !== undefined,
    isCurrent: (definition) => isCurrent(run, definition),
    contextFor: (call, deadline) => {
      activity.deadline = deadline;
      return new CallContext(activity, call, deadline);
    },
    onYield: (call, value) => {
      const data = events.wants("tool-progress") ? toPreliminary(value) : undefined;
      if (data !== undefined) run.send("tool-progress", run.aboutCall(call, { data, preliminary: true }));
    },
    onMetadata: (call, metadata) => void metadataOf.set(call, metadata),
    onLate: (call, success) => run.send("late-result", run.aboutCall(call, { success })),
  };
}

/** Returns the run's scope, or a separate scope for a replayed call or a call that middleware may cancel. */
function scopeOf({ run, journal }: Activity, signal: AbortSignal | undefined): CancelScope {
  if (isReplay(journal)) return new CancelScope();
  return run.scope.within(signal);
}

export function sendStart(run: Run, call: ToolCall, isReplayed: boolean): void {
  run.send("tool-start", run.aboutCall(call, { args: freezeDeep(call.args) }), isReplayed);
}

export function sendEnd(run: Run, outcome: ToolOutcome, isReplayed: boolean): void {
  const { call, kind, durationMs } = outcome;
  const metadata = metadataOf.get(call);
  metadataOf.delete(call);
  if (!run.events.wants("tool-end")) return;
  const isRestart = detectContextRestart(outcome, undefined) !== undefined;
  const result = isRestart ? restartedResult : freezeDeep(renderOutcome(outcome));
  const fields = { outcome: kind, result, durationMs, ...(metadata !== undefined && { metadata }) };
  run.send("tool-end", run.aboutCall(call, fields), isReplayed);
}
