// Runs steps through the journal. Answers come at once where the journal has them at once: a memory journal costs no tick.

import type { Step, StepKind } from "../contract/journal.ts";
import { whenReady } from "../kit/when-ready.ts";
import { findAgent } from "./find-agent.ts";
import type { Run } from "./run.ts";

/** What running a step uses of a run. */
export type StepPorts = Pick<Run, "journal" | "scope" | "clock" | "bounds" | "state" | "decisions" | "registry">;

/** Runs or recalls one step. */
export function runStep<T>(step: Step<T>, ports: StepPorts): T | PromiseLike<T> {
  return ports.journal.step(prepare(step, ports));
}

/** Runs or recalls several steps, created in order; a single one is a plain step. */
export function runSteps<T>(steps: readonly Step<T>[], ports: StepPorts): readonly T[] | PromiseLike<readonly T[]> {
  const [only] = steps;
  if (only !== undefined && steps.length === 1) return whenReady(runStep(only, ports), (answer) => [answer]);
  const answers = ports.journal.all(steps.map((step) => prepare(step, ports)));
  return whenReady(answers, (given) => {
    if (given.length !== steps.length) throw new Error(`The journal answered ${given.length} of ${steps.length} steps.`);
    return given;
  });
}

function prepare<T>(given: Step<T>, ports: StepPorts): Step<T> {
  const step = ports.decisions.isEmpty || !acts.has(given.kind) ? given : refuseLeft(given, ports);
  const timed = ports.bounds.wallClockMs === Number.POSITIVE_INFINITY ? step : startWallClock(step, ports);
  return ports.journal.durable ? obeyEngine(timed, ports) : timed;
}

/** Steps that do something new, or say that it is to be done; the others only look, or take the decisions. */
const acts: ReadonlySet<StepKind> = new Set(["model", "intent", "tool", "results", "hook", "reopen"]);

/** A decision that nothing waits for is found before anything is done. */
function refuseLeft<T>(step: Step<T>, { decisions, state, registry }: StepPorts): Step<T> {
  const run: Step<T>["run"] = (call) => {
    decisions.refuseLeft(state.turn.calls.filter(({ name }) => findAgent(registry, name) !== undefined));
    return step.run(call);
  };
  return { ...step, run };
}

/** The wall clock starts with the first step that is not recalled: what was active before, in other executions, is already spent. */
function startWallClock<T>(step: Step<T>, { clock, scope, state, bounds }: StepPorts): Step<T> {
  const run: Step<T>["run"] = (call) => {
    scope.startWallClock(bounds.wallClockMs, clock.now() - state.activeMs, clock);
    return step.run(call);
  };
  return { ...step, run };
}

/** An engine that cancels a step aborts the run; its signal is let go when the step ends. */
function obeyEngine<T>(step: Step<T>, { scope }: StepPorts): Step<T> {
  const run: Step<T>["run"] = async (call) => {
    const letGo = scope.follow(call.signal);
    try {
      return await step.run(call);
    } finally {
      letGo();
    }
  };
  return { ...step, run };
}
