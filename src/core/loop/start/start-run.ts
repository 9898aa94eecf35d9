// Makes a run from the options of the caller. Everything that can be refused is refused here, before the first step.

import type { LoopEvent } from "../../types/loop-event.ts";
import type { LoopOptions, ToolRegistry } from "../../types/loop-options.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { memoryJournal } from "../../journal/memory-journal.ts";
import { IdleTimer, systemClock } from "../../cancellation/signals.ts";
import type { EventQueue } from "../../utils/event-queue.ts";
import { freezeDeep, toJson } from "../../utils/json.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { checkMessages } from "../state/check-messages.ts";
import { findLoadedTools } from "../../middleware/deferred-tools.ts";
import { createLoopState, type LoopState } from "../state/loop-state.ts";
import { readRegistry } from "../../tools/read-registry.ts";
import { checkDefinitions, createToolRegistry, isToolRegistry } from "../../tools/registry.ts";
import { CallPorts } from "../tool-call/call-ports.ts";
import { checkOptions } from "./check-options.ts";
import { claimRun } from "./record-run.ts";
import { Decisions } from "../run/decisions.ts";
import { type Features, readFeatures, type Nesting, type Run } from "../run/run.ts";
import { JournalTraffic } from "../run/journal-call.ts";
import { LoopEventSink } from "../run/emit.ts";
import { findOuterLevel, type Level, Meter } from "../run/meter.ts";
import { allowedBy, resolveLimits, resolveReserve, resolveTimeouts, toBounds } from "../run/limits.ts";
import { noVisibleToolsOf } from "../stream/visible-tools.ts";
import type { DeliberateGate, LoopPolicies } from "../../types/policies.ts";
import type { Session } from "../../types/common.ts";
import { wrapTools } from "../../tools/wave.ts";

export interface StartPorts {
  readonly nest: Run["nest"];
  readonly queue?: EventQueue<LoopEvent> | undefined;
  readonly nesting?: Nesting | undefined;
}

/** Checks the options and reserves the resources of the run. If `startRun` throws a LoopError, nothing stays reserved. */
export function startRun(given: LoopOptions, { nest, queue, nesting }: StartPorts): Run {
  checkOptions(given);
  const options = copyOptions(given);
  const settings = settle(options, nesting);
  const { runId, clock } = settings;
  const scope = new CancelScope(nesting?.run.scope, settings.bounds.reserve?.ms);
  const claims = claimRun({ options, runId, scope, nesting, maxInterrupts: settings.bounds.maxInterrupts });
  const alarm = new IdleTimer(clock);
  const outer = nesting === undefined ? undefined : { sink: nesting.run.events, callId: nesting.callId, tap: nesting.tap };
  const events = new LoopEventSink({ runId, emitter: options.events, queue, outer });
  const sharingRuns = new Set<Run>();
  const around = nesting?.sharesJournal === true ? nesting.run.sharingRuns : undefined;
  let isHeld = true;
  // Adds fields to the existing object, because V8 takes 30 us to spread an object with this many fields.
  const fields = Object.assign(settings, {
    options,
    scope,
    events,
    alarm,
    control: claims.control,
    nest,
    outer: nesting?.run,
    path: nesting === undefined ? "" : `${nesting.run.path}${nesting.callId}/`,
    view: settings.features.masking?.createView(),
    cacheWatcher: settings.features.promptCache?.createWatcher(),
    toldChanges: new Set<string>(),
    guard: undefined,
    parking: undefined,
    sharingRuns,
    awaitsTurn: nesting?.awaitsTurn === true,
    turn: undefined,
    failure: undefined,
    toolChoice: undefined,
    isIterationReplayed: false,
    replayPhase: "none" as const,
    prepared: undefined,
    openIteration: undefined,
    requestViews: undefined,
    release: (): void => {
      if (!isHeld) return;
      isHeld = false;
      for (const nested of sharingRuns) nested.release();
      around?.delete(run);
      events.close();
      run.meter.settle();
      claims.release();
      // Stops the timers last, because the caller's clock may throw. By then, everything else has been released.
      alarm.stop();
      scope.release();
    },
  });
  const run = withPorts(fields);
  around?.add(run);
  return run;
}

function settle(options: LoopOptions, nesting: Nesting | undefined) {
  const limits = resolveLimits(options.limits);
  const { clock = systemClock, journal = memoryJournal() } = options;
  const { depth, maxDepth } = findLevel(limits.maxDepth, options, nesting?.run);
  const reserve = resolveReserve(options.policies, limits);
  const meter = new Meter(limits, nesting?.run.meter, reserve);
  const registry = wrapTools(options.provider, toRegistry(options.tools));
  const definitions = registry.definitions();
  checkDefinitions(definitions);
  const token = createToken();
  const sharesJournal = nesting?.sharesJournal === true;
  const { gate, stopWhen = [] } = options.policies ?? {};
  const features = readFeatures(options.policies);
  return {
    runId: options.runId ?? `run_${token}`,
    token,
    registry,
    visibleTools: noVisibleToolsOf(definitions),
    firstTools: undefined,
    codeVersion: undefined,
    state: createState(options, features),
    bounds: toBounds(options, limits, {
      // The lowest limit of this run and its outer runs.
      maxToolCalls: meter.maxToolCalls,
      loopRule: features.loopDetection,
      outputRetries: features.output?.maxRetries,
      maxHandoffs: features.handoffs?.maxHandoffs,
      reserve,
    }),
    timeouts: resolveTimeouts(options.timeouts),
    clock,
    journal,
    traffic: trafficOf(options, nesting),
    session: readSession(options.session),
    depth,
    maxDepth,
    meter,
    sharesJournal,
    park: nesting?.park,
    decisions: toDecisions(options, nesting),
    allowedNames: allowedBy(gate),
    stopConditions: [stopWhen].flat(),
    features,
  };
}

