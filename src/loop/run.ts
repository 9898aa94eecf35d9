// Everything that one run holds, and the one place that takes and releases it.

import type { Clock, Timeouts } from "../contract/clock.ts";
import type { Journal } from "../contract/journal.ts";
import type { LoopEvent } from "../contract/loop-event.ts";
import type { LoopOptions } from "../contract/loop-options.ts";
import type { Session } from "../contract/session.ts";
import type { StreamResult } from "../contract/stream-result.ts";
import type { ToolDefinition, ToolRegistry } from "../contract/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { memoryJournal } from "../journal/memory-journal.ts";
import { Alarm } from "../kit/alarm.ts";
import { systemClock } from "../kit/clock.ts";
import type { EventQueue } from "../kit/event-queue.ts";
import { RunScope } from "../kit/run-scope.ts";
import { toJson } from "../kit/to-json.ts";
import { checkMessages } from "../state/check-messages.ts";
import { createLoopState, type LoopState } from "../state/loop-state.ts";
import { createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import { CallPorts } from "./call-ports.ts";
import { checkOptions, resolveLimits, resolveTimeouts } from "./check-options.ts";
import { LoopEventSink } from "./emit.ts";
import { claimControl, type ControlClaim } from "./loop-control.ts";
import type { Bounds } from "./next-step.ts";

/** One live run. */
export interface Run {
  readonly options: LoopOptions;
  readonly runId: string;
  /** Names this execution of the run: another one over the same journal has another token. */
  readonly token: string;
  readonly registry: ToolRegistry;
  readonly state: LoopState;
  readonly bounds: Bounds;
  readonly softWarnIteration: number;
  readonly toolConcurrency: number;
  readonly timeouts: Timeouts;
  readonly clock: Clock;
  readonly journal: Journal;
  readonly scope: RunScope;
  readonly events: LoopEventSink;
  /** The timer that the streams of the run share. */
  readonly alarm: Alarm;
  readonly control: ControlClaim | undefined;
  /** Names that the deliberate gate lets through, where it is active. */
  readonly allowedNames: ReadonlySet<string> | undefined;
  readonly session: Session;
  /** What the calls of the run see of it. */
  readonly ports: CallPorts;
  /** The tools that the model was shown last. */
  exposure: Exposure;
  /** Whether the last model step, or the last look at the inbox before an ending, was recalled from the journal. */
  replayed: boolean;
  /** The last stream, until listeners are told that its pass is over. */
  openPass: { readonly result: StreamResult; readonly hop: number } | undefined;
  /** Rolls over what has been sent, where the journal is durable. */
  digest: string;
  /** How many messages the digest covers. */
  digestedMessages: number;
  release(): void;
}

/** Tools by name, and the definitions that they were made from. */
export interface Exposure {
  readonly tools: readonly ToolDefinition[];
  readonly byName: ReadonlyMap<string, ToolDefinition>;
  readonly source: readonly ToolDefinition[];
  readonly hiddenCount: number;
}

/** No tools, made from nothing: never mistaken for what a registry says. */
export const noExposure: Exposure = { tools: [], byName: new Map(), source: [], hiddenCount: -1 };

/** Ids of the runs that are live in this process. */
const liveRunIds = new Set<string>();

/** Checks the options and takes what the run needs. Throws LoopError, and then holds nothing. */
export function startRun(options: LoopOptions, queue?: EventQueue<LoopEvent>): Run {
  checkOptions(options);
  const limits = resolveLimits(options.limits);
  const { policies, hooks, clock = systemClock, session = {} } = options;
  const bounds: Bounds = { ...limits, finalAnswer: policies?.finalAnswer === true, asksIteration: hooks?.onIteration !== undefined };
  const timeouts = resolveTimeouts(options.timeouts);
  const registry = toRegistry(options.tools);
  registry.definitions();
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
      alarm.stop();
      scope.release();
      claims.release();
      events.close();
    },
  };
  return withPorts(run);
}

/** The ports look back at the run that they belong to. */
function withPorts(run: Omit<Run, "ports"> & { ports?: CallPorts }): Run {
  const complete = run as Run & { ports: CallPorts };
  complete.ports = new CallPorts(complete);
  return complete;
}

function toRegistry(tools: LoopOptions["tools"] = []): ToolRegistry {
  if (isToolRegistry(tools)) return tools;
  return createToolRegistry(tools);
}

function allowedBy(gate: NonNullable<LoopOptions["policies"]>["gate"]): ReadonlySet<string> | undefined {
  return gate?.active === true && gate.allowedNames !== undefined ? new Set(gate.allowedNames) : undefined;
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
  const { signal } = options;
  const abort = (): void => scope.cancel({ kind: "abort", reason: signal?.reason });
  if (signal?.aborted === true) abort();
  else signal?.addEventListener("abort", abort);
  return {
    control,
    release: () => {
      liveRunIds.delete(runId);
      control?.release();
      signal?.removeEventListener("abort", abort);
    },
  };
}
