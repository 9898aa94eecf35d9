// Starts a run: checks what the caller handed in, and takes what the run needs until it is released.

import type { LoopEvent } from "../contract/loop-event.ts";
import type { LoopOptions, ToolRegistry } from "../contract/loop-options.ts";
import { LoopError } from "../errors/loop-error.ts";
import { memoryJournal } from "../journal/memory-journal.ts";
import { Alarm } from "../kit/alarm.ts";
import { systemClock } from "../kit/clock.ts";
import type { EventQueue } from "../kit/event-queue.ts";
import { describeValue } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { RunScope, type Cause } from "../kit/run-scope.ts";
import { toJson } from "../kit/to-json.ts";
import { checkMessages } from "../state/check-messages.ts";
import { createLoopState } from "../state/loop-state.ts";
import { createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import { CallPorts } from "./call-ports.ts";
import { checkOptions } from "./check-options.ts";
import { LoopEventSink } from "./emit.ts";
import { claimControl, type ClaimPorts, type ControlClaim } from "./loop-control.ts";
import { Meter } from "./meter.ts";
import type { Bounds } from "./next-step.ts";
import { findTimeoutProblem, resolveLimits, resolveTimeouts } from "./resolve-limits.ts";
import { noExposure, type Nesting, type Run } from "./run.ts";

/** Ids of the runs that are live in this process. */
const liveRunIds = new Set<string>();

/** What a run gets besides its options. */
export interface StartPorts {
  /** Runs the loop again, inside a call of the run. */
  readonly nest: Run["nest"];
  /** Where a reader waits for the events. */
  readonly queue?: EventQueue<LoopEvent> | undefined;
  /** The call that the run is in, if it is in one. */
  readonly nesting?: Nesting | undefined;
}

/** Checks the options and takes what the run needs. Throws LoopError, and then holds nothing. */
export function startRun(given: LoopOptions, { nest, queue, nesting }: StartPorts): Run {
  const options = snapshot(given);
  checkOptions(options);
  const limits = resolveLimits(options.limits);
  const depth = checkDepth(nesting, options.limits?.maxDepth ?? nesting?.run.maxDepth ?? limits.maxDepth);
  const { policies, hooks, clock = systemClock, session = {} } = options;
  const meter = new Meter(limits, nesting?.run.meter);
  const bounds: Bounds = {
    ...limits,
    finalAnswer: policies?.finalAnswer === true,
    asksIteration: hooks?.onIteration !== undefined,
    preToolText: policies?.preToolText,
    sharedToolCalls: meter.maxToolCalls,
  };
  const timeouts = resolveTimeouts(options.timeouts);
  const registry = toRegistry(options.tools);
  checkDefinitions(registry);
  const { messages, heldIds } = checkMessages(options.messages, options.repair === true);
  const contextItems = (options.contextItems ?? []).map(toJson);
  const state = createLoopState({ messages, heldIds, contextItems, priced: options.pricing !== undefined });
  const allowedNames = allowedBy(policies?.gate);
  const token = crypto.randomUUID();
  const runId = options.runId ?? `run_${token}`;
  const scope = new RunScope();
  const claims = claim({ options, runId, scope, nesting, maxInterrupts: limits.maxInterrupts });
  const alarm = new Alarm(clock);
  const outer = nesting === undefined ? undefined : { sink: nesting.run.events, callId: nesting.callId };
  const events = new LoopEventSink({ runId, emitter: options.events, queue, outer });
  const run: Omit<Run, "ports"> = {
    options,
    runId,
    token,
    registry,
    state,
    bounds,
    softWarnIteration: limits.softWarnIteration,
    toolConcurrency: limits.toolConcurrency,
    timeouts,
    clock,
    journal: options.journal ?? memoryJournal(),
    scope,
    events,
    alarm,
    control: claims.control,
    allowedNames,
    session,
    depth: depth.current,
    maxDepth: depth.limit,
    meter,
    nest,
    exposure: noExposure,
    replayed: false,
    openPass: undefined,
    digest: "",
    digestedMessages: 0,
    release: () => {
      claims.release();
      events.close();
      // Last, because a clock of the caller's own may throw.
      alarm.stop();
      scope.release();
    },
  };
  return withPorts(run);
}

/** A run inside a call is one deeper than the run around it, and may not allow more levels than that one. */
function checkDepth(nesting: Nesting | undefined, wanted: number): { readonly current: number; readonly limit: number } {
  const current = nesting === undefined ? 0 : nesting.run.depth + 1;
  const limit = Math.min(wanted, nesting?.run.maxDepth ?? wanted);
  if (current >= limit) throw new LoopError("depth-exceeded", { current, limit });
  return { current, limit };
}

/** What the caller changes later does not change the run: a policy that is taken out of its object still holds. */
function snapshot(given: LoopOptions): LoopOptions {
  if (!isRecord(given)) return given;
  const options = { ...given };
  return {
    ...options,
    ...(isRecord(options.policies) ? { policies: { ...options.policies } } : {}),
    ...(isRecord(options.hooks) ? { hooks: { ...options.hooks } } : {}),
  };
}

/** The ports look back at the run that they belong to. */
function withPorts(run: Omit<Run, "ports">): Run {
  const complete = run as Omit<Run, "ports"> & { ports: Run["ports"] };
  complete.ports = new CallPorts(complete);
  return complete;
}

/** A registry of the caller's own may hold two tools of one name, of which only one could be called, or limits that no timer takes. */
function checkDefinitions(registry: ToolRegistry): void {
  const seen = new Set<string>();
  for (const { name, timeoutMs, idleTimeoutMs } of registry.definitions()) {
    if (seen.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
    seen.add(name);
    checkToolTimeout(name, "timeoutMs", timeoutMs);
    checkToolTimeout(name, "idleTimeoutMs", idleTimeoutMs);
  }
}

function checkToolTimeout(toolName: string, trait: string, value: unknown): void {
  const problem = value === undefined ? undefined : findTimeoutProblem(value);
  if (problem === undefined) return;
  throw new LoopError("invalid-tool", {
    toolName,
    problem: `must have as "${trait}" ${problem}, but has ${describeValue(value)}`,
  });
}

function toRegistry(tools: LoopOptions["tools"] = []): ToolRegistry {
  if (isToolRegistry(tools)) return tools;
  return createToolRegistry(tools);
}

function allowedBy(gate: NonNullable<LoopOptions["policies"]>["gate"]): ReadonlySet<string> | undefined {
  if (gate?.active !== true || gate.allowedNames === undefined) return undefined;
  try {
    return new Set(gate.allowedNames);
  } catch (error) {
    const option = "policies.gate.allowedNames";
    const details = { option, expected: "an array or a set of tool names", received: "one that throws" };
    throw new LoopError("invalid-option", details, { cause: error });
  }
}

interface Claims {
  readonly control: ControlClaim | undefined;
  release(): void;
}

interface Claiming extends ClaimPorts {
  readonly options: LoopOptions;
  readonly runId: string;
  readonly nesting: Nesting | undefined;
}

/** Takes the run id and the control, both at once, and listens to the caller's signal. */
function claim({ options, runId, scope, nesting, maxInterrupts }: Claiming): Claims {
  if (liveRunIds.has(runId)) throw new LoopError("already-running", { what: "runId", runId });
  const control = options.control === undefined ? undefined : claimControl(options.control, { scope, maxInterrupts });
  liveRunIds.add(runId);
  const letGo = scope.follow(options.signal);
  const untie = nesting === undefined ? undefined : tie(scope, nesting);
  return {
    control,
    release: () => {
      liveRunIds.delete(runId);
      control?.release();
      letGo();
      untie?.();
    },
  };
}

/** A nested run ends as the run around it does, and when its call is given up. */
function tie(scope: RunScope, { run, signal }: Nesting): () => void {
  const outer = run.scope;
  const slot = { cancel: (cause: Cause): void => scope.cancel(cause) };
  outer.join(slot);
  if (outer.cause !== undefined) scope.cancel(outer.cause);
  // The call's signal fires on the run's own end too, and then that is the cause.
  const letGo =
    signal === undefined
      ? undefined
      : follow(signal, () => scope.cancel(outer.cause ?? { kind: "abort", reason: signal.reason }));
  return () => {
    outer.leave(slot);
    letGo?.();
  };
}

function follow(signal: AbortSignal, onAbort: () => void): () => void {
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort);
  return () => signal.removeEventListener("abort", onAbort);
}
