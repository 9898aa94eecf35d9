// Runs a step through the journal and folds its answer. The one place that looks whether an answer needs waiting: a memory journal
// costs no tick.

import type { Journal, Step } from "../contract/journal.ts";
import { isThenable } from "../kit/is-thenable.ts";
import type { RunScope } from "../kit/run-scope.ts";

/** What running a step uses of a run. */
export interface StepPorts {
  readonly journal: Journal;
  readonly scope: RunScope;
}

/** Runs or recalls one step; `fold` gets the answer at once where it is there at once. */
export function runStep<T>(step: Step<T>, ports: StepPorts, fold: (answer: T) => void): Promise<void> | undefined {
  return settle(ports.journal.step(obeyEngine(step, ports)), fold);
}

/** Runs or recalls several steps, created in order; a single one is a plain step. */
export function runSteps<T>(steps: readonly Step<T>[], ports: StepPorts, fold: (answers: readonly T[]) => void): Promise<void> | undefined {
  const [first] = steps;
  if (first === undefined) return settle([], fold);
  if (steps.length === 1) return runStep(first, ports, (answer) => fold([answer]));
  return settle(ports.journal.all(steps.map((step) => obeyEngine(step, ports))), fold);
}

function settle<T>(answer: PromiseLike<T> | T, fold: (answer: T) => void): Promise<void> | undefined {
  if (!isThenable(answer)) {
    fold(answer);
    return undefined;
  }
  return Promise.resolve(answer).then(fold);
}

/** An engine that cancels a step aborts the run; its signal is let go when the step ends. */
function obeyEngine<T>(step: Step<T>, { journal, scope }: StepPorts): Step<T> {
  if (!journal.durable) return step;
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
