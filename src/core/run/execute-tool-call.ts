// One tool call: checked against the gate, passed through the middleware, and run once.

import type { CallEvent } from "../types/loop-event.ts";
import type { ToolContext } from "../types/loop-options.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { CancelScope } from "../cancellation/cancel-scope.ts";
import { executeToolCall } from "../loop/tool-call/execute-tool-call.ts";
import { refuseUnknown, validateCall } from "../loop/tool-call/prepare-call.ts";
import type { ReadyCall, ToolCallPorts } from "../loop/run/call.ts";
import { renderOutcome, wasDispatched } from "../tools/outcome-texts.ts";
import { findTool } from "../tools/registry.ts";
import { concludeOutside, toPreliminary } from "../tools/to-outcome.ts";
import { freezeDeep, isSameJson, toJson } from "../utils/json.ts";
import type { OutsideResult } from "../types/policies.ts";
import { chainHooks, HookError, inHook, StepCancelled } from "./hooks.ts";
import { ReplayJournal } from "./journals.ts";
import { Activity, StepRecorder, sumOf } from "./recorder.ts";
import type { Run } from "./run.ts";
import type { Next, Outcome } from "./seam.ts";
import { CallContext } from "./tool-context.ts";

/** Runs one call. Rejects only if the journal fails. A call that waits stays pending: see `Activity.settle`. */
export async function performCall(activity: Activity, call: ToolCall): Promise<Outcome> {
  const { run } = activity;
  const last: Next<ToolCall, Outcome> = (given, signal) => runCall(activity, { made: call, given }, signal);
  const chain = chainHooks(
    run.hooks,
    ({ name, call: hook }) => {
      if (hook === undefined) return undefined;
      const recorder = new StepRecorder(activity, `@${name}`, call.callId);
      return (given, next) => inHook(name, "call", () => hook(given, next, recorder));
    },
    last,
  );
  const isReplayed = run.isReplayed;
  let outcome: Outcome;
  try {
    outcome = await chain(call);
  } catch (error) {
    if (error instanceof StepCancelled) outcome = { call, durationMs: 0, kind: "not-run" };
    else if (!(error instanceof HookError)) throw error;
    else
      outcome = { call, durationMs: 0, kind: "failed", error: { name: "HookError", message: error.message }, ends: error.ending };
  }
  sendEnd(run, outcome, isReplayed && run.isReplayed);
  return outcome;
}

interface Given {
  /** The call as the model made it. */
  readonly made: ToolCall;
  /** The call with the arguments that middleware has chosen. */
  readonly given: ToolCall;
}

interface Begun {
  readonly token: string;
}

async function runCall(activity: Activity, call: Given, signal: AbortSignal | undefined): Promise<Outcome> {
  const { run, place, journal } = activity;
  const { made } = call;
  const begunKey = `${place}/${activity.unique("begun")}`;
  const outcomeKey = `${place}/${activity.unique("outcome")}`;
  if (run.durableNames.has(made.name)) return runDurable(activity, call, { outcomeKey, signal });
  let isLive = false;
  const outcome = await activity.busy(async () => {
    // A token of this execution says on a replay without an outcome that the tool may have run.
    const { token }: Begun =
      journal.durable === true ? await run.step<Begun>(begunKey, () => ({ token: run.token }), journal) : run;
    const body = (): Outcome | Promise<Outcome> => {
      isLive = true;
      return executeLive(activity, call, { signal, mayHaveRun: token !== run.token });
    };
    return run.step<Outcome>(outcomeKey, body, journal);
  });
  if (!isLive) noteReplayed(run, outcome);
  return outcome.kind === "deferred" ? waitForResult(activity, outcome) : outcome;
}

/** Counts a recorded call, and sends its start. */
function noteReplayed(run: Run, outcome: Outcome): void {
  if (!wasDispatched(outcome.kind)) return;
  sendStart(run, outcome.call, true);
  const { usage, costUSD } = outcome.nested ?? {};
  run.meter.add({ toolCalls: 1 + (outcome.nested?.toolCallsExecuted ?? 0), tokens: usage?.totalTokens, costUSD, costUnknown: outcome.nested !== undefined && costUSD === undefined });
}

/** The tool has run, and its result comes from outside. */
async function waitForResult(activity: Activity, { call, durationMs, approvedArgs, nested, ...outcome }: Outcome): Promise<Outcome> {
  const { name, args } = call;
  const recorder = new StepRecorder(activity, "result", call.callId);
  const fromPage = "fromPage" in outcome && outcome.fromPage === true ? { fromPage: true } : {};
  const given = (await recorder.wait("result", { name, args, ...fromPage })) as unknown as OutsideResult;
  return { call, durationMs, approvedArgs, nested, ...concludeOutside(given) };
}

interface Durable {
  readonly outcomeKey: string;
  readonly signal: AbortSignal | undefined;
}

