// Runs the calls of one iteration in three phases: all calls are prepared, then approved, then dispatched. At most `toolConcurrency` calls
// run at a time, and a sequential tool runs alone. The outcomes enter the state in call order.
//
// - A wave is a group of calls that begin at the same time. A window starts a new call whenever a call ends.
// - An open call has returned without running its tool, because the call needs a decision first (`decideOpen`).
// - A deferred call has run, and its result or the answer to its question comes from outside (`requestResults`).
// - A pending call waits until the caller passes a decision or a result in a later execution.
// - A suspended call has a nested run that waits. `runParked` starts or continues the nested run.
// - After a fatal failure the batch is barred: no other call begins (`Batch.isBarred`).

import type { CallEvent, TriggerMatch } from "../../types/loop-event.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ContextRestart, ToolOutcome } from "../../types/tool-outcome.ts";
import { isRecord, isThenable } from "../../utils/guards.ts";
import { edges } from "../../utils/edges.ts";
import { whenReady } from "../../utils/promises.ts";
import { findIdenticalCalls, findLoop } from "../state/apply-call.ts";
import { detectContextRestart, isUnmarkedRestart } from "../restart/context-restart.ts";
import { applyStep } from "../state/apply-step.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import type { Repeats, SettledCall } from "../state/step-result.ts";
import { earlyOutcomesOf } from "../state/transcript.ts";
import { approveCalls, approveAgain } from "./approve-calls.ts";
import { recallCalls, joinPhases, refuseChangedTools } from "./record-verdicts.ts";
import { type BatchCall, eventBase, type Run, toBatchCall } from "../run/run.ts";
import type { Journal, Step } from "../../types/old-journal.ts";
import type { Cancelled } from "../../policies/approval.ts";
import { isCut, parkRun, waitForTurn, isRecorded, runSteps } from "../run/run-step.ts";
import { Batch, batchKey, end, hold, leaveOpen, limitCalls } from "./batch.ts";
import { refuseBroken } from "../run/journal-call.ts";
import { performCall } from "./execute-tool-call.ts";
import { checkRecorded, replayCall } from "./call-ports.ts";
import type { Park } from "../run/parking.ts";
import { askResults } from "./settle-call.ts";
import type { Wave } from "../../tools/wave.ts";

/** Dispatches the calls of a batch. Usually the first wave contains all calls, so that `runRemaining` is not needed. */
function dispatchCalls(run: Run, calls: readonly BatchCall[], kept?: ReadonlySet<BatchCall>): void | PromiseLike<void> {
  if (kept === undefined && mayExceed(run, calls))
    return findRecorded(run, calls).then((recorded) => dispatchCalls(run, calls, recorded));
  refuseChangedTools(run, calls);
  limitCalls(run, calls, kept);
  const batch = new Batch(run, calls);
  if (mayHaveRecorded(run, batch)) return replayRecorded(run, batch).then(() => runRemaining(run, batch));
  if (needsWindow(run, batch)) return runRemaining(run, batch);
  const wave = batch.takeWave();
  const ended = whenReady(runWave(run, wave, batch), () => decideOpen(run, wave, batch));
  return whenReady(ended, () => (batch.isDone ? undefined : runRemaining(run, batch)));
}

/** True if recorded calls may exceed `maxToolCalls`, because the limit is lower than in the execution that recorded them. */
function mayExceed({ isIterationReplayed, journal, bounds, state }: Run, calls: readonly BatchCall[]): boolean {
  return isIterationReplayed && journal.has !== undefined && state.toolCallsExecuted + calls.length > bounds.maxToolCalls;
}

async function findRecorded(run: Run, calls: readonly BatchCall[]): Promise<ReadonlySet<BatchCall>> {
  const found = await Promise.all(
    calls.map(async (one) => (await isRecorded(run, batchKey(run, "tool", one))) || isRecorded(run, batchKey(run, "agent", one))),
  );
  return new Set(calls.filter((_, position) => found[position] === true));
}

/**
 * True if there are more calls than may run at the same time. A new call then begins whenever a call ends. A journal that orders
 * its steps gets the calls in waves instead.
 */
function needsWindow({ journal, bounds }: Run, { todo, isJoined }: Batch): boolean {
  return !isJoined && journal.ordered !== true && todo.length > bounds.toolConcurrency;
}

/**
 * Runs calls at the same time. The steps of ordinary tools are passed to the journal together. Nested runs start at the same
 * time.
 */
