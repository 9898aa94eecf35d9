// What every event of a run begins with.

import type { EventBase } from "../../types/loop-event.ts";
import type { Run } from "./run.ts";

/** Which run, which iteration, and whether it happened in this execution: default true. */
export function eventBase({ runId, state }: Pick<Run, "runId" | "state">, live: boolean = true): EventBase {
  return { runId, iteration: state.iteration, replayed: live ? undefined : true };
}
