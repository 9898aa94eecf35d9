// Runs one tool call: checks it, decides whether it may run, calls the tool, and turns its result or failure into an outcome.

import type { ToolDefinition } from "../types/tool.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { never } from "../../shared/signals.ts";
import { promiseOrValue } from "../../shared/promises.ts";
import { Deadline, type Raced, type DeadlinePorts } from "../../shared/cancellation/deadline.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { findTool } from "../tools/registry.ts";
import { isGenerator, toFailure, toolFailure, toOutcome } from "../../shared/to-outcome.ts";
import type { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import type { Clock, Timeouts, Json, Issue, Validation } from "../types/common.ts";
import type { ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { StreamResult } from "../types/provider.ts";
import type { JoinedRun } from "../types/middleware.ts";
import { quote } from "../../shared/texts.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { edges } from "../../shared/edges.ts";
import { toJson } from "../../shared/json.ts";

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

/** A call that may run, with the final arguments for its tool. */
export interface ReadyCall {
  readonly kind: "ready";
  readonly call: ToolCall;
  readonly definition: ToolDefinition;
  /** The arguments for the tool: the schema's output if they were validated. */
  readonly args: unknown;
  readonly approvedArgs?: Json | undefined;
  /** Runs the call in place of the tool. */
  readonly together?: JoinedRun | undefined;
}

/** Counts the advice given in the results of one message. Advice is limited, because a model may make thousands of mistakes. */
export interface Advice {
  given: number;
  listed: number;
}

/** The part of a run that is needed to check a call. */
export interface PreparePorts extends DeadlinePorts {
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** The tools that the model may call in this iteration. */
  readonly shown: ReadonlyMap<string, ToolDefinition>;
  /** The `toolChoice` that the loop enforces, because servers and models may ignore it. Default: any tool may run. */
  readonly toolChoice?: StreamResult["toolChoice"];
  /** Counts the advice given in the results of the same message. */
  readonly advice: Advice;
}

/** The part of a run that a tool call needs. */
export interface ToolCallPorts extends PreparePorts {
  /** The tool names that `gateTools` allows. Undefined if the gate is not active. */
  readonly allowed?: ReadonlySet<string> | undefined;
  /** Returns true if the registry still contains the tool that the model saw. Default: the registry is not checked. */
  isCurrent?(definition: ToolDefinition): boolean;
  /** False if the run cannot wait for a result from outside. Default true. */
  readonly mayDefer?: boolean | undefined;
  /** Creates the second argument of `execute`. The `signal` and the `heartbeat` of this context come from `deadline`. */
  contextFor(call: ToolCall, deadline: Deadline): ToolContext;
  /** Called with each value that a tool's generator yields, until the call is over. Must not throw. */
  onYield?(call: ToolCall, value: unknown): void;
  /** Called with a tool result's metadata, which only event listeners receive. */
  onMetadata?(call: ToolCall, metadata: unknown): void;
  /** Called when a call ends after the loop stopped waiting for it. */
  onLate?(call: ToolCall, success: boolean): void;
}

/** The maximum number of tool names in one result. */
export const maxListed = 50;

export function createAdvice(): Advice {
  return { given: 0, listed: 0 };
}

const maxAdvice = { given: 16, listed: 200 };

/** The maximum number of tool names that are compared with an unknown name to write a hint. */
const maxCompared = 20_000;

export function refuseBlocked(call: ToolCall, allowed: ReadonlySet<string>, ports: Pick<PreparePorts, "advice">): ToolOutcome {
  const { listed, ...rest } = listNames(allowed, ports);
  return { call, durationMs: 0, kind: "blocked", allowed: listed, ...rest };
}

/**
 * Prepares a call. Checks in this order: complete arguments, the names that `gateTools` allows, the existence of the tool,
 * `toolChoice`, the tool's schema.
 */
export function prepareCall(
  call: ToolCall,
  ports: PreparePorts,
  allowed?: ReadonlySet<string>,
): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { name, problem } = call;
  const refused = { call, durationMs: 0 };
  if (problem === "truncated") return { ...refused, kind: "truncated" };
  if (problem === "malformed") return { ...refused, kind: "malformed", message: parseErrorOf(call, ports) };
  if (allowed?.has(name) === false) return refuseBlocked(call, allowed, ports);
  const definition = ports.shown.get(name);
  if (definition === undefined) return refuseUnknown(call, ports);
  const chosen = ports.toolChoice === undefined ? undefined : namesOf(ports.toolChoice);
  if (chosen?.includes(name) === false) return { ...refused, kind: "blocked", allowed: chosen, by: "tool-choice" };
  const ready: ReadyCall = { kind: "ready", call, definition, args: toJson(call.args) };
  return validateCall(ready, ports);
}

/** Refuses a call to an unknown tool, and suggests tools that the model can see. The requested tool may have been removed. */
export function refuseUnknown(call: ToolCall, ports: PreparePorts): ToolOutcome {
  const { name } = call;
  const known = ports.shown.has(name) ? new Map([...ports.shown].filter(([other]) => other !== name)) : ports.shown;
  const nearest = findNearest(name, known, ports);
  const { listed, ...rest } = listNames(known, ports);
  return { call, durationMs: 0, kind: "unknown-tool", known: listed, nearest, ...rest };
}

function findNearest(name: string, known: PreparePorts["shown"], { advice }: Pick<PreparePorts, "advice">): string | undefined {
  if (advice.given >= maxAdvice.given || advice.given * known.size >= maxCompared) return undefined;
  advice.given += 1;
  return edges.nearestName?.(name, known.keys());
}

/** Lists a limited number of tool names, because otherwise each of 1,000 calls could list each of 1,000 tools. */
function listNames(
  names: ReadonlySet<string> | PreparePorts["shown"],
  { advice }: Pick<PreparePorts, "advice">,
): { readonly listed: readonly string[]; readonly more?: number } {
  const listed = advice.listed >= maxAdvice.listed ? [] : [...names.keys()].slice(0, maxListed);
  advice.listed += listed.length;
  return listed.length === names.size ? { listed } : { listed, more: names.size - listed.length };
}

function namesOf(choice: NonNullable<PreparePorts["toolChoice"]>): readonly string[] {
  return choice === "none" ? [] : [choice.name];
}

export function validateCall(ready: ReadyCall, ports: PreparePorts): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { registry } = ports;
  if (registry.validate === undefined) return ready;
  try {
    const validation = promiseOrValue(registry.validate(ready.call.name, ready.args));
    return validation instanceof Promise ? awaitValidation(ready, validation, ports) : judgeInput(ready, validation);
  } catch (error) {
    return refuseInput(ready, [{ message: toPlainError(error).message }]);
  }
}