/** Runs a tool whose code runs again on a resume. Once its outcome is recorded, it runs over its records only. */
async function runDurable(activity: Activity, call: Given, { outcomeKey, signal }: Durable): Promise<Outcome> {
  const { run, journal } = activity;
  const recorded = (await activity.busy(async () => (await journal.read(run.prefix + outcomeKey)) ?? null)) as Outcome | null;
  const mark = activity.spent.length;
  if (recorded === null) {
    const outcome = await executeLive(activity, call, { signal, mayHaveRun: false });
    const nested = sumOf(activity.spent.splice(mark));
    const whole: Outcome = nested === undefined ? outcome : { ...outcome, nested };
    return activity.busy(() => run.step<Outcome>(outcomeKey, () => whole, journal));
  }
  const replay = new ReplayJournal(journal);
  const fork = activity.fork(replay);
  const isCut = recorded.kind === "interrupted" || recorded.kind === "not-run";
  // Middleware has to see the inner calls and runs that it saw before.
  if (!isCut) await Promise.race([executeLive(fork, call, { signal, mayHaveRun: false }), replay.stuck]);
  fork.close();
  if (wasDispatched(recorded.kind)) sendStart(run, call.made, true);
  return recorded;
}

interface LiveCall {
  readonly signal: AbortSignal | undefined;
  /** True if an earlier execution may have run the tool without recording an outcome. */
  readonly mayHaveRun: boolean;
}

async function executeLive(activity: Activity, { made, given }: Given, { signal, mayHaveRun }: LiveCall): Promise<Outcome> {
  const { run } = activity;
  const { scope, meter, clock } = run;
  const approvedArgs = given === made || isSameJson(given.args, made.args) ? undefined : given.args;
  const facts = { call: made, durationMs: 0, ...(approvedArgs !== undefined && { approvedArgs }) };
  scope.checkDeadline(clock.now());
  const left: Outcome = { ...facts, kind: mayHaveRun ? "interrupted" : "not-run" };
  if (scope.cause !== undefined || run.isBarred || signal?.aborted === true) return left;
  const definition = findTool(run.registry, made.name);
  if (definition === undefined) return refuseUnknown(made, portsOf(activity));
  if (mayHaveRun && definition.replay !== "safe" && definition.eager !== true) {
    meter.add({ toolCalls: 1 });
    return left;
  }
  if (meter.toolCallsLeft < 1) return { ...facts, kind: "limit" };
  const prepared = run.prepared.get(made.callId);
  const ready: ReadyCall = { kind: "ready", call: made, definition, args: toJson(given.args), approvedArgs };
  const ports = portsOf(activity, signal);
  const checked =
    prepared !== undefined && approvedArgs === undefined
      ? { ...ready, args: prepared }
      : await activity.busy(async () => validateCall(ready, ports));
  if (checked.kind !== "ready") return checked;
  if (scope.cause !== undefined || run.isBarred) return left;
  meter.add({ toolCalls: 1 });
  sendStart(run, made, false);
  const limited = run.durableNames.has(made.name) ? { ...definition, timeoutMs: definition.timeoutMs ?? Number.POSITIVE_INFINITY } : definition;
  const mark = activity.spent.length;
  const outcome = await executeToolCall({ ...checked, definition: limited }, ports);
  if (outcome.kind === "failed" && outcome.fatal === true) run.isBarred = true;
  if (run.durableNames.has(made.name)) return outcome;
  const nested = sumOf(activity.spent.splice(mark));
  return nested === undefined ? outcome : { ...outcome, nested };
}

/** The metadata of results, by call, until `tool-end` is sent. */
const metadataOf = new WeakMap<ToolCall, unknown>();

function portsOf(activity: Activity, signal?: AbortSignal): ToolCallPorts {
  const { run } = activity;
  const { registry, clock, timeouts, events } = run;
  return {
    registry,
    clock,
    timeouts,
    scope: signal === undefined ? run.scope : innerScope(run, signal),
    exposed: run.shown,
    contextFor: (call, deadline) => {
      activity.beat = () => deadline.heartbeat();
      return new CallContext(activity, call, { deadline, isDurable: run.durableNames.has(call.name) }) as unknown as ToolContext;
    },
    onYield: (call, value) => {
      const data = events.wants("tool-progress") ? toPreliminary(value) : undefined;
      if (data !== undefined) events.send({ type: "tool-progress", ...callEvent(run, call, false), data, preliminary: true });
    },
    onMetadata: (call, metadata) => void metadataOf.set(call, metadata),
    onLate: (call, success) => events.send({ type: "late-result", ...callEvent(run, call, false), success }),
  };
}

/** A scope that ends with the run, or with the signal of a middleware. */
function innerScope(run: Run, signal: AbortSignal): CancelScope {
  const inner = new CancelScope(run.scope);
  run.scope.join({ cancel: (cause) => inner.cancel(cause) });
  inner.follow(signal);
  return inner;
}

export function callEvent(run: Run, { callId, name }: ToolCall, isReplayed: boolean): CallEvent {
  const { runId, state, places } = run;
  return { runId, iteration: state.iteration, ...(isReplayed && { replayed: true }), callId, name, index: places.get(callId) ?? -1 };
}

function sendStart(run: Run, call: ToolCall, isReplayed: boolean): void {
  if (run.events.wants("tool-start"))
    run.events.send({ type: "tool-start", ...callEvent(run, call, isReplayed), args: freezeDeep(call.args) });
}

export function sendEnd(run: Run, outcome: ToolOutcome, isReplayed: boolean): void {
  const { call, kind, durationMs } = outcome;
  const metadata = metadataOf.get(call);
  metadataOf.delete(call);
  if (!run.events.wants("tool-end")) return;
  const result = freezeDeep(renderOutcome(outcome));
  run.events.send({
    type: "tool-end",
    ...callEvent(run, call, isReplayed),
    outcome: kind,
    result,
    durationMs,
    ...(metadata !== undefined && { metadata }),
  });
}

