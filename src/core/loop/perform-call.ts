// Performs one tool call: checks that it is allowed, passes it through the middleware, and runs the tool once.

import type { Json, PlainError } from "../types/common.ts";
import type { NestedSpending, ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { detectContextRestart } from "./context-restart.ts";
import { restartedResult } from "../../shared/transcript.ts";
import { executeToolCall, refuseChanged } from "./execute-tool-call.ts";
import { refuseBlocked, validateCall } from "./prepare-call.ts";
import type { ReadyCall, ToolCallPorts } from "./ports.ts";
import { concludeOutside, renderOutcome, toPreliminary, wasDispatched } from "../../shared/to-outcome.ts";
import { isDurable } from "../tools/inside-call.ts";
import { findTool } from "../tools/registry.ts";
import { freezeDeep, isSameJson, toJson } from "../../shared/json.ts";
import type { OutsideResult } from "../types/middleware-options.ts";
import { chainHooks, HookError, StepCancelled } from "./hooks.ts";
import { isReplay } from "./journals.ts";
import { pastOf } from "./past-calls.ts";
import { sumSpending } from "../../shared/count-usage.ts";
import { HookRecorder, openWait } from "./recorder.ts";
import { isBarring } from "./seam.ts";
import { isCurrent } from "./shown-tools.ts";
import type { Activity } from "./activity.ts";
import type { Run } from "./run.ts";
import type { Next, NextCall, Outcome } from "../types/middleware.ts";
import { CallContext } from "./tool-context.ts";

/** Runs one call. Rejects only if the journal fails. A waiting call stays pending: see `Activity.settle`. */
export async function performCall(activity: Activity, call: ToolCall): Promise<Outcome> {
  const { run } = activity;
  activity.end = (outcome) => {
    activity.end = () => {};
    sendEnd(run, outcome, activity.isReplayed);
  };
  const last: Next<NextCall, Outcome> = (given, signal) => runCall(activity, { made: call, given, signal });
  const recorderOf = (name: string, given: ToolCall): HookRecorder => new HookRecorder(activity, name, given);
  const inner = chainHooks(run.hooks, "execute", { last, recorderOf, activity });
  const chain = chainHooks(run.hooks, "call", { last: inner, recorderOf, activity });
  let outcome: Outcome;
  try {
    outcome = await activity.watched(chain(call));
  } catch (error) {
    if (error instanceof StepCancelled) outcome = activity.made ?? { call, durationMs: 0, kind: "not-run" };
    else if (!(error instanceof HookError)) throw error;
    else {
      // Hides the error from the model, because it may reveal details of the program. The run's `reason` contains the error.
      const failed: Outcome = {
        call,
        durationMs: 0,
        kind: "failed",
        error: { name: error.name, message: "A check of this call failed." },
      };
      outcome = { ...(activity.made ?? failed), ends: error.ending };
    }
  }
  const { ends = outcome.ends } = activity;
  if (ends !== outcome.ends) outcome = { ...outcome, ends };
  barAfter(activity, outcome);
  const end = findChange(activity, outcome);
  if (end !== undefined) await run.step<EndRecord>(`${activity.place}/ended`, () => end, { journal: activity.journal });
  activity.end(outcome);
  return outcome;
}

/**
 * Prevents other calls from starting after an outcome that ends the run. An early call is exempt, because its attempt may still be
 * discarded.
 */
function barAfter({ run, isEarly }: Activity, outcome: Outcome): void {
  if (!isEarly && isBarring(outcome)) run.isBarred = true;
}

/** The record of a call after middleware has changed its outcome or spending, for readers that do not run the middleware. */
export type EndRecord = Outcome & { readonly spent?: NestedSpending | undefined };

/** Returns the record of what middleware changed, or undefined if it changed nothing. */
function findChange({ spent: all, made }: Activity, outcome: Outcome): EndRecord | undefined {
  const spent = sumSpending(all);
  if (spent !== undefined) return { ...outcome, spent };
  return made !== undefined && isSameJson(outcome as unknown as Json, made as unknown as Json) ? undefined : outcome;
}

interface Given {
  /** The call as the model sent it. */
  readonly made: ToolCall;
  /** The call with the arguments that middleware has chosen. */
  readonly given: NextCall;
  readonly signal: AbortSignal | undefined;
  /** True if an earlier execution may have run the tool without recording an outcome. */
  readonly mayHaveRun?: boolean;
}

export interface Begun {
  readonly token: string;
  /** True for a durable tool, which may leave waits open when it ends. */
  readonly durable?: true | undefined;
  readonly refused?: Outcome | undefined;
}

async function runCall(activity: Activity, call: Given): Promise<Outcome> {
  const { run, journal, takeTurn } = activity;
  const begunKey = activity.keyOf("begun");
  const outcomeKey = activity.keyOf("outcome");
  const { together } = call.given;
  together?.join();
  const turn = takeTurn?.(together !== undefined);
  if (turn !== undefined) {
    activity.isHeld = true;
    await activity.inCore(() => turn);
    activity.isHeld = false;
  }
  const past = pastOf(run);
  // Reuses a recorded refusal even if the middleware would now allow the call, because the model has already been told that the call did
  // not run.
  const ended = past && (await activity.inCore(async () => past.findEnd(activity, [outcomeKey, begunKey])));
  if (ended !== undefined) return (activity.made = ended);
  if (isDurable(run, call.made.name)) return (activity.made = await runDurable(activity, call, { begunKey, outcomeKey }));
  let isLive = false;
  const record = ({ token }: Begun): Outcome | PromiseLike<Outcome> =>
    activity.record(outcomeKey, () => {
      // A durable engine may run this body twice. `isLive` is then already true, so the tool may have run before.
      const mayHaveRun = isLive || token !== run.token;
      isLive = true;
      return runPlain(activity, { ...call, mayHaveRun });
    });
  // Records this execution's token before the tool starts. A token without an outcome tells a replay that the tool may have run.
  const begin = async (): Promise<Outcome> => record(await activity.record(begunKey, () => ({ token: run.token })));
  const outcome = await activity.inCore(journal.durable === true ? begin : () => record(run));
  activity.made = outcome;
  if (!isLive) noteReplayed(run, outcome);
  if (outcome.kind !== "deferred") return outcome;
  activity.hasBegun = true;
  // Counts the nested run's spending now, because the call may still have to wait for its result.
  if (outcome.nested !== undefined) activity.spent.push(outcome.nested);
  sendEnd(run, outcome, !isLive);
  return (activity.made = await waitForResult(activity, outcome));
}

/** Counts a recorded call, and sends its start event. */
export function noteReplayed(run: Run, outcome: Outcome): void {
  if (!wasDispatched(outcome.kind)) return;
  sendStart(run, outcome.call, true);
  const { usage, costUSD } = outcome.nested ?? {};
  run.meter.add({
    toolCalls: 1 + (outcome.nested?.toolCallsExecuted ?? 0),
    tokens: usage?.totalTokens,
    costUSD,
    costUnknown: outcome.nested !== undefined && costUSD === undefined,
  });
}

/** Handles a call whose tool has run but whose result comes from outside. */
async function waitForResult(activity: Activity, { call, durationMs, approvedArgs, ...outcome }: Outcome): Promise<Outcome> {
  const { name, args } = call;
  const fromPage = "fromPage" in outcome && outcome.fromPage === true ? { fromPage: true } : {};
  const id = activity.run.path + activity.unique(activity.path, "#");
  const wait = { id, what: "result", facts: { name, args, ...fromPage } };
  const given = await activity.inCore(() => openWait<OutsideResult | null>(activity, wait, {}));
  return { call, durationMs, approvedArgs, ...concludeOutside(given as OutsideResult) };
}

interface DurableKeys {
  readonly begunKey: string;
  readonly outcomeKey: string;
}

/** Runs a durable tool, whose code runs again on each resume. Once its outcome is recorded, the code only repeats its recorded steps. */
async function runDurable(activity: Activity, call: Given, { begunKey, outcomeKey }: DurableKeys): Promise<Outcome> {
  const { run } = activity;
  let isLive = false;
  const begun = await activity.inCore(() =>
    activity.record<Begun>(begunKey, async () => {
      isLive = true;
      const ready = await admit(activity, call, portsOf(activity, call.signal));
      return { token: run.token, durable: true, ...(ready.kind !== "ready" && { refused: ready }) };
    }),
  );
  if (begun.refused !== undefined) return begun.refused;
  activity.hasBegun = true;
  if (!isLive) run.meter.add({ toolCalls: 1 });
  sendStart(run, call.made, !isLive);
  const mark = activity.spent.length;
  const past = isLive ? undefined : pastOf(run);
  const replay = (fork: Activity): Promise<Outcome> => execute(fork, { ...call, signal: undefined });
  const recorded = past && (await activity.inTool(() => past.recallOutcome(activity, outcomeKey, replay)));
  if (recorded !== undefined) return recorded;
  const made = await activity.inTool(() => execute(activity, call));
  // An earlier execution began this call, so it may have had effects and counts as "interrupted" instead of "not-run".
  const outcome: Outcome = made.kind === "not-run" && !isLive ? { ...made, kind: "interrupted" } : made;
  const whole = await addNested(activity, outcome, mark);
  return activity.inCore(() => activity.record<Outcome>(outcomeKey, () => whole));
}

/** Ends the nested runs that the tool did not await, and adds the spending of all its nested runs. */
async function addNested(activity: Activity, outcome: Outcome, mark: number): Promise<Outcome> {
  await activity.nested?.end();
  const nested = sumSpending(activity.spent.splice(mark));
  return nested === undefined ? outcome : { ...outcome, nested };
}

/** Runs an ordinary tool, unless the call must not begin or its arguments are invalid. */
async function runPlain(activity: Activity, call: Given): Promise<Outcome> {
  const { run } = activity;
  const ports = portsOf(activity, call.signal);
  const admitted = admit(activity, call, ports);
  // Awaits only if there is a promise, because an unneeded `await` would let other code run between the check and the tool.
  const ready = admitted instanceof Promise ? await admitted : admitted;
  if (ready.kind !== "ready") return ready;
  sendStart(run, call.made, false);
  const mark = activity.spent.length;
  const made = executeToolCall(ready, ports);
  // Does not await a synchronous tool, so that after a fatal error in the tool, the next call in the message does not begin.
  const outcome = endTool(activity, made instanceof Promise ? await made : made);
  return activity.nested === undefined ? outcome : addNested(activity, outcome, mark);
}

/** Runs a durable tool's code from its beginning. */
async function execute(activity: Activity, call: Given): Promise<Outcome> {
  const ports = portsOf(activity, call.signal);
  const ready = await prepare(activity, call, ports);
  return ready.kind === "ready" ? endTool(activity, await executeToolCall(ready, ports)) : ready;
}

function endTool(activity: Activity, outcome: Outcome): Outcome {
  activity.onToolEnd?.();
  barAfter(activity, outcome);
  // Only the `context-restarts` middleware adds the context that a restart requests. Without it, the result becomes an error that the model
  // can read.
  const isLost = outcome.kind === "completed" && outcome.restart === true;
  if (!isLost || activity.run.middleware.some(({ name }) => name === "context-restarts")) return outcome;
  const { call, durationMs, approvedArgs } = outcome;
  return { call, durationMs, approvedArgs, kind: "failed", error: noRestarts };
}

const noRestarts: PlainError = {
  name: "ToolFailure",
  message: "The tool restarts the context, but the run has no contextRestarts() in its middleware.",
};

/**
 * Prepares and counts a call that begins now. Returns its outcome instead if it must not begin. Returns a promise only if there is
 * something to await, so that calls begin in order.
 */
function admit(activity: Activity, call: Given, ports: ToolCallPorts): ReadyCall | Outcome | Promise<ReadyCall | Outcome> {
  const prepared = prepare(activity, call, ports);
  const count = (one: ReadyCall | ToolOutcome): ReadyCall | Outcome => countCall(activity.run, call, one);
  return prepared instanceof Promise ? prepared.then(count) : count(prepared);
}

/** Counts a call. Returns a refusal if the limits, which parallel calls share, allow no more calls. */
function countCall(run: Run, call: Given, prepared: ReadyCall | ToolOutcome): ReadyCall | Outcome {
  const { meter, places, draft } = run;
  const { made, given } = call;
  const kind = findCut(run, call);
  if (kind !== undefined) return { ...factsOf(made, given), kind };
  if (prepared.kind !== "ready") return prepared;
  // The set of allowed tools may have changed since the original request, so a resumed call is checked again.
  const allowed = places.has(made.callId) ? draft?.allowedTools : undefined;
  if (allowed?.includes(made.name) === false) return refuseBlocked(made, new Set(allowed), run);
  if (meter.toolCallsLeft < 1) return { ...factsOf(made, given), kind: "limit" };
  meter.add({ toolCalls: 1 });
  return prepared;
}

/** Returns the outcome kind of a call that must not begin, because the run is ending or the call may already have run. */
function findCut(run: Run, { made, signal, mayHaveRun }: Given): "interrupted" | "not-run" | undefined {
  const { scope, clock, meter, registry } = run;
  scope.checkDeadline(clock.now());
  const isOver = scope.cause !== undefined || run.isBarred || signal?.aborted === true;
  if (mayHaveRun !== true) return isOver ? "not-run" : undefined;
  const { replay, eager } = findTool(registry, made.name) ?? {};
  if (!isOver && (replay === "safe" || eager === true)) return undefined;
  if (!isOver) meter.add({ toolCalls: 1 });
  // Marks the start event as replayed, because the interrupted execution has already sent it.
  sendStart(run, made, true);
  return "interrupted";
}

function factsOf(made: ToolCall, given: ToolCall): Pick<Outcome, "call" | "durationMs" | "approvedArgs"> {
  const isEdited = given !== made && !isSameJson(given.args, made.args);
  return { call: made, durationMs: 0, ...(isEdited && { approvedArgs: given.args }) };
}

/** Validates the arguments, unless they were validated when the message ended. */
function prepare(
  activity: Activity,
  { made, given }: Given,
  ports: ToolCallPorts,
): ReadyCall | ToolOutcome | Promise<ReadyCall | ToolOutcome> {
  const { run } = activity;
  const definition = run.registered.get(made.name) ?? findTool(run.registry, made.name);
  if (definition === undefined || !isCurrent(run, definition)) return refuseChanged(made, ports);
  const { approvedArgs } = factsOf(made, given);
  const args = approvedArgs === undefined ? run.prepared.get(made.callId) : undefined;
  const { together } = given;
  const ready: ReadyCall = { kind: "ready", call: made, definition, args: args ?? toJson(given.args), approvedArgs, together };
  return args === undefined ? activity.inCore(() => validateCall(ready, ports)) : ready;
}

/** Metadata of tool results, by call, stored until `tool-end` is sent. */
const metadataOf = new WeakMap<ToolCall, unknown>();

function portsOf(activity: Activity, signal?: AbortSignal): ToolCallPorts {
  const { run } = activity;
  const { registry, clock, timeouts, advice, events } = run;
  return {
    registry,
    clock,
    timeouts,
    advice,
    scope: scopeOf(activity, signal),
    shown: run.shown,
    mayDefer: run.mayWait,
    isCurrent: (definition) => isCurrent(run, definition),
    contextFor: (call, deadline) => {
      activity.deadline = deadline;
      return new CallContext(activity, call, deadline);
    },
    onYield: (call, value) => {
      const data = events.wants("tool-progress") ? toPreliminary(value) : undefined;
      if (data !== undefined) run.send("tool-progress", run.aboutCall(call, { data, preliminary: true }));
    },
    onMetadata: (call, metadata) => void metadataOf.set(call, metadata),
    onLate: (call, success) => run.send("late-result", run.aboutCall(call, { success })),
  };
}

/** Returns the run's scope, or a separate scope for a replayed call or a call that middleware may cancel. */
function scopeOf({ run, journal }: Activity, signal: AbortSignal | undefined): CancelScope {
  if (isReplay(journal)) return new CancelScope();
  return run.scope.within(signal);
}

export function sendStart(run: Run, call: ToolCall, isReplayed: boolean): void {
  run.send("tool-start", run.aboutCall(call, { args: freezeDeep(call.args) }), isReplayed);
}

export function sendEnd(run: Run, outcome: ToolOutcome, isReplayed: boolean): void {
  const { call, kind, durationMs } = outcome;
  const metadata = metadataOf.get(call);
  metadataOf.delete(call);
  if (!run.events.wants("tool-end")) return;
  const isRestart = detectContextRestart(outcome, undefined) !== undefined;
  const result = isRestart ? restartedResult : freezeDeep(renderOutcome(outcome));
  const fields = { outcome: kind, result, durationMs, ...(metadata !== undefined && { metadata }) };
  run.send("tool-end", run.aboutCall(call, fields), isReplayed);
}
