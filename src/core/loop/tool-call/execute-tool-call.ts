// Stage 2: executes one call, within its time limit and until the run is cancelled.

import type { Prepared, ReadyCall, ToolCallPorts } from "../run/call.ts";
import { type BatchCall, eventBase, type NestedRun, readyOf, type Run } from "../run/run.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolAnswer } from "./record-verdicts.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { prepareCall, validateCall } from "./prepare-call.ts";
import { promiseOrValue, whenReady } from "../../utils/promises.ts";
import { sendToolEnd, sendToolStart } from "./replay-call.ts";
import { assertNever, isThenable } from "../../utils/guards.ts";
import { quote } from "../../utils/texts.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { findTool } from "../../tools/registry.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import { type Conclusion, toFailure, toolFailure, toOutcome } from "../../tools/to-outcome.ts";
import type { Json } from "../../types/json.ts";
import type { ContextSource } from "../../types/policies.ts";
import { toJson } from "../../utils/json.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { askHook } from "../run/ask-hook.ts";
import { endNested } from "./tool-context.ts";

/** Most repeated decisions about a call. A registry that changes its tool each time would otherwise require decisions forever. */
const mostRounds = 3;

/** Returns which decision a call still needs. There was none yet, or its tool is not the approved one any more. */
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

/** Runs one call and emits its events. The body of a step, so a replayed call is not performed. */
export function performCall(run: Run, one: BatchCall): ToolAnswer | PromiseLike<ToolAnswer> {
  const { call } = one;
  const mustAsk = findQuestion(run, one);
  if (mustAsk !== undefined) return { call, durationMs: 0, kind: "not-run", mustAsk };
  sendToolStart(run, call, true);
  const admitted = admitCall(run, one);
  // An engine may retry the step.
  one.mayHaveRun = true;
  const { ports } = run;
  const outcome = isThenable(admitted) ? admitted.then((fit) => executeToolCall(fit, ports)) : executeToolCall(admitted, ports);
  return whenReady(outcome, (ended) =>
    whenReady(finishCall(run, ended), (whole) => {
      sendToolEnd(run, whole, true);
      return whole;
    }),
  );
}

/**
 * The only check before a call begins, including one that is a run. Returns the call with valid arguments, or the outcome of a
 * call that may not run. Counts the call if it begins, or may have begun before. The rest of a limit shared with other runs is
 * only known now.
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

/** The outcome of a call whose tool was replaced or removed after the model saw it. */
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
 * Executes one call: prepares it if needed, then runs its tool within its time limit and until the run is cancelled. Never
 * rejects: any failure of the call is an outcome. A call that was refused keeps its outcome. A synchronous tool costs no timer.
 * `execute` replaces the tool of the registry.
 *
 * @example
 * const outcome = await executeToolCall({ callId: "1", name: "get_weather", args: { city: "Oslo" } }, ports);
 */
