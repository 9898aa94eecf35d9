import { type CacheBreak, walkCacheBreaks } from "../../src/inspect/analysis/find-cache-breaks.ts";
import type { LoggedRun } from "../../src/shared/run-log.ts";

/** Returns the requests of a run that break the prompt cache. */
export function findCacheBreaks(run: LoggedRun): readonly CacheBreak[] {
  return [...walkCacheBreaks(run)].filter((found) => found !== undefined);
}
