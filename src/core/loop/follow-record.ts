// Lets a recorded run go on to its recorded ending, even if the limits of this execution would end it earlier.

import type { Ending, EndReason } from "../types/termination.ts";
import { type NextStep, nextStep } from "./next-step.ts";
import type { LoopState } from "./state/loop-state.ts";
import { endingKey, inboxKey, lastInboxKey, stepKey, streamKey } from "./state/step-key.ts";
import type { InboxAnswer } from "./state/step-result.ts";
import { type Bounds, noLimits } from "./run/limits.ts";
import type { Run } from "./run/run.ts";
import { isRecorded, isReplayed, runStep } from "./run/run-step.ts";

const limited: ReadonlySet<EndReason["kind"]> = new Set([
  "max-iterations",
  "max-tool-calls",
  "max-tokens",
  "max-cost",
  "cost-unknown",
  "wall-clock",
  "tool-error-cap",
  "restart-cap",
  "max-pauses",
  "handoff-cap",
  "loop-detected",
  "invalid-output",
]);

const none = Number.POSITIVE_INFINITY;

/**
 * Returns `planned`, unless it is caused by a limit and the journal has the step that follows without this limit. Limits apply to
 * new work: the recorded work is already paid for, and its ending must not change when a run is resumed with smaller limits. If the
 * journal also has `planned`, an earlier execution had this limit too, and the run ends as then.
 */
export function followRecord(run: Run, planned: NextStep): NextStep | PromiseLike<NextStep> {
  const { state, bounds } = run;
  if (!run.isIterationReplayed || !isLimited(state, planned)) return planned;
  const onward = nextStep(state, withoutLimits(bounds));
  const key = keyOf(state, onward);
  return key === undefined ? planned : choose(run, planned, { onward, key });
}

interface Onward {
  readonly onward: NextStep;
  readonly key: string;
}

async function choose(run: Run, planned: NextStep, { onward, key }: Onward): Promise<NextStep> {
  return (await isPast(run, key)) && !(await isPlanRecorded(run, planned)) ? onward : planned;
}

function isPast(run: Run, key: string): boolean | PromiseLike<boolean> {
  return run.journal.replays === undefined ? isRecorded(run, key) : isReplayed(run, key);
}

async function isPlanRecorded(run: Run, planned: NextStep): Promise<boolean> {
  const { state } = run;
  if (planned.kind === "model") return isPast(run, streamKey(state, "final-answer"));
  if (planned.kind !== "last-look") return false;
  const before = endingKey(state, planned.ending);
  // Endings of the same iteration with other limits have a record of their own.
  for (let attempt = state.endChecks; ; attempt += 1) {
    const key = lastInboxKey(state, attempt);
    if (!(await isPast(run, key))) return false;
    const body = (): never => {
      throw new Error(`The journal has lost the record of the step "${key}".`);
    };
    const found = await runStep<InboxAnswer, InboxAnswer>(
      { key, kind: "inbox", input: null, run: body },
      run,
      (answer) => answer,
    );
    if (found.before === before) return true;
  }
}

function isLimited({ lastInbox, phase, finalAnswerTo }: LoopState, planned: NextStep): boolean {
  if (planned.kind === "last-look") return isLimit(planned.ending);
  if (planned.kind === "model")
    return planned.finalAnswerTo !== undefined && finalAnswerTo === undefined && isLimit(planned.finalAnswerTo);
  // A message arrived at the recorded end, and the run went on.
  return planned.kind === "end" && phase === "last-look" && lastInbox?.goesOn === true;
}

function isLimit({ reason }: Ending): boolean {
  return limited.has(reason.kind);
}

function withoutLimits(bounds: Bounds): Bounds {
  return {
    ...bounds,
    ...noLimits,
    maxHandoffs: none,
    reserve: undefined,
    loopRule: undefined,
    ...(bounds.outputRetries !== undefined && { outputRetries: none }),
  };
}

/** Returns the key that the journal has if the run went on with `step`. */
function keyOf(state: LoopState, step: NextStep): string | undefined {
  if (step.kind === "inbox") return inboxKey(state, 1, 0);
  if (step.kind === "hook") return stepKey(state, "iteration");
  if (step.kind === "compaction" || (step.kind === "steer" && state.lastInbox?.compact !== undefined))
    return stepKey(state, "compaction");
  if (step.kind === "steer") return streamKey(state, "model");
  if (step.kind === "model") return streamKey(state, step.finalAnswerTo === undefined ? "model" : "final-answer");
  return undefined;
}
