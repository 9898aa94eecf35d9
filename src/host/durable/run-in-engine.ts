// Executes a run repeatedly until it no longer waits for answers.

import { findAnswerProblem } from "../../shared/answer-problem.ts";
import { type AskedStep, inLockstep, toWaitingCall, type Wait, waitsOf } from "../../core/kit.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { isLoopError, type Journal, type Json, LoopError, type LoopOptions, type LoopResult } from "../../core/index.ts";

/** Answers to waiting calls, by the id of the wait. */
export type Answers = { readonly [id: string]: Json };

/** A wait, and how many invalid answers it has received. */
export interface ShownWait extends Wait {
  readonly attempt: number;
}

export interface WaitingRun {
  /** Executes the run. `now` determines which waits have reached their time limit. */
  execute(answers: Answers, now: number): Promise<LoopResult>;
  /** Returns the time at which an execution begins, in milliseconds since 1970. */
  now(execution: number): number | PromiseLike<number>;
  /** Publishes what the run is waiting for. An empty list means that it is not waiting. */
  show(waits: readonly ShownWait[]): PromiseLike<void>;
  /** Waits for an answer to one of the waits, for at most `limitMs`. After that time, or if the run must end, returns no answers. */
  receive(waits: readonly ShownWait[], limitMs: number | undefined): PromiseLike<Answers>;
}

/** Returns the result of the last execution. The run has then ended, or was suspended by a drain. */
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

/** Executes the run once. An invalid answer makes the execution reject, and its wait stays open for another answer. */
async function executeOnce(run: WaitingRun, answers: Answers, now: number): Promise<LoopResult | { readonly refused: string }> {
  try {
    return await run.execute(answers, now);
  } catch (error) {
    const isRefused = isLoopError(error, "invalid-decision") || isLoopError(error, "unknown-decision");
    if (!isRefused || !Object.hasOwn(answers, error.details.call)) throw error;
    return { refused: error.details.call };
  }
}

/** Returns the wait that an answer is for. Throws LoopError "unknown-decision" or "invalid-decision" if the answer cannot be sent. */
export async function checkAnswerTo(waits: readonly ShownWait[], id: string, answer: Json): Promise<ShownWait> {
  const wait = waits.find((one) => one.id === id);
  if (wait === undefined) throw new LoopError("unknown-decision", { call: id, waiting: waits.map((one) => one.id) });
  const problem = await findAnswerProblem(toWaitingCall(wait), answer);
  if (problem !== undefined) throw problem;
  return wait;
}

/** Returns the time at which the first wait expires, in milliseconds since 1970. */
export function firstEnd(waits: readonly Wait[]): number | undefined {
  const ends = waits.flatMap(({ until }) => until ?? []);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/**
 * How a step is stored. `text` is the result as JSON text, and `failed` is an error message. The error itself is not thrown, because an
 * engine would replay the error or repeat the step. The loop decides what happens after an error, and a new execution must run the step
 * again.
 */
export type StoredStep = { readonly text: string } | { readonly failed: string };

/** A workflow of an engine that requires the same order of steps on each replay. Each method returns the same results on a replay. */
export interface WorkflowEngine<Step extends PromiseLike<StoredStep>> extends Pick<WaitingRun, "show" | "receive"> {
  /** The id of the workflow. */
  readonly id: string;
  /** Fires when the workflow is stopped, or when this execution ends. */
  readonly signal: AbortSignal;
  /** Begins a step, or returns its stored result. The engine numbers the steps in the order of these calls. */
  begin(name: string, body: () => Promise<StoredStep>): Step;
  /** Waits until these steps have finished, and returns their results. */
  finish(steps: readonly Step[]): PromiseLike<readonly StoredStep[]>;
}

/**
 * A step that has begun. `thrown` is its error, if the step failed in this execution, and is absent if the engine has replayed the failure.
 */
interface BegunStep<Step> {
  readonly asked: AskedStep;
  readonly stored: Step;
  thrown?: { readonly error: unknown } | undefined;
}

function beginStep<Step extends PromiseLike<StoredStep>>(
  engine: WorkflowEngine<Step>,
  asked: AskedStep,
  attempt: number,
): BegunStep<Step> {
  const body = async (): Promise<StoredStep> => {
    try {
      return { text: JSON.stringify(await asked.body()) };
    } catch (error) {
      begun.thrown = { error };
      return { failed: toPlainError(error).message };
    }
  };
  const name = attempt === 0 ? asked.key : `${asked.key} attempt ${attempt}`;
  const begun: BegunStep<Step> = { asked, stored: engine.begin(name, body) };
  return begun;
}

/** Runs steps together. If a step failed in an earlier execution, runs it again. */
async function runSteps<Step extends PromiseLike<StoredStep>>(
  engine: WorkflowEngine<Step>,
  wave: readonly AskedStep[],
): Promise<readonly unknown[]> {
  const steps = wave.map((step) => beginStep(engine, step, 0));
  const ends = await engine.finish(steps.map(({ stored }) => stored));
  const results: unknown[] = [];
  for (const [index, first] of steps.entries()) {
    let step = first;
    let end = ends[index];
    for (let attempt = 1; end !== undefined && "failed" in end; attempt += 1) {
      if (step.thrown !== undefined) throw step.thrown.error;
      step = beginStep(engine, step.asked, attempt);
      [end] = await engine.finish([step.stored]);
    }
    results.push(end === undefined ? undefined : JSON.parse(end.text));
  }
  return results;
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
export function runInEngine<Step extends PromiseLike<StoredStep>>(
  engine: WorkflowEngine<Step>,
  execute: (ports: WorkflowPorts) => Promise<LoopResult>,
): Promise<LoopResult> {
  const { id: runId, signal } = engine;
  const all = (wave: readonly AskedStep[]): Promise<readonly unknown[]> => runSteps(engine, wave);
  const journal = inLockstep({ all });
  return runUntilEnd({
    execute: (answers, now) => execute({ runId, journal, answers, now, signal }),
    // Records the time, so that a replay treats the same waits as expired.
    now: async (execution) => Number((await all([{ key: `execution/${execution}/now`, body: () => Date.now() }]))[0]),
    show: (waits) => engine.show(waits),
    receive: (waits, limitMs) => engine.receive(waits, limitMs),
  });
}
