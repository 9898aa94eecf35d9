// The third phase of a batch: runs the ready calls in waves. Parallel by default; a sequential tool has a wave to itself.

import type { Step } from "../../types/journal.ts";
import { whenReady } from "../../utils/when-ready.ts";
import { callKey } from "../state/step-key.ts";
import { performCall } from "./perform-call.ts";
import { checkRecorded, replayCall } from "./replay-call.ts";
import { type Park, Parking } from "../run/parking.ts";
import type { Dispatched, Run, ToolAnswer } from "../run/run.ts";
import { runSteps } from "../run/run-step.ts";
import { approveAgain } from "./approve-calls.ts";
import { Batch, type Entry, toHeld } from "./batch.ts";
import type { BatchEntry } from "./batch-entry.ts";
import { pauseBatch } from "./pause-batch.ts";
import { mayHaveRecorded, replayRecorded } from "./replay-recorded.ts";
import { runAgent } from "./run-agent.ts";
import type { Placed } from "./settle-call.ts";

/** The token of the execution that meant to run a call. */
interface Intent {
  readonly token: string;
}

/** Runs what is ready, and decides what becomes of what waits. Mostly all calls of a batch are one wave. */
export function dispatchWaves(
  run: Run,
  prepared: readonly BatchEntry[],
): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  const batch = new Batch(run, prepared);
  if (mayHaveRecorded(run, batch)) {
    const replayWave = (wave: readonly Entry[]): void | PromiseLike<void> => runWave(run, wave, batch);
    return replayRecorded(run, batch, replayWave).then(() => runOthers(run, batch));
  }
  return whenReady(runWave(run, batch.takeWave(), batch), () => (batch.isDone ? batch.finish() : runOthers(run, batch)));
}

async function runOthers(run: Run, batch: Batch): Promise<readonly Dispatched[]> {
  let isSuspended = false;
  while (!batch.isDone && !isSuspended) {
    const wave = batch.takeWave();
    if (wave.length > 0) await runWave(run, wave, batch);
    else isSuspended = await pauseBatch(run, batch);
  }
  return batch.finish();
}

/** The tools of a wave are steps that are created together; nested runs go on beside them. */
function runWave(run: Run, wave: readonly Entry[], batch: Batch): void | PromiseLike<void> {
  if (wave.length === 0) return undefined;
  const tools = wave.filter(({ agent }) => agent === undefined);
  const placed = whenReady(runTools(run, tools), (ends) => placeAll(tools, ends, batch));
  if (tools.length === wave.length) return whenReady(placed, () => askOn(run, wave, batch));
  const agents = wave.map((entry) => runParked(run, entry, batch));
  return Promise.all([placed, ...agents]).then(() => askOn(run, wave, batch));
}

/** Has calls decided about that could not run without that. */
function askOn(run: Run, wave: readonly Entry[], batch: Batch): void | PromiseLike<void> {
  const open = batch.findOpen(wave);
  return open.length === 0 ? undefined : askAgain(run, open, batch);
}

async function askAgain(run: Run, open: readonly Placed[], batch: Batch): Promise<void> {
  const decided = await approveAgain(run, open, batch.isBarred);
  batch.replace(decided.map((entry, position) => ({ entry, placed: open[position] as Placed })));
}

/** Settles when the run inside a call is over, or waits. */
function runParked(run: Run, entry: Entry, batch: Batch): Promise<void> | undefined {
  const { ready, agent } = entry;
  if (agent === undefined) return undefined;
  run.parking ??= new Parking();
  const begin = async (park: Park): Promise<void> => batch.place(entry, await runAgent(run, { ...entry, agent, park }));
  if (entry.hasBegun === true) return run.parking.goOn(entry.index);
  return run.parking.begin(entry.index, begin, (isDrained) => {
    const reason = isDrained ? ({ kind: "drained" } as const) : ({ kind: "approval-required", calls: [] } as const);
    batch.place(entry, { ...toHeld(ready), suspended: { status: "suspended", reason } });
  });
}

function runTools(run: Run, wave: readonly Entry[]): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  if (wave.length === 0) return [];
  if (run.journal.durable) return runIntended(run, wave);
  return runToolSteps(
    run,
    wave,
    wave.map((entry) => toolStep(run, entry)),
  );
}

function replay(run: Run, entry: Entry | undefined, outcome: ToolAnswer): void {
  if (entry !== undefined) checkRecorded(entry.ready.call, outcome);
  replayCall(run, outcome);
}

/** `wave` are the calls of the steps. */
function runToolSteps(
  run: Run,
  wave: readonly Entry[],
  steps: readonly Step<ToolAnswer>[],
): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  return runSteps(steps, run, (outcomes, live) =>
    outcomes.map((outcome, position): Dispatched => {
      const isLive = live[position] === true;
      if (!isLive && outcome.mustAsk === undefined) replay(run, wave[position], outcome);
      return { outcome, live: isLive };
    }),
  );
}

/** Notes, before a wave starts, which execution is about to run it: on replay a foreign token says that a call may have run. */
function runIntended(run: Run, wave: readonly Entry[]): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  const intentSteps = wave.map((entry): Step<Intent> => {
    const key = keyOf(run, "intent", entry);
    return { key, kind: "intent", input: null, run: () => ({ token: run.token }) };
  });
  return runSteps(intentSteps, run, (intents) =>
    runToolSteps(
      run,
      wave,
      wave.map((entry, position) => toolStep(run, entry, intents[position])),
    ),
  );
}

function keyOf({ state }: Run, step: "intent" | "tool", { ready, index, round }: Entry): string {
  return callKey(state, step, { index, name: ready.call.name, round });
}

function toolStep(run: Run, entry: Entry, intent?: Intent): Step<ToolAnswer> {
  const { ready, isBarred, round } = entry;
  const { callId, name, args } = ready.call;
  // By an execution before this one, or by this one itself, where an engine tries a step again.
  let mayHaveRun = intent !== undefined && intent.token !== run.token;
  const body = (): ToolAnswer | PromiseLike<ToolAnswer> => {
    const past = { mayHaveRun, isBarred, round };
    mayHaveRun = true;
    return performCall(run, ready, past);
  };
  return { key: keyOf(run, "tool", entry), kind: "tool", input: { callId, name, args }, run: body };
}

function placeAll(wave: readonly Entry[], ends: readonly Dispatched[], batch: Batch): void {
  wave.forEach((entry, position) => {
    const end = ends[position];
    if (end !== undefined) batch.place(entry, end);
  });
}
