// The calls of one message: at most `toolConcurrency` at a time, and a sequential tool alone. A call that waits never holds back a
// call that can run, unless its tool is sequential.

import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { noteReplayed, performCall, sendEnd } from "./execute-tool-call.ts";
import { EagerJournal, ReplayJournal } from "./journals.ts";

import { callPlace, eagerSteps, placeOf } from "./places.ts";
import { recallCalls } from "./shown-tools.ts";
import { Activity } from "./activity.ts";
import { type Run } from "./run.ts";
import { findIdenticalCalls } from "./identical-calls.ts";
import type { EndedCall, State } from "./seam.ts";
import { applyNested } from "../utils/count-usage.ts";
import type { NextStep } from "./next-step.ts";
import { applyCalls } from "./state.ts";

export async function runCalls(run: Run): Promise<void> {
  const { state } = run;
  const { calls } = state.current;
  if (calls.length > 0) run.control?.startToolChain();
  run.isBarred = false;
  run.isSettled = run.isReplayed && (await run.journal.read(run.prefix + nextKeyOf(state))) !== undefined;
  run.recalled.clear();
  if (run.isReplayed && !run.isSettled) await recallCalls(run, calls);
  const refusals = new Map((state.answers.at(-1)?.refusals ?? []).map((outcome) => [outcome.call.callId, outcome]));
  const { isReplayed } = run;
  const replayed = await replayEnded(run, calls);
  const ended = await inWaves(run, calls, (call, index) => {
    const refused = refusals.get(call.callId);
    if (refused === undefined) return replayed.get(call) ?? runOne(run, call, index);
    noteReplayed(run, refused);
    sendEnd(run, refused, isReplayed);
    return { call, outcome: refused, waits: [] };
  });
  run.begun.clear();
  applyCalls(state, ended);
  for (const { undelivered = [] } of ended)
    run.returned.push(...undelivered.map((message) => ({ verb: "keep", message }) as const));
  sendIdentical(run);
}

/** Replays the calls that have ended before any other call runs, so that listeners get what is recorded first. */
async function replayEnded(run: Run, calls: readonly ToolCall[]): Promise<ReadonlyMap<ToolCall, EndedCall>> {
  const replayed = new Map<ToolCall, EndedCall>();
  for (const [index, call] of calls.entries())
    if (run.recalled.get(call.callId)?.hasEnded === true) replayed.set(call, await runOne(run, call, index));
  return replayed;
}

/** Tells the recorded calls that ran while the message streamed, if the run ends before its other calls. */
export async function replayEarly(run: Run): Promise<void> {
  const { state, journal, prefix } = run;
  if (state.phase !== "answer") return;
  for (const [index, call] of state.current.calls.entries()) {
    const steps = run.begun.has(call.callId) ? undefined : eagerSteps(state.current, call.callId);
    if (steps === undefined) continue;
    const place = callPlace(state, index, call.name);
    const activity = new Activity(run, {
      place,
      path: call.callId,
      journal: new ReplayJournal(new EagerJournal(journal, prefix + place, steps)),
      call,
      index,
    });
    const { stuck } = activity.journal as ReplayJournal;
    await Promise.race([activity.settle(performCall(activity, call)), stuck]);
  }
}

function sendIdentical({ state, limits, events, runId, isReplayed }: Run): void {
  const found = findIdenticalCalls(state, limits);
  if (found === undefined || state.consecutiveToolErrors >= limits.maxConsecutiveToolErrors) return;
  const { toolName, count } = found;
  const base = { runId, iteration: state.iteration, ...(isReplayed && { replayed: true }) };
  events.send({ type: "loop-detected", ...base, toolName, count, cycle: 1, action: "stop" });
}

/** Sends the ends of the calls that waited when their run ended. */
export function sendCutEnds(run: Run): void {
  for (const { outcome, waits } of run.state.lastBatch) if (waits.length > 0) sendEnd(run, outcome, run.isReplayed);
}

/** The key of the look after the calls. */
export function nextKeyOf(state: State): string {
  return `${placeOf(state)}/next`;
}

/** True if the journal goes on with the calls of the newest answer, although this execution would end the run before them. */
export async function hasCallRecords({ state, journal, prefix, isReplayed }: Run, next: NextStep): Promise<boolean> {
  // A paused message goes on with a request, although its calls may have records.
  if (next.kind !== "look" || state.phase !== "answer" || !isReplayed) return false;
  const places = state.current.calls.map(({ name }, index) => `${callPlace(state, index, name)}/outcome`);
  for (const key of [nextKeyOf(state), ...places]) if ((await journal.read(prefix + key)) !== undefined) return true;
  return false;
}

async function runOne(run: Run, call: ToolCall, index: number): Promise<EndedCall> {
  const { state, readCall } = run;
  if (readCall !== undefined) return readCall(run, call, index);
  const polls = run.shown.get(call.name)?.polls === true ? ({ polls: true } as const) : {};
  const begun = run.begun.get(call.callId);
  if (begun !== undefined) {
    const outcome = await begun.made;
    for (const spent of begun.spent) applyNested(state, spent);
    return { call, outcome: { ...outcome, call }, waits: [], ...polls };
  }
  const place = callPlace(state, index, call.name);
  const steps = eagerSteps(state.current, call.callId);
  const journal = steps === undefined ? run.journal : new EagerJournal(run.journal, run.prefix + place, steps);
  const activity = new Activity(run, { place, path: call.callId, journal, call, index });
  const end = await activity.settle(performCall(activity, call));
  for (const spent of activity.spent) applyNested(state, spent);
  const { undelivered } = activity;
  if ("value" in end) return { call, outcome: end.value, waits: [], undelivered, ...polls };
  const outcome: ToolOutcome = { call, durationMs: 0, kind: activity.hasBegun ? "interrupted" : "not-run" };
  return { call, outcome, waits: end.waits, isDrained: activity.isDrained, undelivered };
}

type PerformCall = (call: ToolCall, index: number) => EndedCall | Promise<EndedCall>;

async function inWaves(run: Run, calls: readonly ToolCall[], perform: PerformCall): Promise<readonly EndedCall[]> {
  const ended: EndedCall[] = [];
  const running = new Set<Promise<void>>();
  let isHeld = false;
  for (const [index, call] of calls.entries()) {
    const isAlone = run.shown.get(call.name)?.sequential === true;
    if (isAlone) while (running.size > 0) await Promise.race(running);
    while (running.size >= run.limits.toolConcurrency) await run.root.waiting.letEnd(() => Promise.race(running));
    if (isHeld || (isAlone && ended.some((one) => one !== undefined && isOpen(one)))) {
      // Held back by a call that waits. Runs when the run is resumed, and no later call overtakes it.
      isHeld = true;
      ended[index] = { call, outcome: { call, durationMs: 0, kind: "not-run" }, waits: [] };
      continue;
    }
    const made = perform(call, index);
    if (!(made instanceof Promise)) {
      ended[index] = made;
      continue;
    }
    const one = made.then((end) => {
      ended[index] = end;
      running.delete(one);
    });
    running.add(one);
    if (isAlone) {
      await one;
      const end = ended[index];
      isHeld = end !== undefined && isOpen(end);
    }
  }
  await Promise.all(running);
  return ended;
}

function isOpen({ waits, isDrained }: EndedCall): boolean {
  return waits.length > 0 || isDrained === true;
}
