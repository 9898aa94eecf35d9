// Replays a run to the end of its records.

import type { Ending } from "../../types/middleware.ts";
import type { Run } from "../run.ts";
import { takeSteps } from "../run-tool-loop.ts";
import { ReplayJournal } from "./replay-journal.ts";

/** Returns the ending of the run, or undefined if its next step is not recorded. Runs and records nothing new. */
export async function followRecords(run: Run): Promise<Ending | undefined> {
  const replay = new ReplayJournal(run.journal);
  run.journal = replay;
  return Promise.race([takeSteps(run), replay.stuck.then(() => undefined)]);
}