async function awaitValidation(
  ready: ReadyCall,
  validation: PromiseLike<Validation>,
  ports: PreparePorts,
): Promise<ReadyCall | ToolOutcome> {
  const raced = await new Deadline({ limitMs: ports.timeouts.callbackMs }, ports).race(validation);
  if (raced.kind === "value") return judgeInput(ready, raced.value);
  // Lets a cancelled call continue, because the step that runs it detects and reports the cancellation.
  if (raced.kind === "cancelled") return ready;
  const message =
    raced.kind === "thrown" ? toPlainError(raced.error).message : `The validation took longer than ${raced.limitMs} ms.`;
  return refuseInput(ready, [{ message }]);
}

function judgeInput(ready: ReadyCall, validation: unknown): ReadyCall | ToolOutcome {
  const issues = readIssues(validation);
  if (issues !== undefined) return refuseInput(ready, issues);
  return { ...ready, args: (validation as UnknownRecord)["value"] };
}

/** Returns the issues from a validation, or undefined if it succeeded with a value. */
export function readIssues(validation: unknown): readonly Issue[] | undefined {
  const given: UnknownRecord = isRecord(validation) ? validation : {};
  if (Array.isArray(given["issues"])) return given["issues"] as readonly Issue[];
  return "value" in given ? undefined : [{ message: "The validation returned neither issues nor a value." }];
}

function refuseInput({ call, approvedArgs }: ReadyCall, issues: readonly Issue[]): ToolOutcome {
  return { call, durationMs: 0, approvedArgs, kind: "invalid-input", issues };
}

/** Returns the JSON parser's error message, or the limit that the arguments exceed. */
function parseErrorOf({ argsText = "" }: ToolCall, { advice }: PreparePorts): string | undefined {
  if (advice.given >= maxAdvice.given) return undefined;
  advice.given += 1;
  try {
    toJson(JSON.parse(argsText));
    return undefined;
  } catch (error) {
    return toPlainError(error).message;
  }
}

export function findDeferralProblem({ definition }: ReadyCall, ports: ToolCallPorts): string | undefined {
  const { name, eager } = definition;
  if (eager !== true && ports.mayDefer !== false) return undefined;
  const cause = eager === true ? "eager" : "nested";
  return edges.describeDeferral?.(cause, name) ?? `The tool ${quote(name)} cannot defer its result.`;
}
