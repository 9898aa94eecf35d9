// The third phase of a batch: runs the ready calls in waves. Parallel by default; a sequential tool has a wave to itself.

import type { Step } from "../../contract/journal.ts";
import type { Agent } from "../../contract/loop-options.ts";
import type { ToolCall } from "../../contract/tool-outcome.ts";
import { whenReady } from "../../kit/when-ready.ts";
import type { ReadyCall } from "../../stages/prepare-call.ts";
import { isFatal } from "../../tools/render-outcome.ts";
import type { BatchEntry, OverCall } from "./batch-entry.ts";
import { type Park, Parking } from "../run/parking.ts";
import { performCall } from "../call/perform-call.ts";
import { checkRecorded, refuse, replayCall } from "../call/replay-call.ts";
import type { AwaitingCall, Dispatched, Run, ToolAnswer } from "../run/run.ts";
import { approveAgain } from "./approve-calls.ts";
import type { Placed } from "./settle-call.ts";
import { runAgent } from "./run-agent.ts";
import { runSteps } from "../run/run-step.ts";
import { callKey } from "../../state/step-key.ts";

/** A ready call at its position in the batch. */
interface Entry {
  readonly ready: ReadyCall;
  readonly index: number;
  /** How often somebody was asked about the call again. */
  readonly round: number;
  /** Set where the call is a run of its own. */
  readonly agent: Agent | undefined;
  /** Set behind a fatal failure: it runs no more, but what it gave in an execution before this one is replayed. */
  readonly isBarred?: true | undefined;
}

/** The token of the execution that meant to run a call. */
interface Intent {
  readonly token: string;
}

/** The calls of a batch, in call order. */
export interface Batch {
  /** What became of each so far. */
  readonly dispatched: Dispatched[];
  /** Ready calls that have to wait until others go on. */
  readonly held: readonly Entry[];
}

/** Runs what is ready. After a fatal failure nothing more begins. */
export function dispatchWaves(run: Run, prepared: readonly BatchEntry[]): Batch | PromiseLike<Batch> {
  const dispatched: Dispatched[] = [];
  const entries: Entry[] = [];
  const held: Entry[] = [];
  const line = new Line();
  prepared.forEach((entry, index) => {
    if (entry.kind === "over") dispatched[index] = takeOver(run, entry);
    else if (entry.kind === "awaiting") {
      line.wait(entry);
      dispatched[index] = { ...hold(entry), awaiting: entry };
    } else if (entry.kind !== "ready") dispatched[index] = refuse(run, entry, !run.replayed);
    else {
      const ready = toEntry(run, { ready: entry, index, round: 0 });
      if (line.mayPass(entry)) entries.push(ready);
      else held.push(ready);
    }
  });
  for (const { ready, index } of held) dispatched[index] = hold(ready);
  const waves = toWaves(entries, run);
  const [first = [], ...others] = waves;
  const batch = { dispatched, held };
  if (others.length > 0) return runWaves(run, waves, batch);
  return whenReady(runWave(run, first, dispatched), () => batch);
}

function toEntry(run: Run, placed: Placed): Entry {
  return { ...placed, agent: run.registry.agentOf?.(placed.ready.call.name) };
}

function takeOver(run: Run, { outcome, live, announced }: OverCall): Dispatched {
  return announced ? { outcome, live } : refuse(run, outcome, live);
}

/** Who waits for a decision is overtaken, but not across a sequential call: what is behind one begins when it is over. */
class Line {
  #waits = false;
  #isShut = false;

  wait({ isSequential }: AwaitingCall): void {
    this.#waits = true;
    this.#isShut ||= isSequential;
  }

  mayPass({ definition }: ReadyCall): boolean {
    this.#isShut ||= this.#waits && definition.sequential === true;
    return !this.#isShut;
  }
}

/** Nothing begins that has not, and nothing is said of it: the call begins when it may. */
function hold({ call }: { readonly call: ToolCall }): Dispatched {
  return { outcome: { call, durationMs: 0, kind: "not-run" }, live: true };
}

/** What may happen behind a wave: all, only what has happened in an execution before this one, or nothing yet. */
type Gate = "open" | "barred" | "held";

/** After a fatal failure nothing more begins, and behind a run that was drained nothing does until it goes on. */
function gateBehind(wave: readonly Entry[], dispatched: readonly Dispatched[]): Gate {
  if (wave.some(({ index }) => dispatched[index]?.suspended?.reason.kind === "drained")) return "held";
  return wave.some(({ index }) => isFatalAt(dispatched, index)) ? "barred" : "open";
}

