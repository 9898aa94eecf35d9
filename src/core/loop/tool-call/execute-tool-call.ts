// Stage 2: executes one call, against its time limit and the cancellation of the run.

import type { Prepared, ReadyCall, ToolCallPorts } from "../run/call.ts";
import { type BatchCall, eventBase, type NestedRun, readyOf, type Run } from "../run/run.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolAnswer } from "./record-verdicts.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { prepareCall, validateCall } from "./prepare-call.ts";
import { promiseOrValue, whenReady } from "../../utils/promises.ts";
import { sendToolEnd, sendToolStart } from "./replay-call.ts";
import { assertNever } from "../../utils/guards.ts";
import { quote } from "../../utils/texts.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { findTool } from "../../tools/registry.ts";
import { wasDispatched } from "../../tools/render-outcome.ts";
import { type Completion, type Failure, toFailure, toOutcome } from "../../tools/to-outcome.ts";
import type { Json } from "../../types/json.ts";
import type { ContextSource } from "../../types/policies.ts";
import { toJson } from "../../utils/json.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { askHook } from "../run/ask-hook.ts";
import { endNested } from "./tool-context.ts";

/** A registry that shows another tool each time would have somebody asked for ever. */
const mostRounds = 3;

/** Whether a call that could run now has to be decided about first: nobody was asked, or its tool is not the one that was approved. */
export function findQuestion(run: Run, one: BatchCall): BatchCall["mustAsk"] {
  const { mayHaveRun, isBarred, round, mustAsk, isApproved } = one;
  const { definition, unfit } = readyOf(one);
  if (run.scope.cause !== undefined || isBarred || round === mostRounds || unfit !== undefined) return undefined;
  if (mayHaveRun && !mayRunAgain(definition)) return undefined;
  if (mustAsk !== undefined) return mustAsk;
  return isApproved && !run.ports.isCurrent(definition) ? "again" : undefined;
}

function mayRunAgain({ replay, eager }: ToolDefinition): boolean {
  return replay === "safe" || eager === true;
}

/** Runs one call and tells listeners of it. Part of a step, so that a replayed call does not come here. */
export function performCall(run: Run, one: BatchCall): ToolAnswer | PromiseLike<ToolAnswer> {
  const { call } = one;
  const mustAsk = findQuestion(run, one);
  if (mustAsk !== undefined) return { call, durationMs: 0, kind: "not-run", mustAsk };
  sendToolStart(run, call, true);
  const executed = whenReady(admitCall(run, one), (admitted) =>
    admitted.kind === "ready" ? executeToolCall(admitted, run.ports) : admitted,
  );
  return whenReady(executed, (outcome) =>
    whenReady(finishCall(run, outcome), (whole) => {
      sendToolEnd(run, whole, true);
      return whole;
    }),
  );
}

/**
 * The one check before a call begins, also one that is a run: the call with valid arguments, or the outcome of one that may not run. Counts
 * it if it begins, or may have begun before. What other runs have left of a common limit is known only now.
 */
export function admitCall(run: Run, one: BatchCall): Prepared | PromiseLike<Prepared> {
  const { meter, ports } = run;
  const { call, mayHaveRun } = one;
  const ready = readyOf(one);
  const left: ToolOutcome = { call, durationMs: 0, kind: mayHaveRun ? "interrupted" : "not-run" };
  run.scope.checkDeadline(run.clock.now());
  if (run.scope.cause !== undefined || one.isBarred) return left;
  if (ready.unfit !== undefined) return mayHaveRun ? left : ready.unfit;
  if (meter.toolCallsLeft < 1) return { call, durationMs: 0, kind: "limit" };
  if (mayHaveRun && !mayRunAgain(ready.definition)) {
    meter.add({ toolCalls: 1 });
    return left;
  }
  if (one.mustAsk !== undefined) {
    const refused = refuseChanged(call, ports);
    if (wasDispatched(refused.kind)) meter.add({ toolCalls: 1 });
    return refused;
  }
  return whenReady(ready.unvalidated === true ? validateCall(ready, ports) : ready, (checked) => {
    if (checked.kind === "ready") meter.add({ toolCalls: 1 });
    return checked;
  });
}

