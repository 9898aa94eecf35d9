// Runs the calls that are ready: beside each other, at most `toolConcurrency` at once; a sequential tool runs alone.

import type { Step } from "../../types/journal.ts";
import type { Cancelled } from "../../policies/approval.ts";
import { isCut, parkRun, waitForTurn } from "../run/park-run.ts";
import type { AwaitingCall, Dispatched, ToolAnswer } from "../run/call.ts";
import type { Run } from "../run/run.ts";
import { isRecorded, runSteps } from "../run/run-step.ts";
import { Batch, type Entry, toHeld } from "./batch.ts";
import { callKey } from "../state/step-key.ts";
import { isThenable } from "../../utils/guards.ts";
import { whenReady } from "../../utils/promises.ts";
import { performCall } from "./execute-tool-call.ts";
import { checkRecorded, replayCall } from "./replay-call.ts";
import type { Park } from "../run/parking.ts";
import { approveAgain } from "./approve-calls.ts";
import type { BatchEntry } from "./batch-entry.ts";
import type { Placed } from "./settle-call.ts";

/** Decides what becomes of what waits. Gives true if it is suspended, and false where the batch goes on. */
async function pauseBatch(run: Run, batch: Batch): Promise<boolean> {
  const { parking } = run;
  // What the records hold is not decided again.
  if (run.journal.replays === undefined) {
    if (batch.isBarred || isCut(run)) return endWaiting(run, batch);
    if (parking?.mustGoOn === true) {
      await parking.goOnEnded();
      return false;
    }
  }
  const end = await parkRun(run, batch.isDrained);
  if (end === "ended") return endWaiting(run, batch);
  if (end === "look-again") return false;
  await parking?.leave();
  return true;
}

/**
 * Says of what waits that it never runs. Without that the run would end as suspended, and a call that is approved later would run after
 * all. Each is recorded as "cancelled", so that a replay says the same.
 */
async function endWaiting(run: Run, batch: Batch): Promise<false> {
  batch.bar();
  await run.parking?.end();
  const { awaiting } = batch;
  await runSteps(
    awaiting.map(({ entry }) => toStep(entry)),
    run,
    () => {
      for (const { entry, index } of awaiting) batch.drop(index, entry.call);
    },
  );
  return false;
}

function toStep({ call: { callId, name, args }, key }: AwaitingCall): Step<Cancelled> {
  return { key, kind: "approval", input: { callId, name, args }, run: () => ({ kind: "cancelled" }) };
}

/** Whether a batch may have such calls, and the journal can say so. One that knows steps by their order has one order for them. */
function mayHaveRecorded({ replayed, journal }: Run, { todo }: Batch): boolean {
  if (!replayed || journal.replays !== undefined || journal.ordered === true || journal.wait !== undefined) return false;
  return journal.has !== undefined || todo.some(({ agent }) => agent !== undefined);
}

/** Replays them. Runs inside calls go on as far as their records go. Throws LoopError "unknown-decision". */
async function replayRecorded(
  run: Run,
  batch: Batch,
  replay: (wave: readonly Entry[]) => void | PromiseLike<void>,
): Promise<void> {
  const begun: Entry[] = [];
  for (;;) {
    const wave = await takeRecorded(run, batch);
    if (wave.length === 0) break;
    begun.push(...wave);
    await replay(wave);
  }
  if (run.park === undefined && run.scope.cause === undefined) run.decisions.refuseInside(run.state.turn.calls);
  batch.takeBack(begun);
  // Those inside it would go on in its place.
  if (batch.hasBegun) await waitForTurn(run);
}

async function takeRecorded(run: Run, batch: Batch): Promise<readonly Entry[]> {
  const found = await Promise.all(batch.todo.map(async (entry) => isOnRecord(run, batch, entry)));
  const recorded = new Set(batch.todo.filter((_, position) => found[position] === true));
  return batch.take((entry) => recorded.has(entry));
}

function isOnRecord(run: Run, batch: Batch, entry: Entry): boolean | PromiseLike<boolean> {
  const { ready, index, round, agent } = entry;
  const { callId, name } = ready.call;
  if (run.journal.has !== undefined)
    return isRecorded(run, callKey(run.state, agent === undefined ? "tool" : "agent", { index, name, round }));
  // A journal that cannot say so may have all runs that could have begun. One that has not begun does so, and waits for its turn.
  return agent !== undefined && (batch.isFree(entry) || run.decisions.isLeftInside(callId));
}

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
  if (mustSlide(run, batch)) return runOthers(run, batch);
  return whenReady(runWave(run, batch.takeWave(), batch), () => (batch.isDone ? batch.finish() : runOthers(run, batch)));
}

/** Whether there are more calls than may run beside each other. A journal that knows steps by their order gets them in waves. */
function mustSlide({ journal, bounds }: Run, { todo }: Batch): boolean {
  return journal.ordered !== true && todo.length > bounds.toolConcurrency;
}

async function runOthers(run: Run, batch: Batch): Promise<readonly Dispatched[]> {
  let isSuspended = false;
  while (!batch.isDone && !isSuspended) {
    if (mustSlide(run, batch)) await runWindow(run, batch);
    const wave = batch.takeWave();
    if (wave.length > 0) await runWave(run, wave, batch);
    else isSuspended = await pauseBatch(run, batch);
  }
  return batch.finish();
}

/** Runs calls beside each other: when one ends, the next one begins. A call that has to be decided about again holds those after it. */
async function runWindow(run: Run, batch: Batch): Promise<void> {
  const begun: Entry[] = [];
  const running = new Set<PromiseLike<void>>();
  let isHeld = false;
  for (;;) {
    const entry = isHeld ? undefined : batch.takeNext(running.size);
    if (entry === undefined) {
      if (running.size === 0) break;
      await Promise.race(running);
      continue;
    }
    begun.push(entry);
    const end = whenReady(runCall(run, entry, batch), () => {
      isHeld ||= batch.findOpen([entry]).length > 0;
    });
    if (!isThenable(end)) continue;
    const settled = end.then(() => void running.delete(settled));
    running.add(settled);
    if (batch.isAlone(entry)) await settled;
  }
  await askOn(run, begun, batch);
}

function runCall(run: Run, entry: Entry, batch: Batch): void | PromiseLike<void> {
  return runParked(run, entry, batch) ?? whenReady(runTools(run, [entry]), (ends) => placeAll([entry], ends, batch));
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
  run.parking ??= agent.createParking();
  const begin = async (park: Park): Promise<void> => batch.place(entry, await agent.run(run, { ...entry, agent, park }));
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
