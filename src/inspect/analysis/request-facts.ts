// The facts about a run that all of its requests need. They are found once for each state of a live log.

import type { LoggedIteration, LoggedRun } from "../log/run-log.ts";
import { type CacheBreak, findCacheBreaks } from "./find-cache-breaks.ts";
import { findMasking } from "./masked-calls.ts";

export interface RequestFacts {
  /** The number of lines when the facts were found. A live run gets more. */
  readonly lines: number;
  readonly breaks: ReadonlyMap<LoggedIteration, CacheBreak>;
  readonly masking: ReadonlyMap<string, number>;
}

const known = new WeakMap<LoggedRun, RequestFacts>();

export function requestFactsOf(run: LoggedRun): RequestFacts {
  const last = known.get(run);
  if (last?.lines === run.lines.length) return last;
  const breaks = new Map<LoggedIteration, CacheBreak>();
  for (const found of findCacheBreaks(run)) {
    const iteration = run.iterations[found.index];
    if (iteration !== undefined) breaks.set(iteration, found);
  }
  const facts: RequestFacts = { lines: run.lines.length, breaks, masking: findMasking(run) };
  known.set(run, facts);
  return facts;
}
