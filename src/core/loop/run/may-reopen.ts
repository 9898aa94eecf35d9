// Which endings can be followed by a retry.

import type { Ending, LoopStatus } from "../../types/termination.ts";
import type { Run } from "./run.ts";

const reopenable: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "stopped-by-user"]);

/** Whether a retry may follow an ending: one that is recorded, or one that this call asks for. What led to the ending was replayed. */
export function mayReopen(run: Pick<Run, "replayed" | "isPart">, { status }: Ending): boolean {
  return run.replayed && !run.isPart && reopenable.has(status);
}
