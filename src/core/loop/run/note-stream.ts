// Emits what a stream reports beside its text and its calls: guardrails, changed requests and breaks of the prompt cache.

import { eventBase, type Run } from "./run.ts";
import type { GuardrailRecord } from "../../types/guardrails.ts";
import type { StreamResult } from "../../types/provider.ts";

export function noteGuardrails(
  run: Run,
  records: readonly GuardrailRecord[] | undefined,
  { stage, live }: { readonly stage: "input" | "output"; readonly live: boolean },
): void {
  for (const record of records ?? []) {
    const { spent } = record;
    if (spent !== undefined) run.meter.addUsage(spent);
    run.events.send({ type: "guardrail", ...eventBase(run, live), stage, ...record });
  }
}

/** Emits only the changes that the run has not reported yet, because most changes are the same in each request. */
export function noteAdjustments(run: Run, adjustments: StreamResult["adjustments"], live: boolean): void {
  for (const { provider, model, changes } of adjustments ?? []) {
    const untold = changes.filter(({ field, action, reason }) => {
      const key = JSON.stringify([provider, model, field, action, reason]);
      if (run.toldChanges.has(key)) return false;
      run.toldChanges.add(key);
      return true;
    });
    if (untold.length > 0)
      run.events.send({ type: "request-adjusted", ...eventBase(run, live), provider, model, changes: untold });
  }
}

/**
 * In a replay, passes the recorded requests to the watcher, so that the watcher can compare the following request with the
 * recorded requests.
 */
export function noteCache(run: Run, cache: StreamResult["cache"], live: boolean): void {
  if (cache === undefined) return;
  if (!live) run.cacheWatcher?.replay(cache);
  for (const { break: found } of cache.requests)
    if (found !== undefined) run.events.send({ type: "cache-break", ...eventBase(run, live), ...found });
}