function isFatalAt(dispatched: readonly Dispatched[], index: number): boolean {
  const call = dispatched[index];
  return call !== undefined && isFatal(call.outcome);
}

async function runWaves(run: Run, waves: readonly (readonly Entry[])[], { dispatched, held }: Batch): Promise<Batch> {
  let gate: Gate = dispatched.some(({ outcome }) => isFatal(outcome)) ? "barred" : "open";
  const drained: Entry[] = [];
  for (const wave of waves) {
    if (gate === "held") {
      for (const entry of wave) dispatched[entry.index] = hold(entry.ready);
      drained.push(...wave);
      continue;
    }
    await runWave(run, gate === "open" ? wave : wave.map(bar), dispatched);
    if (gate === "open") gate = gateBehind(wave, dispatched);
  }
  return { dispatched, held: [...drained, ...held] };
}

/** Says of what was held that it never runs. */
export function barHeld(run: Run, { dispatched, held }: Batch): void | PromiseLike<void> {
  return runWave(run, held.map(bar), dispatched);
}

function bar(entry: Entry): Entry {
  return { ...entry, isBarred: true };
}

/** A nested run is alone where the journal wants its steps in one order. */
function toWaves(entries: readonly Entry[], { bounds, journal }: Run): readonly (readonly Entry[])[] {
  const waves: Entry[][] = [];
  let open: Entry[] | undefined;
  for (const entry of entries) {
    const isAlone = entry.ready.definition.sequential === true || (entry.agent !== undefined && journal.ordered === true);
    if (open === undefined || isAlone || open.length >= bounds.toolConcurrency) {
      open = [];
      waves.push(open);
    }
    open.push(entry);
    if (isAlone) open = undefined;
  }
  return waves;
}

/** The tools of a wave are steps that are created together; nested runs go on beside them. */
function runWave(run: Run, wave: readonly Entry[], dispatched: Dispatched[]): void | PromiseLike<void> {
  const tools = wave.filter(({ agent }) => agent === undefined);
  const placed = whenReady(runTools(run, tools), (ends) => place(tools, ends, dispatched));
  if (tools.length === wave.length) return whenReady(placed, () => askOn(run, wave, dispatched));
  const agents = wave.map((entry) => runParked(run, entry, dispatched));
  return Promise.all([placed, ...agents]).then(() => askOn(run, wave, dispatched));
}

/** Has calls decided about that could not run without that, and runs those that may. */
function askOn(run: Run, wave: readonly Entry[], dispatched: Dispatched[]): void | PromiseLike<void> {
  const open = wave.flatMap(({ ready, index, round }): readonly Placed[] => {
    const mustAsk = dispatched[index]?.outcome.mustAsk;
    return mustAsk === undefined ? [] : [{ ready: { ...ready, mustAsk }, index, round: round + 1 }];
  });
  return open.length === 0 ? undefined : askAgain(run, open, dispatched);
}

async function askAgain(run: Run, open: readonly Placed[], dispatched: Dispatched[]): Promise<void> {
  const decided = await approveAgain(run, open);
  const entries: Entry[] = [];
  for (const [position, placed] of open.entries()) {
    const entry = decided[position];
    if (entry?.kind === "ready") entries.push(toEntry(run, { ...placed, ready: entry }));
    else if (entry?.kind === "awaiting") dispatched[placed.index] = { ...hold(entry), awaiting: entry };
    else if (entry !== undefined)
      dispatched[placed.index] = entry.kind === "over" ? takeOver(run, entry) : refuse(run, entry, !run.replayed);
  }
  for (const wave of toWaves(entries, run)) await runWave(run, wave, dispatched);
}

/** Settles when the run inside a call is over, or waits. */
function runParked(
  run: Run,
  { ready, index, agent, isBarred, round }: Entry,
  dispatched: Dispatched[],
): Promise<void> | undefined {
  if (agent === undefined) return undefined;
  run.parking ??= new Parking();
  const begin = async (park: Park): Promise<void> => {
    dispatched[index] = await runAgent(run, { ready, index, agent, isBarred, park, round });
  };
  return run.parking.begin(begin, (isDrained) => {
    const reason = isDrained ? ({ kind: "drained" } as const) : ({ kind: "approval-required", calls: [] } as const);
    dispatched[index] = { ...hold(ready), suspended: { status: "suspended", reason } };
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

function place(wave: readonly Entry[], ends: readonly Dispatched[], dispatched: Dispatched[]): void {
  wave.forEach(({ index }, position) => {
    const end = ends[position];
    if (end !== undefined) dispatched[index] = end;
  });
}