/**
 * Returns 36 random characters, which are unique but not secret. Does not use `crypto`, because its first use in a process takes
 * 4 to 9 ms, a third of the time of a first run.
 */
function createToken(): string {
  const digits = (): string => Math.random().toString(36).slice(2, 14).padEnd(12, "0");
  return digits() + digits() + digits();
}

function trafficOf({ journal }: LoopOptions, nesting: Nesting | undefined): JournalTraffic {
  return nesting?.sharesJournal === true
    ? nesting.run.traffic
    : new JournalTraffic(journal === undefined, journal?.wait !== undefined);
}

function toDecisions({ decisions }: LoopOptions, nesting: Nesting | undefined): Decisions {
  const outer = nesting?.sharesJournal === true ? { decisions: nesting.run.decisions, callId: nesting.callId } : undefined;
  return new Decisions(decisions, outer);
}

/** A nested run is one level deeper than its outer run, and cannot raise `maxDepth`. */
function findLevel(own: number, options: LoopOptions, run: Run | undefined): Level {
  const outer = run ?? findOuterLevel(options);
  if (outer === undefined) return { depth: 0, maxDepth: own };
  const maxDepth = Math.min(options.limits?.maxDepth ?? outer.maxDepth, outer.maxDepth);
  const depth = outer.depth + 1;
  if (depth >= maxDepth) throw new LoopError("depth-exceeded", { current: depth, limit: maxDepth });
  return { depth, maxDepth };
}

function createState(options: LoopOptions, features: Features): LoopState {
  const { messages, heldIds } = checkMessages(options.messages, options.repair === true);
  const contextItems = (options.contextItems ?? []).map((item) => freezeDeep(toJson(item)));
  const repetition = features.loopDetection?.begin();
  const compaction = features.compaction?.earlierOf(messages);
  const priced = options.pricing !== undefined;
  const loadedTools = findLoadedTools(messages);
  const { start: agent, startsAfter: agentSince, handOver } = features.handoffs ?? {};
  return createLoopState({
    messages,
    heldIds,
    loadedTools,
    contextItems,
    priced,
    repetition,
    compaction,
    agent,
    agentSince,
    handOver,
  });
}

/** Adds `ports`, which refer to the complete run. */
function withPorts(run: Omit<Run, "ports">): Run {
  const complete = run as Omit<Run, "ports"> & { ports: Run["ports"] };
  complete.ports = new CallPorts(complete);
  return complete;
}

function toRegistry(tools: LoopOptions["tools"] = []): ToolRegistry {
  if (isToolRegistry(tools)) return readRegistry(tools);
  return createToolRegistry(tools);
}

/** Copies options that the run reads later, so that changes by the caller do not affect the run. */
function copyOptions(given: LoopOptions): LoopOptions {
  const { timeouts, hooks, modelSettings, toolChoice, decisions, policies } = given;
  return {
    ...given,
    timeouts: { ...timeouts },
    hooks: { ...hooks },
    modelSettings: copyData(modelSettings),
    toolChoice: copyData(toolChoice),
    decisions: copyData(decisions),
    policies: copyPolicies(policies),
  };
}

/** Copies the session fields that the loop uses. Tools and approvals get the original object of the caller. */
function readSession({ surfaceUserErrors, detailsLabel, responseTarget }: Session = {}): Session {
  const { kind, name } = responseTarget ?? {};
  return { surfaceUserErrors, detailsLabel, responseTarget: kind === undefined ? undefined : { kind, name } };
}

function copyData<T>(data: T | undefined): T | undefined {
  return data === undefined ? undefined : (freezeDeep(toJson(data)) as T);
}

function copyPolicies(policies: LoopPolicies = {}): LoopPolicies {
  const { gate, restarts, stopWhen = [], approve } = policies;
  return {
    ...policies,
    approve: readFeatures(policies).guardrails?.around(approve) ?? approve,
    gate: gate && copyGate(gate),
    restarts: restarts && { effects: copyData(restarts.effects), stash: restarts.stash },
    stopWhen: [stopWhen].flat(),
  };
}

function copyGate(gate: DeliberateGate): DeliberateGate {
  const { active, allowedNames, triggerMatchByToolName: triggers, retain } = gate;
  return {
    active,
    allowedNames,
    triggerMatchByToolName: triggers instanceof Map ? new Map(triggers) : triggers,
    ...(retain === undefined ? {} : { retain: retain.bind(gate) }),
  };
}
