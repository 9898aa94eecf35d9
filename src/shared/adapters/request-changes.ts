import type { ModelChunk, RequestChange } from "../../core/types/provider.ts";
import { listOf, recordOf } from "../plain-error.ts";
import type { UnknownRecord } from "../guards.ts";

/** Returns a function that reports, in the answer's stream, a change that the adapter made. */
export function reportTo(out: ModelChunk[]): (change: RequestChange) => void {
  return (change) => void out.push({ type: "request-adjusted", changes: [change] });
}

/** The maximum number of changes per request. Limited, because the journal records each change. */
const maxChanges = 100;

/**
 * Reads a service's report of the changes that it made to a request. `read` returns undefined for entries that do not matter, and for
 * unknown types.
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
