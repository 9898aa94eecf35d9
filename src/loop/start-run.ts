// Starts a run: checks what the caller handed in, and takes what the run needs until it is released.

import type { LoopEvent } from "../contract/loop-event.ts";
import type { LoopOptions } from "../contract/loop-options.ts";
import type { ToolRegistry } from "../contract/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { memoryJournal } from "../journal/memory-journal.ts";
import { Alarm } from "../kit/alarm.ts";
import { systemClock } from "../kit/clock.ts";
import type { EventQueue } from "../kit/event-queue.ts";
import { describeValue } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { RunScope } from "../kit/run-scope.ts";
import { toJson } from "../kit/to-json.ts";
import { checkMessages } from "../state/check-messages.ts";
import { createLoopState } from "../state/loop-state.ts";
import { createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import { CallPorts } from "./call-ports.ts";
import { checkOptions, findTimeoutProblem, resolveLimits, resolveTimeouts } from "./check-options.ts";
import { LoopEventSink } from "./emit.ts";
import { claimControl, type ControlClaim } from "./loop-control.ts";
import type { Bounds } from "./next-step.ts";
import { noExposure, type Run } from "./run.ts";

/** Ids of the runs that are live in this process. */
const liveRunIds = new Set<string>();

/** Checks the options and takes what the run needs. Throws LoopError, and then holds nothing. */
export function startRun(given: LoopOptions, queue?: EventQueue<LoopEvent>): Run {
  const options = snapshot(given);
  checkOptions(options);
  const limits = resolveLimits(options.limits);
  const { policies, hooks, clock = systemClock, session = {} } = options;
  const bounds: Bounds = {
    ...limits,
    finalAnswer: policies?.finalAnswer === true,
    asksIteration: hooks?.onIteration !== undefined,
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
  const claims = claim({ options, runId, scope });
  const alarm = new Alarm(clock);
  const events = new LoopEventSink({ runId, emitter: options.events, queue });
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

/** Takes the run id and the control, both at once, and listens to the caller's signal. */
function claim({ options, runId, scope }: { options: LoopOptions; runId: string; scope: RunScope }): Claims {
  if (liveRunIds.has(runId)) throw new LoopError("already-running", { what: "runId", runId });
  const control = options.control === undefined ? undefined : claimControl(options.control, scope);
  liveRunIds.add(runId);
  const letGo = scope.follow(options.signal);
  return {
    control,
    release: () => {
      liveRunIds.delete(runId);
      control?.release();
      letGo();
    },
  };
}
