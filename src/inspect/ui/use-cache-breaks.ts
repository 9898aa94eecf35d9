// Finds the cache breaks of a run and its nested runs in small steps, so that the page opens immediately.

import { type Context, createContext } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type CacheBreak, walkCacheBreaks } from "../analysis/find-cache-breaks.ts";
import type { LoggedIteration, LoggedRun } from "../../shared/run-log.ts";
import type { RunTree } from "./model/entries.ts";
import { workInSlices } from "./work-in-slices.ts";

type BreakMap = ReadonlyMap<LoggedIteration, CacheBreak>;

export const CacheBreaks: Context<BreakMap> = createContext<BreakMap>(new Map());

/** The interval for repeating the search for cache breaks in a live run, in milliseconds. */
const againMs = 1_000;

export function useCacheBreaks(tree: RunTree): BreakMap {
  const [state, setState] = useState<{ readonly tree?: RunTree; readonly found: BreakMap }>({ found: new Map() });
  const stop = useRef<(() => void) | undefined>(undefined);
  useEffect(() => {
    if (stop.current !== undefined || state.tree === tree) return;
    const found = new Map<LoggedIteration, CacheBreak>();
    const steps = findIn(runsOf(tree), found);
    stop.current = workInSlices(steps, state.tree === undefined ? 0 : againMs, (isDone) => {
      if (!isDone) return;
      stop.current = undefined;
      setState({ tree, found });
    });
  }, [tree, state.tree]);
  useEffect(() => () => stop.current?.(), []);
  return state.found;
}

function runsOf({ run, nested }: RunTree): readonly LoggedRun[] {
  return [run, ...[...nested.values()].flat().flatMap(runsOf)];
}

function* findIn(runs: readonly LoggedRun[], all: Map<LoggedIteration, CacheBreak>): Generator<void, void> {
  for (const run of runs)
    for (const found of walkCacheBreaks(run)) {
      const iteration = found && run.iterations[found.index];
      if (iteration !== undefined) all.set(iteration, found as CacheBreak);
      yield;
    }
}
