// Starts a run: checks what the caller handed in, and takes what the run needs until it is released.

import type { LoopEvent } from "../contract/loop-event.ts";
import type { LoopOptions, ToolRegistry } from "../contract/loop-options.ts";
import type { LoopDetection, PreToolTextPolicy } from "../contract/policies.ts";
import { LoopError } from "../errors/loop-error.ts";
import { memoryJournal } from "../journal/memory-journal.ts";
import { Alarm } from "../kit/alarm.ts";
import { systemClock } from "../kit/clock.ts";
import type { EventQueue } from "../kit/event-queue.ts";
import { isRecord } from "../kit/is-record.ts";
import { RunScope } from "../kit/run-scope.ts";
import { toJson } from "../kit/to-json.ts";
import { MaskedView } from "../policies/observation-masking.ts";
import type { LoopRule } from "../policies/loop-detection.ts";
import { toWantedOutput } from "../policies/structured-output.ts";
import { checkMessages } from "../state/check-messages.ts";
import { createLoopState, type LoopState } from "../state/loop-state.ts";
import { createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import { CallPorts } from "./call-ports.ts";
import { checkOptions } from "./check-options.ts";
import { claimRun } from "./claim-run.ts";
import { Decisions } from "./decisions.ts";
import { LoopEventSink } from "./emit.ts";
import { checkDefinitions } from "./exposure.ts";
import { Meter } from "./meter.ts";
import type { Bounds } from "./next-step.ts";
import { type ResolvedLimits, resolveLimits, resolveTimeouts } from "./resolve-limits.ts";
import { noExposure, type Nesting, type Run } from "./run.ts";

/** How often an answer that does not fit is asked for again. */
const mostRetries = 2;

/** What a run gets besides its options. */
export interface StartPorts {
  /** Runs the loop again, inside a call of the run. */
  readonly nest: Run["nest"];
  /** Where a reader waits for the events. */
  readonly queue?: EventQueue<LoopEvent> | undefined;
  /** The call that the run is in, if it is in one. */
  readonly nesting?: Nesting | undefined;
  /** Rounds of tools, where something other than passes is counted. Default none. */
  readonly maxToolRounds?: number | undefined;
}

/** Checks the options and takes what the run needs. Throws LoopError, and then holds nothing. */
export function startRun(given: LoopOptions, { nest, queue, nesting, maxToolRounds }: StartPorts): Run {
  const options = snapshot(given);
  checkOptions(options);
  const settings = settle(options, { nesting, maxToolRounds });
  const { runId, maxInterrupts, clock } = settings;
  const scope = new RunScope(nesting?.run.scope);
  const claims = claimRun({ options, runId, scope, nesting, maxInterrupts });
  const alarm = new Alarm(clock);
  const outer = nesting === undefined ? undefined : { sink: nesting.run.events, callId: nesting.callId };
  const events = new LoopEventSink({ runId, emitter: options.events, queue, outer });
  // Added to what is there: V8 takes 30 us to spread an object of so many fields into a new one.
  const run = Object.assign(settings, {
    options,
    scope,
    events,
    alarm,
    control: claims.control,
    nest,
    outer: nesting?.run,
    view: createView(options),
    parking: undefined,
    failure: undefined,
    replayed: false,
    openPass: undefined,
    release: () => {
      events.close();
      claims.release();
      // Last, because a clock of the caller's own may throw.
      alarm.stop();
      scope.release();
    },
  });
  return withPorts(run);
}

/** What a run goes by, with defaults for what was not said. Holds nothing that would have to be released. */
function settle(options: LoopOptions, { nesting, maxToolRounds }: Pick<StartPorts, "nesting" | "maxToolRounds">) {
  const limits = resolveLimits(options.limits);
  const { softWarnIteration, toolConcurrency, maxInterrupts } = limits;
  const { clock = systemClock, session = {}, journal = memoryJournal() } = options;
  const { depth, maxDepth } = findLevel(limits.maxDepth, options, nesting?.run);
  const meter = new Meter(limits, nesting?.run.meter);
  const registry = toRegistry(options.tools);
  const definitions = registry.definitions();
  checkDefinitions(definitions);
  const token = crypto.randomUUID();
  const isPart = nesting?.isPart === true;
  // What the caller changes later in lists and objects of the policies does not change the run.
  const { gate, stopWhen = [], output } = options.policies ?? {};
  return {
    runId: options.runId ?? `run_${token}`,
    token,
    registry,
    exposure: { ...noExposure, source: definitions },
    state: createState(options),
    bounds: toBounds(options, limits, { meter, maxToolRounds }),
    softWarnIteration,
    toolConcurrency,
    maxInterrupts,
    timeouts: resolveTimeouts(options.timeouts),
    clock,
    journal,
    session,
    depth,
    maxDepth,
    meter,
    isPart,
    park: nesting?.park,
    decisions: toDecisions(options, nesting),
    allowedNames: allowedBy(gate),
    stopConditions: [stopWhen].flat(),
    output: output === undefined ? undefined : toWantedOutput(output),
  };
}

/** A run whose steps are in the journal of the one around it takes its decisions from there. */
function toDecisions({ decisions }: LoopOptions, nesting: Nesting | undefined): Decisions {
  const outer = nesting?.isPart === true ? { decisions: nesting.run.decisions, callId: nesting.callId } : undefined;
  return new Decisions(decisions, outer);
}

/** A run inside a call is one deeper than the run around it, and may not allow more levels than that one. */
function findLevel(own: number, { limits }: LoopOptions, outer: Run | undefined): Pick<Run, "depth" | "maxDepth"> {
  if (outer === undefined) return { depth: 0, maxDepth: own };
  const maxDepth = Math.min(limits?.maxDepth ?? outer.maxDepth, outer.maxDepth);
  const depth = outer.depth + 1;
  if (depth >= maxDepth) throw new LoopError("depth-exceeded", { current: depth, limit: maxDepth });
  return { depth, maxDepth };
}

interface Bounding {
  readonly meter: Meter;
  readonly maxToolRounds: number | undefined;
}

function toBounds({ policies, hooks }: LoopOptions, limits: ResolvedLimits, { meter, maxToolRounds }: Bounding): Bounds {
  return {
    ...limits,
    finalAnswer: policies?.finalAnswer === true,
    asksIteration: hooks?.onIteration !== undefined,
    preToolText: copyPolicy(policies?.preToolText),
    loopRule: toLoopRule(policies?.loopDetection),
    outputRetries: policies?.output === undefined ? undefined : (policies.output.maxRetries ?? mostRetries),
    maxToolCalls: meter.maxToolCalls,
    maxToolRounds,
  };
}

function toLoopRule(policy: LoopDetection | undefined): LoopRule | undefined {
  return policy === undefined ? undefined : { threshold: policy.threshold ?? 3, action: policy.action ?? "warn" };
}

function createView({ policies }: LoopOptions): MaskedView | undefined {
  if (policies?.masking === undefined) return undefined;
  const { keepIterations = 2, minTokens = 500, batchOf = 1 } = policies.masking;
  return new MaskedView({ keepIterations, minTokens, batchOf });
}

/** What is changed later, in a list that was handed in, does not change the run. */
function copyPolicy({ endAfterTextFamilies, suppressFollowUpAfterText }: PreToolTextPolicy = {}): PreToolTextPolicy {
  return {
    endAfterTextFamilies: endAfterTextFamilies?.slice(),
    suppressFollowUpAfterText: suppressFollowUpAfterText?.slice(),
  };
}

function createState(options: LoopOptions): LoopState {
  const { messages, heldIds } = checkMessages(options.messages, options.repair === true);
  const contextItems = (options.contextItems ?? []).map(toJson);
  const { loopDetection } = options.policies ?? {};
  const { maxCycle = 4, compareResults = false } = loopDetection ?? {};
  const repetition = loopDetection === undefined ? undefined : { maxCycle, compareResults };
  return createLoopState({ messages, heldIds, contextItems, priced: options.pricing !== undefined, repetition });
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
