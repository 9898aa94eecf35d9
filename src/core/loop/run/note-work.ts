// Records if a run has recalled steps, and if it did something new.

import type { StepKind } from "../../types/journal.ts";
import type { Run } from "./run.ts";

/**
 * Kinds of steps that do something: request the model, run a tool, call a hook. The other kinds only read the state of the run:
 * "run", "inbox", "validation" and "approval". The first acting step that is not replayed makes the iteration new.
 */
const acting: ReadonlySet<StepKind> = new Set(["model", "intent", "tool", "results", "hook", "reopen"]);

/** True if a step of this kind does something. */
export function isActing(kind: StepKind): boolean {
  return acting.has(kind);
}

/** A run, and the outer runs that keep their steps in the same journal. */
type Part = Pick<Run, "replayed" | "isPart"> & { readonly outer: Part | undefined };

/** Records that a run did something new. This also counts for the runs around it, whose iterations it is part of. */
export function noteWork(run: Part): void {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) one.replayed = false;
}

/** Records that a step was recalled. */
export function noteRecalled(run: Run, kind: StepKind | undefined): void {
  if (kind === undefined || !isActing(kind)) return;
  const owner = journalOwnerOf(run);
  if (owner.replay === "none") owner.replay = "begun";
}

/** Emits `replay-end` if steps were recalled and it was not emitted yet. */
export function endReplay(run: Run): void {
  const owner = journalOwnerOf(run);
  if (owner.replay !== "begun") return;
  owner.replay = "over";
  owner.events.send({ type: "replay-end", runId: owner.runId, iteration: owner.state.iteration });
}

/** Returns the run whose journal has the steps of a run: the run itself, or one around it. */
function journalOwnerOf(run: Run): Run {
  let owner = run;
  while (owner.isPart && owner.outer !== undefined) owner = owner.outer;
  return owner;
}

/** True if a run, or a run around it, did something new. */
export function hasWorked(run: Part): boolean {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) if (!one.replayed) return true;
  return false;
}

function outerOf({ isPart, outer }: Part): Part | undefined {
  return isPart ? outer : undefined;
}
