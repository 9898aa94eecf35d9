// Runs one tool call: decides whether it may run, calls the tool, and turns its result or failure into an outcome.

import type { PreparePorts, ReadyCall, ToolCallPorts } from "./ports.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { findDeferralProblem, prepareCall, refuseUnknown } from "./prepare-call.ts";
import { never } from "../../shared/signals.ts";
import { promiseOrValue } from "../../shared/promises.ts";
import { Deadline, type Raced } from "../../shared/cancellation/deadline.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { findTool } from "../tools/registry.ts";
import { isGenerator, toFailure, toolFailure, toOutcome } from "../../shared/to-outcome.ts";

/** Returns an outcome that refuses a call whose tool was replaced or removed. */
export function refuseChanged(call: ToolCall, ports: PreparePorts): ToolOutcome {
  if (findTool(ports.registry, call.name) === undefined) return refuseUnknown(call, ports);
  const message =
    "the tool changed after this call was made, so the call was not run; check the current parameters of the tool before you call it again";
  return { call, durationMs: 0, kind: "invalid-input", issues: [{ message }] };
}

/**
 * Executes one call: prepares it if needed, then runs its tool until it ends, its time limit expires or the run is cancelled. Never
 * rejects: every failure becomes an outcome. A call that was already refused keeps its outcome. A synchronous tool runs
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
  const { call, definition } = made;
  // A synchronous tool blocks all timers, so the deadline is checked before each call as well.
  ports.scope.checkDeadline(ports.clock.now());
  const reserveInMs = ports.scope.leftMs(ports.clock.now(), true);
  if (ports.scope.cause !== undefined || reserveInMs === 0) return { call, durationMs: 0, kind: "not-run" };
  const { timeouts } = ports;
  // A durable tool may wait for days, so `toolMs` does not apply to it. Only a `timeoutMs` set on the tool does.
  const ownMs = definition.timeoutMs ?? (definition.durable === true ? never : timeouts.toolMs);
  const limits = {
    // Leaves out the time reserved for a final answer, so that a hanging tool cannot use it up.
    limitMs: Math.min(ownMs, Math.ceil(reserveInMs)),
    idleMs: definition.idleTimeoutMs,
    toolCleanupMs: timeouts.toolCleanupMs,
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
  return raceOutput(made, output, { ports, deadline });
}

async function raceOutput(ready: ReadyCall, output: Promise<unknown>, { ports, deadline }: CallTimer): Promise<ToolOutcome> {
  const onLate = (success: boolean): void => ports.onLate?.(ready.call, success);
  let end: Raced<unknown> = await deadline.race(output, onLate);
  // Reads the generator if an asynchronous tool has returned one.
  const read = end.kind === "value" ? readGenerator(ready, end.value, { ports, deadline }) : undefined;
  if (read !== undefined) end = await deadline.race(read, onLate);
  return conclude(ready, end, { ports, deadline });
}

async function prepareAndExecute(call: ToolCall, ports: ToolCallPorts): Promise<ToolOutcome> {
  return executeToolCall(await prepareCall(call, ports, ports.allowed), ports);
}

function maxAttemptsOf({ idempotent, retry }: ToolDefinition): number {
  return idempotent === true ? (retry?.maxAttempts ?? 1) : 1;
}

/** Marks a call whose tool has changed since the model saw it. */
const changed = Symbol("changed");

function attempt(ready: ReadyCall, ports: ToolCallPorts, deadline: Deadline): unknown {
  // Add no code between this check and the call. Otherwise, a tool other than the approved one could run.
  if (ports.isCurrent?.(ready.definition) === false) return changed;
  const { call, args, together } = ready;
  const context = ports.contextFor(call, deadline);
  return together === undefined ? ports.registry.executeTool(call.name, args, context) : together.run(args, context);
}

/** Reads the generator that a tool returned. Returns undefined for any other output. */
function readGenerator({ call }: ReadyCall, output: unknown, { ports, deadline }: CallTimer): Promise<unknown> | undefined {
  if (!isGenerator(output)) return undefined;
  return deadline.read(output, (value) => ports.onYield?.(call, value));
}

/** Retries a failed call. All attempts share one deadline, and only the last attempt's failure is reported. */
async function attemptAgain(ready: ReadyCall, ports: ToolCallPorts, deadline: Deadline): Promise<unknown> {
  const maxAttempts = maxAttemptsOf(ready.definition);
  const isOver = (): boolean =>
    deadline.expired || ports.scope.cause !== undefined || ports.isCurrent?.(ready.definition) === false;
  for (let count = 1; ; count += 1) {
    try {
      // Timers cannot fire between attempts that fail synchronously, so the deadline is checked here too.
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

/** Creates the outcome from the way a tool ended. Drops a cancelled call's result, even if it is an error. */
function conclude(ready: ReadyCall, end: Raced<unknown>, { ports, deadline }: CallTimer): ToolOutcome {
  const { call, approvedArgs } = ready;
  const durationMs = deadline.end();
  if (end.kind === "value" && end.value === changed) return refuseChanged(call, ports);
  const facts = { call, durationMs, approvedArgs };
  if (ports.scope.cause !== undefined || end.kind === "cancelled") return { ...facts, kind: "interrupted" };
  if (end.kind === "expired" || deadline.expired)
    return { ...facts, kind: "timed-out", limitMs: end.kind === "expired" ? end.limitMs : deadline.limits.limitMs };
  return end.kind === "value" ? readOutput(ready, end.value, { ports, facts }) : { ...facts, ...toFailure(end.error) };
}

/** Reads a tool's value. If a getter in the value throws, the call has failed. */
function readOutput(
  ready: ReadyCall,
  value: unknown,
  { ports, facts }: { readonly ports: ToolCallPorts; readonly facts: Pick<ToolOutcome, "call" | "durationMs" | "approvedArgs"> },
): ToolOutcome {
  try {
    const { outcome, metadata } = toOutcome(value);
    if (metadata !== undefined) ports.onMetadata?.(ready.call, metadata);
    const problem = outcome.kind === "deferred" ? findDeferralProblem(ready, ports) : undefined;
    if (problem !== undefined) return { ...facts, kind: "failed", error: toolFailure(problem) };
    // Adds to `facts` instead of copying it, because a spread would take longer than the rest of a synchronous call.
    return Object.assign(facts, outcome);
  } catch (error) {
    return { ...facts, kind: "failed", error: toPlainError(error) };
  }
}
