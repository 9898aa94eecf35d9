// The third phase of a batch: runs the ready calls in waves. Parallel by default; a sequential tool has a wave to itself.

import type { Step } from "../contract/journal.ts";
import type { ToolCall, ToolOutcome } from "../contract/tool-outcome.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { dispatchCall, type DispatchPorts } from "../stages/dispatch-call.ts";
import type { ReadyCall } from "../stages/prepare-call.ts";
import { renderOutcome } from "../tools/render-outcome.ts";
import type { Dispatched, Prepared } from "./run-batch.ts";
import type { Run } from "./run.ts";
import { runSteps } from "./run-step.ts";
import { CallContext } from "./tool-context.ts";

interface Entry {
  readonly ready: ReadyCall;
  /** Position in the batch. */
  readonly index: number;
}

/** The token of the execution that meant to run a call. */
type Intent = { readonly token: string };

/** Runs what is ready and returns every outcome in call order. After a fatal failure nothing more is dispatched. */
export async function dispatchWaves(run: Run, prepared: readonly Prepared[]): Promise<readonly Dispatched[]> {
  const dispatched: Dispatched[] = [];
  const entries: Entry[] = [];
  for (const [index, entry] of prepared.entries()) {
    if (entry.kind === "ready") entries.push({ ready: entry, index });
    else dispatched[index] = refuse(run, entry);
  }
  let isFatal = false;
  for (const wave of toWaves(entries, run.toolConcurrency)) {
    if (isFatal) {
      for (const { ready, index } of wave) dispatched[index] = refuse(run, { call: ready.call, durationMs: 0, kind: "not-run" });
      continue;
    }
    const answers = await runWave(run, wave);
    for (const [position, { index }] of wave.entries()) {
      const answer = answers[position];
      if (answer === undefined) continue;
      dispatched[index] = answer;
      isFatal ||= answer.outcome.kind === "failed" && answer.outcome.fatal === true;
    }
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

async function runWave(run: Run, wave: readonly Entry[]): Promise<readonly Dispatched[]> {
  const intents = run.journal.durable ? await readIntents(run, wave) : [];
  const live = new Set<number>();
  const steps = wave.map((entry, position) => toolStep(run, entry, { intent: intents[position], live }));
  let dispatched: readonly Dispatched[] = [];
  const pending = runSteps(steps, run, (outcomes) => {
    dispatched = outcomes.map((outcome, position) => ({ outcome, live: live.has(wave[position]?.index ?? -1) }));
  });
  if (pending !== undefined) await pending;
  for (const { outcome, live: ran } of dispatched) if (!ran) sendBoth(run, outcome, true);
  return dispatched;
}

/** Notes, before a wave starts, which execution is about to run it: on replay a foreign token says that a call may have run. */
async function readIntents(run: Run, wave: readonly Entry[]): Promise<readonly Intent[]> {
  const { iteration } = run.state;
  const steps = wave.map(({ ready, index }): Step<Intent> => {
    const key = `p${iteration}/intent/${index}/${ready.call.name}`;
    return { key, kind: "intent", input: null, run: () => ({ token: run.token }) };
  });
  let intents: readonly Intent[] = [];
  await runSteps(steps, run, (answers) => {
    intents = answers;
  });
  return intents;
}

function toolStep(run: Run, { ready, index }: Entry, { intent, live }: { intent: Intent | undefined; live: Set<number> }): Step<ToolOutcome> {
  const { call, definition } = ready;
  const key = `p${run.state.iteration}/tool/${index}/${call.name}`;
  const body = (): ToolOutcome | Promise<ToolOutcome> => {
    const isSecond = live.has(index) || (intent !== undefined && intent.token !== run.token);
    live.add(index);
    sendStart(run, call, false);
    if (isSecond && definition.replay !== "safe") return finish(run, { call, durationMs: 0, kind: "interrupted" });
    const told: { metadata?: unknown } = {};
    const outcome = dispatchCall(ready, dispatchPorts(run, { key, told }));
    return isThenable(outcome) ? outcome.then((end) => finish(run, end, told.metadata)) : finish(run, outcome, told.metadata);
  };
  return { key, kind: "tool", input: { callId: call.callId, name: call.name, args: call.args }, run: body };
}

function dispatchPorts(run: Run, { key, told }: { key: string; told: { metadata?: unknown } }): DispatchPorts {
  const { registry, clock, timeouts, scope, events, state } = run;
  return {
    registry,
    clock,
    timeouts,
    scope,
    contextFor: (call, deadline) => new CallContext(run, { call, deadline, key }),
    onMetadata: (_, metadata) => {
      told.metadata = metadata;
    },
    onLate: ({ callId, name }, success) => events.send("late-result", { runId: events.runId, iteration: state.iteration, callId, name, success }),
  };
}

function refuse(run: Run, outcome: ToolOutcome): Dispatched {
  sendBoth(run, outcome, run.replayed);
  return { outcome, live: !run.replayed };
}

function finish(run: Run, outcome: ToolOutcome, metadata?: unknown): ToolOutcome {
  sendEnd(run, outcome, { replayed: false, metadata });
  return outcome;
}

function sendBoth(run: Run, outcome: ToolOutcome, replayed: boolean): void {
  sendStart(run, outcome.call, replayed);
  sendEnd(run, outcome, { replayed });
}

function sendStart({ events, state }: Run, { callId, name, args }: ToolCall, replayed: boolean): void {
  if (!events.wants("tool-start")) return;
  events.send("tool-start", { runId: events.runId, iteration: state.iteration, callId, name, args, replayed: replayed ? true : undefined });
}

function sendEnd({ events, state }: Run, outcome: ToolOutcome, { replayed, metadata }: { replayed: boolean; metadata?: unknown }): void {
  if (!events.wants("tool-end")) return;
  const { callId, name } = outcome.call;
  const base = { runId: events.runId, iteration: state.iteration, callId, name, replayed: replayed ? true : undefined };
  events.send("tool-end", { ...base, outcome: outcome.kind, result: renderOutcome(outcome), durationMs: outcome.durationMs, metadata });
}