function runWave(run: Run, wave: readonly BatchCall[], batch: Batch): void | PromiseLike<void> {
  const tools = wave.filter(({ agent }) => agent === undefined);
  const take = (answers: readonly ToolOutcome[], live: readonly boolean[]): void => {
    for (const [position, one] of tools.entries()) {
      const answer = answers[position];
      if (answer !== undefined) takeAnswer(run, one, { answer, isLive: live[position] === true });
      batch.note(one);
    }
  };
  let ended: void | PromiseLike<void> = undefined;
  if (tools.length > 0) {
    const steps = batch.isJoined ? joinedSteps(run, tools) : tools.map((one) => toolStep(run, one));
    const noted = run.journal.durable ? noteIntents(run, tools) : undefined;
    ended = isThenable(noted) ? noted.then(() => runSteps(steps, run, take)) : runSteps(steps, run, take);
  }
  if (tools.length === wave.length) return ended;
  const agents = wave.map((one) => runParked(run, one, batch));
  return Promise.all([ended, ...agents]).then(() => undefined);
}

function toolStep(run: Run, one: BatchCall): Step<ToolOutcome> {
  const { callId, name, args } = one.call;
  return {
    key: batchKey(run, "tool", one),
    kind: "tool",
    input: { callId, name, args },
    run: performCall.bind(undefined, run, one),
  };
}

/**
 * Returns the steps of calls that the registry runs together. A call leaves its wave when it ends, or when it is refused and never
 * reaches the registry. If the journal cannot tell which of these calls have records, each call has a wave of its own, because a
 * recorded call never leaves.
 */
function joinedSteps(run: Run, tools: readonly BatchCall[]): readonly Step<ToolOutcome>[] {
  const isWhole = !run.isIterationReplayed || run.journal.has !== undefined;
  const begin = (callIds: readonly string[]): Wave | undefined => run.registry.createWave?.(callIds);
  const whole = begin(tools.map(({ call }) => call.callId));
  return tools.map((one) => {
    const { callId } = one.call;
    const wave = isWhole ? whole : begin([callId]);
    if (wave !== undefined) run.ports.waves.set(callId, wave);
    const body = (): ToolOutcome | PromiseLike<ToolOutcome> =>
      whenReady(performCall(run, one), (outcome) => {
        wave?.leave(callId);
        return outcome;
      });
    return { ...toolStep(run, one), run: body };
  });
}

function takeAnswer(run: Run, one: BatchCall, { answer, isLive }: { answer: ToolOutcome; isLive: boolean }): void {
  one.mayHaveRun = false;
  if (answer.kind === "not-run" && answer.mustAsk !== undefined) {
    leaveOpen(one, answer.mustAsk);
    return;
  }
  if (!isLive) {
    checkRecorded(one.call, answer);
    replayCall(run, answer, one.answers.length > 0);
  }
  if (answer.kind === "deferred") one.deferred = { ...joinPhases(one.asked, answer), kind: "deferred" };
  else end(one, answer, isLive);
}

interface Intent {
  readonly token: string;
}

/**
 * Records the token of this execution in a durable journal before the calls run. If a replay finds the token of another execution,
 * the call may already have run.
 */
function noteIntents(run: Run, tools: readonly BatchCall[]): void | PromiseLike<void> {
  const steps = tools.map((one): Step<Intent> => {
    const body = (): Intent => ({ token: run.token });
    return { key: batchKey(run, "intent", one), kind: "intent", input: null, run: body };
  });
  return runSteps(steps, run, (intents) => {
    for (const [position, one] of tools.entries()) one.mayHaveRun = intents[position]?.token !== run.token;
  });
}

function runParked(run: Run, one: BatchCall, batch: Batch): Promise<void> | undefined {
  const { agent, index } = one;
  if (agent === undefined) return undefined;
  run.parking ??= agent.createParking();
  const begin = async (park: Park): Promise<void> => {
    one.park = park;
    await agent.run(run, one);
    batch.note(one);
  };
  if (one.hasBegun) return run.parking.goOn(index);
  return run.parking.begin(index, begin, (isDrained) => {
    const reason = isDrained ? ({ kind: "drained" } as const) : ({ kind: "approval-required", calls: [] } as const);
    hold(one);
    one.suspended = { status: "suspended", reason };
    batch.note(one);
  });
}

