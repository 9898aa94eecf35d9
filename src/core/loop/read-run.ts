// Reads a run's result and state from its journal.

import type { LoopResult } from "../types/loop-result.ts";
import type { State } from "../types/middleware.ts";
import { followRecords } from "./replay/follow-records.ts";
import { performCall } from "./perform-call.ts";
import { Run, type RunPorts, type SeamOptions } from "./run.ts";
import { beginRun, finish } from "./run-tool-loop.ts";

/** A run as read from its journal, as far as its records go. */
export interface ReadRun {
  readonly state: State;
  /** The run's result. Undefined if its next step is not recorded. */
  readonly result: LoopResult | undefined;
  /** The fields that the hooks add to the result. */
  readonly extra: object;
}

/** Reads a run from its journal. Runs and records nothing new. `readCall` reads the calls. */
export async function readRun(options: SeamOptions, ports: Pick<RunPorts, "readCall">): Promise<ReadRun> {
  const run = new Run(options, { ...ports, begin: beginRun, perform: performCall });
  try {
    run.journal = run.records;
    const ending = await followRecords(run);
    const { state, hooks } = run;
    const extra = Object.assign({}, ...hooks.map((one) => one.result?.(state))) as object;
    return { state, extra, result: ending && finish(run, ending) };
  } finally {
    run.release();
  }
}
