import type { Run } from "./run.ts";

/** What broke a run or one around it. */
export function failureOf(run: Run): Run["failure"] {
  return run.failure ?? (run.outer === undefined ? undefined : failureOf(run.outer));
}