function decideOpen(run: Run, wave: readonly BatchCall[], batch: Batch): void | PromiseLike<void> {
  const open = wave.filter(({ isOpen }) => isOpen);
  if (open.length === 0) return undefined;
  return approveAgain(run, open, batch.isBarred).then(() => batch.takeDecided(open));
}

async function runRemaining(run: Run, batch: Batch): Promise<void> {
  let isSuspended = false;
  while (!batch.isDone && !isSuspended) {
    if (needsWindow(run, batch)) await runWindow(run, batch);
    if (batch.isDone) break;
    const wave = batch.takeWave();
    if (wave.length > 0) {
      await runWave(run, wave, batch);
      await decideOpen(run, wave, batch);
    } else if (batch.deferred.length > 0) await requestResults(run, batch);
    else isSuspended = await pauseBatch(run, batch);
  }
  batch.finish();
}

/**
 * Runs calls at the same time. When one call ends, the next call begins. If a call needs another decision, no further call
 * begins.
 */
async function runWindow(run: Run, batch: Batch): Promise<void> {
  const begun: BatchCall[] = [];
  const running = new Set<PromiseLike<void>>();
  let isHeld = false;
  for (;;) {
    const one = isHeld ? undefined : batch.takeNext(running.size);
    if (one === undefined) {
      if (running.size === 0) break;
      await Promise.race(running);
      continue;
    }
    begun.push(one);
    const ended = whenReady(runWave(run, [one], batch), () => {
      isHeld ||= one.isOpen;
    });
    if (!isThenable(ended)) continue;
    const settled = ended.then(() => void running.delete(settled));
    running.add(settled);
    if (batch.isAlone(one)) await settled;
  }
  await decideOpen(run, begun, batch);
}

/** Requests the results that tools have deferred. No other call can run at this point, so a journal may wait for the results. */
async function requestResults(run: Run, batch: Batch): Promise<void> {
  const { deferred } = batch;
  if (deferred.length === 0) return;
  await askResults(run, deferred, batch.isBarred);
  batch.takeDecided(deferred);
}

async function pauseBatch(run: Run, batch: Batch): Promise<boolean> {
  // If the journal has failed, the calls of broken nested runs would wait forever, and the loop of `runRemaining` would never end.
  refuseBroken(run);
  const { parking } = run;
  // With `journal.replays`, the records decide what happens to the waiting calls.
  if (run.journal.replays === undefined) {
    if (batch.isBarred || isCut(run)) return endWaiting(run, batch);
    if (parking?.mustGoOn === true) {
      await parking.goOnEnded();
      return false;
    }
  }
  const parked = await parkRun(run, batch.isDrained);
  if (parked === "ended") return endWaiting(run, batch);
  if (parked === "look-again") return false;
  await parking?.leave();
  return true;
}

/**
 * Ends the waiting calls, so that they never run. Otherwise the run would end as suspended, and a call that is approved later
 * would still run. Records each waiting call as "cancelled", so that a replay also ends the call.
 */
async function endWaiting(run: Run, batch: Batch): Promise<false> {
  batch.bar();
  await run.parking?.end();
  const { awaiting } = batch;
  const steps = awaiting.flatMap(toCancelStep);
  await runSteps(steps, run, () => {
    for (const one of awaiting) batch.drop(one);
  });
  return false;
}

function toCancelStep({ call: { callId, name, args }, pending, deferred }: BatchCall): readonly Step<Cancelled>[] {
  if (pending === undefined) return [];
  const kind = deferred === undefined ? "approval" : "result";
  return [{ key: pending.key, kind, input: { callId, name, args }, run: () => ({ kind: "cancelled" }) }];
}

/**
 * True if recorded calls of the batch may have to be replayed before the other calls. With a journal that orders its steps,
 * returns true only if the caller passed a decision about one of the calls.
 */
function mayHaveRecorded({ isIterationReplayed, journal, decisions }: Run, { todo }: Batch): boolean {
  if (!isIterationReplayed || journal.replays !== undefined) return false;
  if (todo.some(({ call }) => decisions.isLeftFor(call.callId))) return true;
  return !keepsOrder(journal) && (journal.has !== undefined || todo.some(({ agent }) => agent !== undefined));
}

function keepsOrder({ ordered, wait }: Journal): boolean {
  return ordered === true || wait !== undefined;
}

