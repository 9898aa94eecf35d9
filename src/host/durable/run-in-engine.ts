// Runs the loop in the workflow of an engine that needs the same order of steps on each replay: executes it, waits durably for
// answers, and executes it again with the answers.

import { inLockstep, type Journal, type Json, type LoopResult, type OrderedEngine, type Wait } from "../../core/entry-kit.ts";

/** An answer that was sent to a run. */
export interface SentAnswer {
  readonly id: string;
  readonly value: Json;
}

/** A wait as a workflow shows it. */
export interface ShownWait extends Wait {
  /** The number of the answers to this wait that did not fit. */
  readonly attempt: number;
}

/** The workflow of an engine. Each method has the same results on a replay. */
export interface WorkflowEngine extends OrderedEngine {
  /** The id of the workflow. */
  readonly id: string;
  /** Fires when the workflow is stopped, or when this execution of it is over. */
  readonly signal: AbortSignal;
  /** Shows the waits to the outside. An empty list: nothing waits. */
  show(waits: readonly ShownWait[]): PromiseLike<void>;
  /** Waits durably for an answer to one of the waits, at most for `limitMs`. Returns undefined after that time. */
  receive(waits: readonly ShownWait[], limitMs: number | undefined): PromiseLike<SentAnswer | undefined>;
}

/** Options for `runToolLoop` in a workflow. */
export interface WorkflowPorts {
  /** The id of the workflow. */
  readonly runId: string;
  readonly journal: Journal;
  readonly answers: { readonly [id: string]: Json };
  /** The recorded time of this execution, for waits with `until`. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Executes the loop until it no longer waits for answers. Returns the result of the last execution: of a run that has ended, or that
 * `control.drain()` has suspended.
 */
export async function runInEngine(
  engine: WorkflowEngine,
  execute: (ports: WorkflowPorts) => Promise<LoopResult>,
): Promise<LoopResult> {
  const { id: runId, signal } = engine;
  const journal = inLockstep(engine);
  const refused = new Map<string, number>();
  let answers: WorkflowPorts["answers"] = {};
  for (let execution = 0; ; execution += 1) {
    // Recorded, because a replay must decide in the same way about waits whose time is over.
    const [now] = (await engine.all([{ key: `execution/${execution}/now`, body: () => Date.now() }])) as [number];
    const result = await execute({ runId, journal, answers, now, signal });
    const waits = waitsOf(result);
    if (waits.length === 0) {
      if (execution > 0) await engine.show([]);
      return result;
    }
    for (const { id, problem } of waits) if (problem !== undefined) refused.set(id, (refused.get(id) ?? 0) + 1);
    const shown = waits.map((wait) => ({ ...wait, attempt: refused.get(wait.id) ?? 0 }));
    await engine.show(shown);
    const answer = await engine.receive(shown, limitOf(waits, now));
    answers = answer === undefined ? {} : { [answer.id]: answer.value };
  }
}

function waitsOf({ status, reason }: LoopResult): readonly Wait[] {
  return status === "suspended" && "waits" in reason ? (reason.waits as readonly Wait[]) : [];
}

/** The time until the first wait ends itself, in milliseconds. */
function limitOf(waits: readonly Wait[], now: number): number | undefined {
  const ends = waits.flatMap(({ until }) => until ?? []);
  return ends.length === 0 ? undefined : Math.max(1, Math.min(...ends) - now);
}
