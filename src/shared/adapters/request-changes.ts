import type { ModelChunk, RequestChange } from "../../core/types/provider.ts";
import { listOf, recordOf } from "../plain-error.ts";
import type { UnknownRecord } from "../guards.ts";

/** Returns a function that reports a change made by the adapter in the stream of the answer. */
export function reportTo(out: ModelChunk[]): (change: RequestChange) => void {
  return (change) => void out.push({ type: "request-adjusted", changes: [change] });
}

/** The maximum number of changes per request. Limited, because the journal records them. */
const maxChanges = 100;

/**
 * Reads the changes that a service says it made to a request. `read` returns undefined for entries that do not matter, and for types
 * that are not known yet.
 */
export function readServiceChanges(
  given: unknown,
  read: (entry: UnknownRecord) => Omit<RequestChange, "by"> | undefined,
): readonly RequestChange[] {
  return listOf(given)
    .slice(0, maxChanges)
    .flatMap((entry) => {
      const change = read(recordOf(entry));
      return change === undefined ? [] : [{ by: "service" as const, ...change }];
    });
}