/**
 * Replays the recorded calls. Nested runs continue to the end of their records. Throws LoopError "unknown-decision" if a decision
 * belongs to no waiting call.
 */
async function replayRecorded(run: Run, batch: Batch): Promise<void> {
  const begun: BatchCall[] = [];
  let agents: readonly BatchCall[] = [];
  for (;;) {
    const wave = await takeRecorded(run, batch);
    begun.push(...wave);
    const tools = wave.filter(({ agent }) => agent === undefined);
    agents = [...agents, ...wave.filter(({ agent }) => agent !== undefined)];
    // Calls of ordinary tools take all their results before nested runs continue. A nested run may take a new step, and the first
    // new step rejects unused results. A call that asked several questions takes one result in each round.
    const part = tools.length > 0 ? tools : agents;
    if (part.length === 0) break;
    if (part === agents) agents = [];
    await runWave(run, part, batch);
    await decideOpen(run, part, batch);
    await requestResults(run, batch);
  }
  const isInside = run.park !== undefined || keepsOrder(run.journal);
  if (!isInside && run.scope.cause === undefined) {
    excuseCancelled(run);
    run.decisions.refuseInside(run.state.current.calls);
  }
  batch.takeBack(begun);
  // If this run must wait for its turn, its nested runs must wait too.
  if (batch.hasBegun) await waitForTurn(run);
}

/** A nested run that is being cancelled by its own control uses no decisions, so its unused decisions are no error. */
function excuseCancelled({ sharingRuns }: Run): void {
  for (const nested of sharingRuns) {
    if (nested.scope.cause !== undefined) nested.decisions.excuseUnused();
    excuseCancelled(nested);
  }
}

async function takeRecorded(run: Run, batch: Batch): Promise<readonly BatchCall[]> {
  const { todo } = batch;
  const found = await Promise.all(todo.map(async (one) => isOnRecord(run, batch, one)));
  return batch.takeRecorded(new Set(todo.filter((_, position) => found[position] === true)));
}

function isOnRecord(run: Run, batch: Batch, one: BatchCall): boolean | PromiseLike<boolean> {
  const { call, agent } = one;
  // If a decision about the call is still unused, the call waits for a result, so the call has a record.
  if (run.decisions.isLeftFor(call.callId)) return true;
  if (keepsOrder(run.journal)) return false;
  if (run.journal.has !== undefined) return isRecorded(run, batchKey(run, agent === undefined ? "tool" : "agent", one));
  // Without `journal.has`, nobody knows which nested runs have records, so this function starts every nested run that could have
  // begun. A nested run that turns out to have no record waits before its first step.
  return agent !== undefined && (batch.isFree(one) || run.decisions.isLeftInside(call.callId));
}

export function runBatch(run: Run): void | PromiseLike<void> {
  const calls = collectCalls(run);
  if (calls.length > 0) run.control?.startToolChain();
  const approved = whenReady(recallCalls(run, calls), () => (mayAsk(run) ? approveCalls(run, calls) : undefined));
  // Most batches need no promise, so their calls are dispatched synchronously.
  const dispatched = isThenable(approved) ? approved.then(() => dispatchCalls(run, calls)) : dispatchCalls(run, calls);
  return whenReady(dispatched, () => settleBatch(run, calls));
}

function settleBatch(run: Run, calls: readonly BatchCall[]): void | PromiseLike<void> {
  const loop = findLoopToWarnOf(run);
  const settled = calls.map((one) => toSettled(run, one));
  return whenReady(run.features.results?.process(run, settled) ?? settled, (read) => {
    const { length } = run.state.handoffs;
    applyStep(run.state, { kind: "batch", settled: read, loop });
    sendHandoff(run, calls, length);
    sendIdentical(run);
  });
}

/** A call that was started during the stream already has its outcome. */
function collectCalls(run: Run): readonly BatchCall[] {
  const { current } = run.state;
  const early = earlyOutcomesOf(current);
  const calls = current.calls.map(toBatchCall);
  if (early.size === 0) return calls;
  for (const one of calls) {
    one.outcome = early.get(one.call.callId);
    if (one.outcome === undefined) continue;
    one.isLive = !run.isIterationReplayed;
    one.isEmitted = true;
  }
  return calls;
}

function mayAsk({ options, visibleTools }: Run): boolean {
  return options.policies?.approve !== undefined || visibleTools.hasApproval || visibleTools.recorded !== undefined;
}

