// Runs steps through the journal. Answers come at once where the journal has them at once: a memory journal costs no tick.

import type { Journal, Step } from "../contract/journal.ts";
import type { RunScope } from "../kit/run-scope.ts";

/** What running a step uses of a run. */
export interface StepPorts {
  readonly journal: Journal;
  readonly scope: RunScope;
}

/** Runs or recalls one step. */
export function runStep<T>(step: Step<T>, ports: StepPorts): T | PromiseLike<T> {
  return ports.journal.step(ports.journal.durable ? obeyEngine(step, ports) : step);
}

/** Runs or recalls several steps, created in order; a single one is a plain step. */
export function runSteps<T>(steps: readonly Step<T>[], ports: StepPorts): readonly T[] | PromiseLike<readonly T[]> {
  const { journal } = ports;
  return journal.all(journal.durable ? steps.map((step) => obeyEngine(step, ports)) : steps);
}

/** An engine that cancels a step aborts the run; its signal is let go when the step ends. */
function obeyEngine<T>(step: Step<T>, { scope }: StepPorts): Step<T> {
  const run: Step<T>["run"] = async (call) => {
    const { signal } = call;
    const abort = (): void => scope.cancel({ kind: "abort", reason: signal?.reason });
    if (signal?.aborted === true) abort();
    signal?.addEventListener("abort", abort);
    try {
      return await step.run(call);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };
  return { ...step, run };
}
