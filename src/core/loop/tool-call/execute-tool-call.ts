// Runs one tool call: decides if it may run, calls the tool, and turns whatever happens into an outcome.

import { type ReadyCall, type ToolCallPorts, type BatchCall, eventBase, type NestedRun, readyOf, type Run } from "../run/run.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { findDeferralProblem, prepareCall, refuseUnknown, validateCall } from "./prepare-call.ts";
import { promiseOrValue, whenReady } from "../../utils/promises.ts";
import { sendToolEnd, sendToolStart } from "./call-ports.ts";
import { assertNever, isThenable } from "../../utils/guards.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { findTool } from "../../tools/registry.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import { isGenerator, toFailure, toolFailure, toOutcome } from "../../tools/to-outcome.ts";
import type { Json } from "../../types/common.ts";
import type { ContextSource } from "../../types/policies.ts";
import { toJson } from "../../utils/json.ts";
import { detectContextRestart } from "../restart/context-restart.ts";
import { askHook } from "../run/ask-hook.ts";
import { endNested } from "./tool-context.ts";
import { takeQuestion } from "../run/decisions.ts";

/**
 * The maximum number of repeated decisions about one call. Without this limit, a registry that changes its tool every time would
 * require decisions forever.
 */
const mostRounds = 3;

/**
 * Returns the decision that a call still needs: "first" if there was no decision, or "again" if the approved tool has changed.
 * Returns undefined if the call needs no decision.
 */