function sendIdentical(run: Run): void {
  const loop = findIdenticalCalls(run.state, run.bounds);
  if (loop === undefined) return;
  run.events.send({ type: "loop-detected", ...eventBase(run, !run.isIterationReplayed), ...loop, cycle: 1, action: "stop" });
}

function findLoopToWarnOf({ state, bounds: { loopRule } }: Run): Repeats | undefined {
  return loopRule?.action === "inject-warning" ? findLoop(state, loopRule) : undefined;
}

function toSettled(run: Run, one: BatchCall): SettledCall {
  const { call, outcome, isLive, suspended, pending } = one;
  if (outcome === undefined || isLive === undefined) throw new Error(`The call ${call.callId} has no outcome.`);
  if (pending !== undefined) return { outcome, awaiting: pending.id, toolChanges: pending.toolChanges };
  notifyGate(run, outcome, isLive);
  const polls = traitsOf(run, call.name).polls === true ? ({ polls: true } as const) : undefined;
  if (outcome.kind === "completed") return { ...toCompleted(run, outcome, isLive), ...polls };
  return suspended === undefined ? { outcome, ...polls } : { outcome, suspended };
}

/** A replayed call has the traits that its tool had when the call was recorded. */
function traitsOf({ visibleTools, ports }: Run, name: string): Pick<ToolDefinition, "polls" | "requiresFollowUp" | "origin"> {
  return visibleTools.recorded?.tools.get(name) ?? ports.exposed.get(name) ?? {};
}

/** Adds the effect of a completed call: a context restart, or whether the model has to answer after this tool. */
function toCompleted(run: Run, outcome: ToolOutcome, isLive: boolean): SettledCall {
  const restart = detectContextRestart(outcome, run.options.policies?.restarts);
  if (restart === undefined) {
    const { requiresFollowUp, origin } = traitsOf(run, outcome.call.name);
    // The data of a server or a page must not restart anything, so only the caller's own tools get this notice.
    if (isLive && origin === undefined && isUnmarkedRestart(outcome))
      run.events.send({ type: "notice", ...eventBase(run), kind: "unmarked-restart", toolName: outcome.call.name });
    return requiresFollowUp === undefined ? { outcome } : { outcome, needsNoFollowUp: !requiresFollowUp };
  }
  sendRestart(run, callEvent(run, outcome, isLive), restart);
  return { outcome, restart };
}

function sendRestart({ events }: Run, base: CallEvent, restart: ContextRestart): void {
  const { suffix, disableTools, pendingContextKey } = restart;
  const found = restart.pendingContext === undefined ? "missing" : "found";
  const pendingContext = pendingContextKey === undefined ? undefined : found;
  events.send({ type: "restart", ...base, suffix, disableTools, pendingContext });
}

function sendHandoff(run: Run, calls: readonly BatchCall[], before: number): void {
  const made = run.state.handoffs[before];
  const one = calls.find(({ call }) => call.callId === made?.callId);
  if (made === undefined || one?.outcome === undefined) return;
  const { from, to, reason } = made;
  run.events.send({ type: "handoff", ...callEvent(run, one.outcome, one.isLive === true), from, to, reason });
}

/**
 * Calls the functions of `policies.gate` for a finished call. Errors of these functions do not affect the run. `retain` is not
 * called on replay.
 */
function notifyGate(run: Run, outcome: ToolOutcome, live: boolean): void {
  const { kind, call } = outcome;
  const { options, events, state } = run;
  const gate = options.policies?.gate;
  if (gate?.active !== true) return;
  const { name, args } = call;
  if (live && kind === "completed") events.guard({ type: "retain", iteration: state.iteration }, () => gate.retain?.(name));
  if (!wasDispatched(kind)) return;
  let trigger: TriggerMatch | undefined;
  const find = (): unknown => {
    const found: unknown = gate.triggerMatchByToolName?.get(name);
    if (isRecord(found) && !isThenable(found)) trigger = found as unknown as TriggerMatch;
    return found;
  };
  events.guard({ type: "triggerMatchByToolName", iteration: state.iteration }, find);
  if (trigger === undefined) return;
  events.send({ type: "hidden-notice", ...callEvent(run, outcome, live), trigger, args: edges.redactJson(args) });
}

function callEvent(run: Run, { call: { callId, name } }: ToolOutcome, live: boolean): CallEvent {
  return { ...eventBase(run, live), callId, name, index: run.ports.indexOf(callId) };
}
