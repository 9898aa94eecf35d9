// The calls of one message: at most `toolConcurrency` at a time, and a sequential tool alone. A call that waits never holds back a
// call that can run, unless its tool is sequential.

import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { performCall, sendEnd } from "./execute-tool-call.ts";
import { EagerJournal } from "./journals.ts";
import { Activity } from "./recorder.ts";
import { callPlace, eagerSteps } from "./run-iteration.ts";
import type { Run } from "./run.ts";
import type { Wait } from "./seam.ts";
import { applyCalls, applyNested, type EndedCall } from "./state.ts";

export async function runCalls(run: Run): Promise<void> {
  const { state } = run;
  const { calls } = state.current;
  if (calls.length > 0) run.control?.startToolChain();
  run.isBarred = false;
  const refusals = new Map((state.answers.at(-1)?.refusals ?? []).map((outcome) => [outcome.call.callId, outcome]));
  const { isReplayed } = run;
  const ended = await inWaves(run, calls, (call, index) => {
    const refused = refusals.get(call.callId);
    if (refused === undefined) return runOne(run, call, index);
    sendEnd(run, refused, isReplayed);
    return { call, outcome: refused, waits: [] };
  });
  run.begun.clear();
  applyCalls(state, ended);
}

async function runOne(run: Run, call: ToolCall, index: number): Promise<EndedCall> {
  const { state } = run;
  const begun = run.begun.get(call.callId);
  if (begun !== undefined) return { call, outcome: await begun, waits: [] };
  const place = callPlace(state, index, call.name);
  const steps = eagerSteps(state.answers.at(-1), call.callId);
  const journal = steps === undefined ? run.journal : new EagerJournal(run.journal, run.prefix + place, steps);
  const activity = new Activity(run, { place, path: call.callId, journal, call, index });
  const end = await activity.settle(performCall(activity, call));
  for (const spent of activity.spent) applyNested(state, spent);
  if ("value" in end) return { call, outcome: end.value, waits: [] };
  const outcome: ToolOutcome = { call, durationMs: 0, kind: "interrupted" };
  return { call, outcome, waits: end.waits as readonly Wait[] };
}

type Perform = (call: ToolCall, index: number) => EndedCall | Promise<EndedCall>;

async function inWaves(run: Run, calls: readonly ToolCall[], perform: Perform): Promise<readonly EndedCall[]> {
  const ended: EndedCall[] = [];
  const running = new Set<Promise<void>>();
  let isHeld = false;
  for (const [index, call] of calls.entries()) {
    const isAlone = run.shown.get(call.name)?.sequential === true;
    while (running.size >= (isAlone ? 1 : run.limits.toolConcurrency)) await Promise.race(running);
    if (isHeld || (isAlone && ended.some((one) => one !== undefined && one.waits.length > 0))) {
      // Held back by a sequential call that waits. Runs when the run is resumed.
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
      isHeld = (ended[index]?.waits.length ?? 0) > 0;
    }
  }
  await Promise.all(running);
  return ended;
}
