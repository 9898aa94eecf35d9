// Executes a run again and again, until it no longer waits for answers.

import { findAnswerProblem } from "../../shared/answer-problem.ts";
import { inLockstep, type OrderedEngine, toWaitingCall, type Wait, waitsOf } from "../../core/kit.ts";
import { isLoopError, type Journal, type Json, LoopError, type LoopOptions, type LoopResult } from "../../core/index.ts";

/** Answers to waits, by the ids of the waits. */
export type Answers = { readonly [id: string]: Json };

/** A wait, and the number of the answers to it that did not fit. */
export interface ShownWait extends Wait {
  readonly attempt: number;
}

export interface WaitingRun {
  /** Executes the run. `now` decides about waits whose time is over. */
  execute(answers: Answers, now: number): Promise<LoopResult>;
  /** Returns the time at which an execution begins, in milliseconds since 1970. */
  now(execution: number): number | PromiseLike<number>;
  /** Shows the waits to the outside. An empty list: the run does not wait. */
  show(waits: readonly ShownWait[]): PromiseLike<void>;
  /**
   * Waits for an answer to one of the waits, at most for `limitMs`. After that time, or if the run is to end, returns no answers.
   */
  receive(waits: readonly ShownWait[], limitMs: number | undefined): PromiseLike<Answers>;
}

/** Returns the result of the last execution: of a run that has ended, or that a drain has suspended. */
export async function runUntilEnd(run: WaitingRun): Promise<LoopResult> {
  const refused = new Map<string, number>();
  const refuse = (id: string): void => void refused.set(id, (refused.get(id) ?? 0) + 1);
  let answers: Answers = {};
  for (let execution = 0; ; execution += 1) {
    const now = await run.now(execution);
    const result = await executeOnce(run, answers, now);
    if ("refused" in result) {
      refuse(result.refused);
      answers = {};
      continue;
    }
    const waits = waitsOf(result);
    if (waits.length === 0) {
      if (execution > 0) await run.show([]);
      return result;
    }
    const shown = waits.map((wait) => ({ ...wait, attempt: refused.get(wait.id) ?? 0 }));
    await run.show(shown);
    const end = firstEnd(waits);
    answers = await run.receive(shown, end === undefined ? undefined : Math.max(1, end - now));
  }
}

/** An answer that does not fit its wait rejects the execution. The wait stays open for another answer. */
async function executeOnce(run: WaitingRun, answers: Answers, now: number): Promise<LoopResult | { readonly refused: string }> {
  try {
    return await run.execute(answers, now);
  } catch (error) {
    const isRefused = isLoopError(error, "invalid-decision") || isLoopError(error, "unknown-decision");
    if (!isRefused || !Object.hasOwn(answers, error.details.call)) throw error;
    return { refused: error.details.call };
  }
}

/** Throws LoopError "unknown-decision" or "invalid-decision" for an answer that cannot be sent. Returns its wait. */
export async function checkAnswerTo(waits: readonly ShownWait[], id: string, answer: Json): Promise<ShownWait> {
  const wait = waits.find((one) => one.id === id);
  if (wait === undefined) throw new LoopError("unknown-decision", { call: id, waiting: waits.map((one) => one.id) });
  const problem = await findAnswerProblem(toWaitingCall(wait), answer);
  if (problem !== undefined) throw problem;
  return wait;
}

/** The time at which the first wait ends itself, in milliseconds since 1970. */
export function firstEnd(waits: readonly Wait[]): number | undefined {
  const ends = waits.flatMap(({ until }) => until ?? []);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** The workflow of an engine that needs the same order of steps on each replay. Each method has the same results on a replay. */
export interface WorkflowEngine extends OrderedEngine, Pick<WaitingRun, "show" | "receive"> {
  /** The id of the workflow. */
  readonly id: string;
  /** Fires when the workflow is stopped, or when this execution of it is over. */
  readonly signal: AbortSignal;
}

/** Options for `runToolLoop` in a workflow. */
export interface WorkflowPorts {
  /** The id of the workflow. */
  readonly runId: string;
  readonly journal: Journal;
  readonly answers: NonNullable<LoopOptions["answers"]>;
  /** The recorded time of this execution, for waits with `until`. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Executes a run in a workflow. */
export function runInEngine(engine: WorkflowEngine, execute: (ports: WorkflowPorts) => Promise<LoopResult>): Promise<LoopResult> {
  const { id: runId, signal } = engine;
  const journal = inLockstep(engine);
  return runUntilEnd({
    execute: (answers, now) => execute({ runId, journal, answers, now, signal }),
    // Recorded, because a replay must decide in the same way about waits whose time is over.
    now: async (execution) => Number((await engine.all([{ key: `execution/${execution}/now`, body: () => Date.now() }]))[0]),
    show: (waits) => engine.show(waits),
    receive: (waits, limitMs) => engine.receive(waits, limitMs),
  });
}