export function executeToolCall(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome>;
export function executeToolCall(
  call: Prepared,
  ports: ToolCallPorts,
  execute?: () => unknown,
): ToolOutcome | Promise<ToolOutcome>;
export function executeToolCall(
  made: ToolCall | Prepared,
  ports: ToolCallPorts,
  execute?: () => unknown,
): ToolOutcome | Promise<ToolOutcome> {
  if (!("call" in made)) return prepareAndExecute(made, ports);
  if (made.kind !== "ready") return made;
  const { call, definition } = made;
  // Checks the time before each call, because calls that block the thread let no timer fire.
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
  return executeToolCall(await prepareCall(call, ports), ports);
}

/** Returned instead of a tool's value if the tool is not the one that the model saw. */
const changed = Symbol("changed");

interface Dispatch {
  readonly ready: ReadyCall;
  readonly deadline: Deadline;
  readonly ports: ToolCallPorts;
  readonly execute: (() => unknown) | undefined;
}

function attempt({ ready, deadline, ports, execute }: Dispatch): unknown {
  if (execute !== undefined) return execute();
  // Nothing may come between this check and the call: the tool that runs must be the one that was approved or shown.
  if (ports.isCurrent?.(ready.definition) === false) return changed;
  return ports.registry.executeTool(ready.call.name, ready.args, ports.contextFor(ready.call, deadline));
}

/** Retries within the same deadline. The last failure is reported. */
async function attemptAgain(dispatch: Dispatch, maxAttempts: number): Promise<unknown> {
  const { deadline, ports } = dispatch;
  const isOver = (): boolean =>
    deadline.expired || ports.scope.cause !== undefined || ports.isCurrent?.(dispatch.ready.definition) === false;
  for (let count = 1; ; count += 1) {
    try {
      // Attempts that fail synchronously let no timer fire.
      ports.scope.checkDeadline(ports.clock.now());
      const output = await attempt(dispatch);
      if (output === changed || count === maxAttempts || isOver() || toOutcome(output).outcome.kind !== "failed") return output;
    } catch (error) {
      if (count === maxAttempts || isOver() || toFailure(error).fatal === true) throw error;
    }
  }
}

function conclude(dispatch: Dispatch, end: Raced<unknown>): ToolOutcome {
  const { ready, deadline, ports } = dispatch;
  const { call, approvedArgs } = ready;
  deadline.end();
  if (end.kind === "value" && end.value === changed) return refuseChanged(call, ports);
  const judged = judgeEnd(call, end, { deadline, ports });
  const problem = judged.kind === "deferred" ? findDeferralProblem(dispatch) : undefined;
  const ending: Conclusion = problem === undefined ? judged : { kind: "failed", error: toolFailure(problem) };
  return toOutcomeOf(call, ending, { durationMs: deadline.elapsedMs(), approvedArgs });
}

/** Returns why a call cannot wait for a result from outside. */
function findDeferralProblem({ ready: { definition }, ports, execute }: Dispatch): string | undefined {
  const { name } = definition;
  if (execute !== undefined) return `The agent tool ${quote(name)} cannot defer its result: return one from "toResult".`;
  if (definition.eager === true) return `The tool ${quote(name)} cannot defer its result: remove "eager" from it.`;
  if (ports.mayDefer !== false) return undefined;
  return `The tool ${quote(name)} cannot defer its result, because its run is inside the call of an ordinary tool: start the run with defineAgentTool.`;
}

/** Builds the outcome. A plain success is written out field by field, because a spread takes longer than the rest of a synchronous call. */
function toOutcomeOf(call: ToolCall, ending: Conclusion, facts: Pick<ToolOutcome, "durationMs" | "approvedArgs">): ToolOutcome {
  if (ending.kind !== "completed" || ending.release !== undefined || ending.restart !== undefined)
    return { ...ending, call, ...facts };
  const { kind, data, content, endTurn } = ending;
  return { kind, call, durationMs: facts.durationMs, approvedArgs: facts.approvedArgs, data, content, endTurn };
}

/** Checks for a stop first: the result of a stopped call is dropped, even if it is an error. */
function judgeEnd(call: ToolCall, end: Raced<unknown>, { deadline, ports }: Pick<Dispatch, "deadline" | "ports">): Conclusion {
  if (ports.scope.cause !== undefined) return { kind: "interrupted" };
  if (end.kind === "expired") return { kind: "timed-out", limitMs: end.limitMs };
  if (deadline.expired) return { kind: "timed-out", limitMs: deadline.limitMs };
  switch (end.kind) {
    case "value":
      return readOutput(call, end.value, ports);
    case "thrown":
      return toFailure(end.error);
    case "cancelled":
      return { kind: "interrupted" };
    default:
      return assertNever(end);
  }
}

/** Reads the value of a tool. If its own getters throw, the call has failed. */
function readOutput(call: ToolCall, value: unknown, ports: ToolCallPorts): Conclusion {
  try {
    const { outcome, metadata } = toOutcome(value);
    if (metadata !== undefined) ports.onMetadata?.(call, metadata);
    return outcome;
  } catch (error) {
    return { kind: "failed", error: toPlainError(error) };
  }
}

/** Adds the spending of runs inside the call, and the context that its result names. Synchronous for most outcomes, which need neither. */
export function finishCall(run: Run, outcome: ToolOutcome): ToolOutcome | Promise<ToolOutcome> {
  const nested = run.ports.takeNested(outcome.call.callId);
  const key = detectContextRestart(outcome, run.options.policies?.restarts)?.pendingContextKey;
  if (nested === undefined && key === undefined) return outcome;
  return addNested(outcome, nested).then((whole) => (key === undefined ? whole : withContext(run, whole, key)));
}

async function addNested(outcome: ToolOutcome, nested: readonly NestedRun[] | undefined): Promise<ToolOutcome> {
  return nested === undefined ? outcome : { ...outcome, nested: await endNested(nested, outcome.nested) };
}

/** A stash that fails counts as empty: the run goes on, and listeners get an error. */
async function withContext(run: Run, outcome: ToolOutcome, key: string): Promise<ToolOutcome> {
  const end = await askHook(() => stashOf(run).take(key), toItem, run);
  switch (end.kind) {
    case "value":
      return end.value === undefined || outcome.kind !== "completed" ? outcome : { ...outcome, pendingContext: end.value };
    case "cancelled": {
      // Without its context the call has not had its effect.
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