export function findNeededDecision(run: Run, one: BatchCall): BatchCall["mustAsk"] {
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

/** Runs one call and emits its events. A journal step calls this function, so a replayed call does not run again. */
export function performCall(run: Run, one: BatchCall): ToolOutcome | PromiseLike<ToolOutcome> {
  const { call } = one;
  const mustAsk = findNeededDecision(run, one);
  if (mustAsk !== undefined) return { call, durationMs: 0, kind: "not-run", mustAsk };
  const admitted = admitCall(run, one);
  // Set before the tool runs, because an engine may retry this step after the tool has run.
  one.mayHaveRun = true;
  const { ports } = run;
  const outcome = isThenable(admitted)
    ? admitted.then((fit) => executeToolCall(announce(run, fit), ports))
    : executeToolCall(announce(run, admitted), ports);
  return whenReady(outcome, (ended) =>
    whenReady(finishCall(run, ended), (whole) => {
      sendToolEnd(run, whole, true);
      return whole;
    }),
  );
}

/**
 * Checks a call directly before the call begins. Calls that start a nested run are checked too. Returns the call with valid
 * arguments, or the outcome of a call that must not run. Counts each call that begins now or may have begun in an earlier
 * execution. Limits that are shared with other runs are checked here, because the other runs may have used up a limit since the
 * call was prepared.
 */
export function admitCall(run: Run, one: BatchCall): ReadyCall | ToolOutcome | PromiseLike<ReadyCall | ToolOutcome> {
  const { ports } = run;
  const { call, mayHaveRun } = one;
  const ready = readyOf(one);
  const left = leftOf(one);
  run.scope.checkDeadline(run.clock.now());
  if (mustEnd(run) || one.isBarred) return left;
  if (ready.unfit !== undefined) return mayHaveRun ? left : ready.unfit;
  if (isLimited(run, one)) return { call, durationMs: 0, kind: "limit" };
  if (mayHaveRun && !mayRunAgain(ready.definition)) {
    countCall(run, one);
    return left;
  }
  if (one.mustAsk !== undefined) {
    return refuseChanged(call, ports);
  }
  return whenReady(ready.unvalidated === true ? validateCall(ready, ports) : ready, (checked) => {
    if (checked.kind !== "ready") return checked;
    // The validation may have taken a while.
    if (mustEnd(run)) return left;
    if (!ports.isCurrent(checked.definition)) return refuseChanged(call, ports);
    countCall(run, one);
    return checked;
  });
}

/** Sends the start of a call that runs now, or that an earlier execution started. */
function announce<Fit extends ReadyCall | ToolOutcome>(run: Run, fit: Fit): Fit {
  if (fit.kind === "ready" || wasDispatched(fit.kind)) sendToolStart(run, fit.call, true);
  return fit;
}

/**
 * Returns the outcome of a call that must not begin. "interrupted" means that the tool may have run, at least up to a question.
 */
function leftOf(one: BatchCall): ToolOutcome {
  return { call: one.call, durationMs: 0, kind: one.mayHaveRun || isAgain(one) ? "interrupted" : "not-run" };
}

/** True if the tool has run before: it stopped to ask a question, and the question was answered. */
function isAgain({ answers }: BatchCall): boolean {
  return answers.length > 0;
}

function isLimited({ meter }: Run, one: BatchCall): boolean {
  return !isAgain(one) && meter.toolCallsLeft < 1;
}

/** A call whose tool runs again after an answer was already counted. */
function countCall({ meter }: Run, one: BatchCall): void {
  if (!isAgain(one)) meter.add({ toolCalls: 1 });
}

/** Refuses a call whose tool is another one now, or was removed. */
export function refuseChanged(call: ToolCall, ports: ToolCallPorts): ToolOutcome {
  if (findTool(ports.registry, call.name) === undefined) return refuseUnknown(call, ports);
  const message =
    "the tool changed after this call was made, so the call was not run; check the current parameters of the tool before you call it again";
  return { call, durationMs: 0, kind: "invalid-input", issues: [{ message }] };
}

/**
 * Executes one call: prepares the call if needed, then runs its tool within its time limit and until the run is cancelled. Never
 * rejects: every failure is returned as an outcome. A call that was already refused keeps its outcome. A synchronous tool runs
 * without a timer.
 *
 * @example
 * const outcome = await executeToolCall({ callId: "1", name: "get_weather", args: { city: "Oslo" } }, ports);
 */
export function executeToolCall(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome>;
export function executeToolCall(call: ReadyCall | ToolOutcome, ports: ToolCallPorts): ToolOutcome | Promise<ToolOutcome>;
export function executeToolCall(
  made: ToolCall | ReadyCall | ToolOutcome,
  ports: ToolCallPorts,
): ToolOutcome | Promise<ToolOutcome> {
  if (!("call" in made)) return prepareAndExecute(made, ports);
  if (made.kind !== "ready") return made;
  const { call, definition, execute } = made;
  // Check the time before each call, because timers cannot fire while a tool blocks the thread.
  ports.scope.checkDeadline(ports.clock.now());
  const reserveInMs = execute === undefined ? ports.scope.reserveInMs(ports.clock.now()) : Number.POSITIVE_INFINITY;
  if (ports.scope.cause !== undefined || reserveInMs === 0) return { call, durationMs: 0, kind: "not-run" };
  const { timeouts } = ports;
  const limits = {
    // A tool that hangs must not use the time that is reserved for a final answer.
    limitMs: Math.min(definition.timeoutMs ?? timeouts.toolMs, Math.ceil(reserveInMs)),
    idleMs: definition.idleTimeoutMs,
    settleMs: timeouts.settleMs,
  };
  const deadline = new Deadline(limits, ports);
  const maxAttempts = maxAttemptsOf(definition);
  let output: unknown;
  try {
    output = promiseOrValue(maxAttempts > 1 ? attemptAgain(made, ports, deadline) : attempt(made, ports, deadline));
    output = readGenerator(made, output, { ports, deadline }) ?? output;
  } catch (error) {
    return conclude(made, { kind: "thrown", error }, { ports, deadline });
  }
  if (!(output instanceof Promise)) return conclude(made, { kind: "value", value: output }, { ports, deadline });
  const raced = deadline.race(
    output,
    (success) => ports.onLate?.(call, success),
    (value) => readGenerator(made, value, { ports, deadline }),
  );
  return raced.then((end) => conclude(made, end, { ports, deadline }));
}

/** True if no more calls may begin: the run was cancelled, or the rest of its time is reserved for a final answer. */
function mustEnd({ scope, clock }: Run): boolean {
  return scope.cause !== undefined || scope.reserveInMs(clock.now()) === 0;
}

async function prepareAndExecute(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome> {
  return executeToolCall(await prepareCall(call, ports), ports);
}

function maxAttemptsOf({ idempotent, retry }: ToolDefinition): number {
  return idempotent === true ? (retry?.maxAttempts ?? 1) : 1;
}

/** Returned instead of the tool's value if the tool has changed since the model saw it. */
const changed = Symbol("changed");

function attempt(ready: ReadyCall, ports: ToolCallPorts, deadline: Deadline): unknown {
  if (ready.execute !== undefined) return ready.execute();
  // Add no code between this check and the call: the tool that runs must be the tool that was approved or shown to the model.
  if (ports.isCurrent?.(ready.definition) === false) return changed;
  return ports.registry.executeTool(ready.call.name, ready.args, ports.contextFor(ready.call, deadline));
}

/** Returns undefined if the tool did not return a generator. */
function readGenerator({ call }: ReadyCall, output: unknown, { ports, deadline }: CallTimer): Promise<unknown> | undefined {
  if (!isGenerator(output)) return undefined;
  return deadline.read(output, (value) => ports.onYield?.(call, value));
}

/** All attempts share one deadline. The failure of the final attempt is reported. */
async function attemptAgain(ready: ReadyCall, ports: ToolCallPorts, deadline: Deadline): Promise<unknown> {
  const maxAttempts = maxAttemptsOf(ready.definition);
  const isOver = (): boolean =>
    ports.questionsIn?.(ready.call)?.open !== undefined ||
    deadline.expired ||
    ports.scope.cause !== undefined ||
    ports.isCurrent?.(ready.definition) === false;
  for (let count = 1; ; count += 1) {
    try {
      // Timers cannot fire between attempts that fail synchronously, so check the time here.
      ports.scope.checkDeadline(ports.clock.now());
      const answer = await attempt(ready, ports, deadline);
      const output = (await readGenerator(ready, answer, { ports, deadline })) ?? answer;
      if (output === changed || count === maxAttempts || isOver() || toOutcome(output).outcome.kind !== "failed") return output;
    } catch (error) {
      if (count === maxAttempts || isOver() || toFailure(error).fatal === true) throw error;
    }
  }
}

interface CallTimer {
  readonly ports: ToolCallPorts;
  readonly deadline: Deadline;
}

/** Drops the result of a cancelled call, even if the result is an error. */
function conclude(ready: ReadyCall, end: Raced<unknown>, { ports, deadline }: CallTimer): ToolOutcome {
  const { call, approvedArgs } = ready;
  deadline.end();
  const question = takeQuestion(ports.questionsIn?.(call));
  if (end.kind === "value" && end.value === changed) return refuseChanged(call, ports);
  const facts = { call, durationMs: deadline.elapsedMs(), approvedArgs };
  if (ports.scope.cause !== undefined) return { ...facts, kind: "interrupted" };
  // The question stays open even if the tool caught the rejection of `ask`, and then returned a value or took too long.
  if (question !== undefined) return readOutput(ready, question, { ports, facts });
  if (end.kind === "expired") return { ...facts, kind: "timed-out", limitMs: end.limitMs };
  if (deadline.expired) return { ...facts, kind: "timed-out", limitMs: deadline.limitMs };
  switch (end.kind) {
    case "value":
      return readOutput(ready, end.value, { ports, facts });
    case "thrown":
      return { ...facts, ...toFailure(end.error) };
    case "cancelled":
      return { ...facts, kind: "interrupted" };
    default:
      return assertNever(end);
  }
}

/** If a getter of the value throws an error, the call has failed. */
function readOutput(
  ready: ReadyCall,
  value: unknown,
  { ports, facts }: { readonly ports: ToolCallPorts; readonly facts: Pick<ToolOutcome, "call" | "durationMs" | "approvedArgs"> },
): ToolOutcome {
  try {
    const { outcome, metadata } = toOutcome(value);
    if (metadata !== undefined) ports.onMetadata?.(ready.call, metadata);
    const problem = outcome.kind === "deferred" ? findDeferralProblem(ready, ports, outcome.question) : undefined;
    if (problem !== undefined) return { ...facts, kind: "failed", error: toolFailure(problem) };
    // `facts` was made for this outcome. An object spread takes longer than the rest of a synchronous call.
    return Object.assign(facts, outcome);
  } catch (error) {
    return { ...facts, kind: "failed", error: toPlainError(error) };
  }
}

/** Adds the spending of nested runs, and the stash item that the result names. Returns synchronously if there is neither. */
export function finishCall(run: Run, outcome: ToolOutcome): ToolOutcome | Promise<ToolOutcome> {
  const nested = run.ports.takeNested(outcome.call.callId);
  const key = detectContextRestart(outcome, run.options.policies?.restarts)?.pendingContextKey;
  if (nested === undefined && key === undefined) return outcome;
  return addNested(outcome, nested).then((whole) => (key === undefined ? whole : withContext(run, whole, key)));
}

async function addNested(outcome: ToolOutcome, nested: readonly NestedRun[] | undefined): Promise<ToolOutcome> {
  return nested === undefined ? outcome : { ...outcome, nested: await endNested(nested, outcome.nested) };
}

/**
 * Adds the stash item to the outcome. If the stash fails, listeners get a `listener-error`, and the run continues without the
 * item.
 */
async function withContext(run: Run, outcome: ToolOutcome, key: string): Promise<ToolOutcome> {
  const end = await askHook(() => stashOf(run).take(key), toItem, run);
  switch (end.kind) {
    case "value":
      return end.value === undefined || outcome.kind !== "completed" ? outcome : { ...outcome, pendingContext: end.value };
    case "cancelled": {
      // The run ended before the stash item arrived, so this call cannot restart the context.
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
  if (stash === undefined)
    throw new Error('The tool result has a "pending_context_key", but "policies.restarts.stash" is not set.');
  return stash;
}

function toItem(value: unknown): Json | undefined {
  return value === undefined || value === null ? undefined : toJson(value);
}
