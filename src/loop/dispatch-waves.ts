// The third phase of a batch: runs the ready calls in waves. Parallel by default; a sequential tool has a wave to itself.

import type { Step } from "../contract/journal.ts";
import type { ToolOutcome } from "../contract/tool-outcome.ts";
import { whenReady } from "../kit/when-ready.ts";
import { dispatchCall } from "../stages/dispatch-call.ts";
import type { Prepared, ReadyCall } from "../stages/prepare-call.ts";
import type { Run } from "./run.ts";
import { runSteps } from "./run-step.ts";
import { stepKey } from "./step-key.ts";
import { sendToolEnd, sendToolStart } from "./tool-events.ts";

/** A call's outcome, and whether it came about in this execution. */
export interface Dispatched {
  readonly outcome: ToolOutcome;
  readonly live: boolean;
}

/** A ready call at its position in the batch. */
interface Entry {
  readonly ready: ReadyCall;
  readonly index: number;
  /** Whether the body of its step has run in this execution. */
  live: boolean;
}

/** The token of the execution that meant to run a call. */
interface Intent {
  readonly token: string;
}

/** Runs what is ready and gives every outcome in call order. After a fatal failure nothing more is dispatched. */
export function dispatchWaves(
  run: Run,
  prepared: readonly Prepared[],
): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  const dispatched: Dispatched[] = [];
  const entries: Entry[] = [];
  prepared.forEach((entry, index) => {
    if (entry.kind === "ready") entries.push({ ready: entry, index, live: false });
    else dispatched[index] = refuse(run, entry);
  });
  const waves = toWaves(entries, run.toolConcurrency);
  const [first = [], ...others] = waves;
  if (others.length > 0) return runWaves(run, waves, dispatched);
  return whenReady(runWave(run, first), (outcomes) => place(run, first, { outcomes, dispatched }));
}

async function runWaves(
  run: Run,
  waves: readonly (readonly Entry[])[],
  dispatched: Dispatched[],
): Promise<readonly Dispatched[]> {
  for (const wave of waves) {
    const isFatal = dispatched.some((call) => call?.outcome.kind === "failed" && call.outcome.fatal === true);
    if (isFatal)
      for (const { ready, index } of wave) dispatched[index] = refuse(run, { call: ready.call, durationMs: 0, kind: "not-run" });
    else place(run, wave, { outcomes: await runWave(run, wave), dispatched });
  }
  return dispatched;
}

function toWaves(entries: readonly Entry[], concurrency: number): readonly (readonly Entry[])[] {
  const waves: Entry[][] = [];
  let open: Entry[] | undefined;
  for (const entry of entries) {
    const isAlone = entry.ready.definition.sequential === true;
    if (open === undefined || isAlone || open.length >= concurrency) {
      open = [];
      waves.push(open);
    }
    open.push(entry);
    if (isAlone) open = undefined;
  }
  return waves;
}

function runWave(run: Run, wave: readonly Entry[]): readonly ToolOutcome[] | PromiseLike<readonly ToolOutcome[]> {
  if (run.journal.durable) return runIntendedWave(run, wave);
  const steps = wave.map((entry) => toolStep(run, entry));
  return runSteps(steps, run);
}

/** Notes, before a wave starts, which execution is about to run it: on replay a foreign token says that a call may have run. */
async function runIntendedWave(run: Run, wave: readonly Entry[]): Promise<readonly ToolOutcome[]> {
  const intentSteps = wave.map(({ ready, index }): Step<Intent> => {
    const key = stepKey(run.state, `intent/${index}/${ready.call.name}`);
    return { key, kind: "intent", input: null, run: () => ({ token: run.token }) };
  });
  const intents = await runSteps(intentSteps, run);
  const steps = wave.map((entry, position) => toolStep(run, entry, intents[position]));
  return runSteps(steps, run);
}

function toolStep(run: Run, entry: Entry, intent?: Intent): Step<ToolOutcome> {
  const { ready, index } = entry;
  const { callId, name, args } = ready.call;
  const body = (): ToolOutcome | PromiseLike<ToolOutcome> => {
    // Either an execution before this one, or this one itself, where an engine tries a step again.
    const mayHaveRun = entry.live || (intent !== undefined && intent.token !== run.token);
    entry.live = true;
    run.replayed = false;
    sendToolStart(run, ready.call, false);
    const outcome: ToolOutcome | Promise<ToolOutcome> =
      mayHaveRun && ready.definition.replay !== "safe"
        ? { call: ready.call, durationMs: 0, kind: "interrupted" }
        : dispatchCall(ready, run.ports);
    return whenReady(outcome, (end) => {
      sendToolEnd(run, end, false);
      return end;
    });
  };
  return { key: stepKey(run.state, `tool/${index}/${name}`), kind: "tool", input: { callId, name, args }, run: body };
}

interface WaveOutcomes {
  readonly outcomes: readonly ToolOutcome[];
  readonly dispatched: Dispatched[];
}

function place(run: Run, wave: readonly Entry[], { outcomes, dispatched }: WaveOutcomes): readonly Dispatched[] {
  wave.forEach(({ index, live }, position) => {
    const outcome = outcomes[position];
    if (outcome === undefined) return;
    if (!live) sendBoth(run, outcome, true);
    dispatched[index] = { outcome, live };
  });
  return dispatched;
}

function refuse(run: Run, outcome: ToolOutcome): Dispatched {
  sendBoth(run, outcome, run.replayed);
  return { outcome, live: !run.replayed };
}

function sendBoth(run: Run, outcome: ToolOutcome, replayed: boolean): void {
  sendToolStart(run, outcome.call, replayed);
  sendToolEnd(run, outcome, replayed);
}