/** The outcome of a call whose tool is not the one that was shown: the registry has another one of its name now, or none. */
export function refuseChanged(call: ToolCall, { registry }: Pick<ToolCallPorts, "registry">): ToolOutcome {
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
 * Executes one call: prepares it unless it is prepared, then runs its tool against its time limit and the cancellation of the run. Never
 * rejects: whatever happens to the call is its outcome. A synchronous tool costs no timer. `execute` stands in for the registry's tool.
 *
 * @example
 * const outcome = await executeToolCall({ callId: "1", name: "get_weather", args: { city: "Oslo" } }, ports);
 */
export function executeToolCall(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome>;
export function executeToolCall(
  call: ReadyCall,
  ports: ToolCallPorts,
  execute?: () => unknown,
): ToolOutcome | Promise<ToolOutcome>;
export function executeToolCall(
  made: ToolCall | ReadyCall,
  ports: ToolCallPorts,
  execute?: () => unknown,
): ToolOutcome | Promise<ToolOutcome> {
  if (!("definition" in made)) return prepareAndExecute(made, ports);
  const { call, definition } = made;
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
  const dispatch: Dispatch = { ready: made, deadline, ports, execute };
  const maxAttempts = definition.idempotent === true ? (definition.retry?.maxAttempts ?? 1) : 1;
  let output: unknown;
  try {
    output = promiseOrValue(maxAttempts > 1 ? attemptAgain(dispatch, maxAttempts) : attempt(dispatch));
  } catch (error) {
    return conclude(dispatch, { kind: "thrown", error });
  }
  if (!(output instanceof Promise)) return conclude(dispatch, { kind: "value", value: output });
  const raced = deadline.race(output, (success) => ports.onLate?.(call, success));
  return raced.then((end) => conclude(dispatch, end));
}

async function prepareAndExecute(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome> {
  const prepared = await prepareCall(call, ports);
  return prepared.kind === "ready" ? executeToolCall(prepared, ports) : prepared;
}

/** Takes the place of a tool's value if the tool is not the one that was shown. */
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
  readonly ports: ToolCallPorts;
  readonly execute: (() => unknown) | undefined;
}

function attempt({ ready, deadline, ports, execute }: Dispatch): unknown {
  if (execute !== undefined) return execute();
  // Nothing may come between this and the call: what a person approved, or the model was shown, is what runs.
  if (ports.isCurrent?.(ready.definition) === false) return changed;
  return ports.registry.executeTool(ready.call.name, ready.args, ports.contextFor(ready.call, deadline));
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
function read(call: ToolCall, value: unknown, ports: ToolCallPorts): CallEnding {
  try {
    const { outcome, metadata } = toOutcome(value);
    if (metadata !== undefined) ports.onMetadata?.(call, metadata);
    return outcome;
  } catch (error) {
    return { kind: "failed", error: toPlainError(error) };
  }
}

/** Adds what runs inside the call have used, and the context that its result names. Most outcomes stay as they are, at once. */
export function finishCall(run: Run, outcome: ToolOutcome): ToolOutcome | Promise<ToolOutcome> {
  const nested = run.ports.takeNested(outcome.call.callId);
  const key = detectContextRestart(outcome, run.options.policies?.restarts)?.pendingContextKey;
  if (nested === undefined && key === undefined) return outcome;
  return addNested(outcome, nested).then((whole) => (key === undefined ? whole : withContext(run, whole, key)));
}

async function addNested(outcome: ToolOutcome, nested: readonly NestedRun[] | undefined): Promise<ToolOutcome> {
  return nested === undefined ? outcome : { ...outcome, nested: await endNested(nested, outcome.nested) };
}

/** A stash that fails has nothing: the run goes on, and listeners are told. */
async function withContext(run: Run, outcome: ToolOutcome, key: string): Promise<ToolOutcome> {
  const end = await askHook(() => stashOf(run).take(key), toItem, run);
  switch (end.kind) {
    case "value":
      return end.value === undefined || outcome.kind !== "completed" ? outcome : { ...outcome, pendingContext: end.value };
    case "cancelled": {
      // Without its context the call has not done what it was for.
      const { call, durationMs, approvedArgs, nested } = outcome;
      return { call, durationMs, approvedArgs, nested, kind: "interrupted" };
    }
    case "failed": {
      run.events.send({ type: "listener-error", ...eventBase(run), event: "stash", error: end.error });
      return outcome;
    }
    default:
      return assertNever(end);
  }
}

function stashOf({ options }: Run): ContextSource {
  const stash = options.policies?.restarts?.stash;
  if (stash === undefined) throw new Error('A result names context in a stash, but "policies.restarts.stash" is not set.');
  return stash;
}

function toItem(value: unknown): Json | undefined {
  return value === undefined || value === null ? undefined : toJson(value);
}
