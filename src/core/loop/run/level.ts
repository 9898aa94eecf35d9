// How deep a run is, for runs that are started inside a tool without `context.runToolLoop`. They are known by what they are handed of the
// call: its signal, or its context.

import { isRecord } from "../../utils/is-record.ts";
import { sharedMap } from "../../utils/shared-map.ts";

/** How many runs there are around a run, and how many levels there may be. */
export interface Level {
  readonly depth: number;
  readonly maxDepth: number;
}

/** By the signal of a call: the level of its run. */
const levels = /* @__PURE__ */ sharedMap<AbortSignal, Level>("levels");

/** A context of a call has the level of its run under this key, in every copy of the package. */
export const levelKey: unique symbol = Symbol.for("turnwright.Level");

/** Notes the run that the call of a signal belongs to. */
export function noteLevel(signal: AbortSignal, { depth, maxDepth }: Level): void {
  if (!levels.has(signal)) levels.set(signal, { depth, maxDepth });
}

/** The level of the run whose call handed on its signal or its context; undefined if neither is that of a call. */
export function findOuterLevel({
  signal,
  context,
}: {
  readonly signal?: AbortSignal | undefined;
  readonly context?: unknown;
}): Level | undefined {
  const known = signal === undefined ? undefined : levels.get(signal);
  return known ?? (isRecord(context) ? levelIn(context) : undefined);
}

function levelIn(context: object): Level | undefined {
  const found: unknown = Reflect.get(context, levelKey);
  if (!isRecord(found)) return undefined;
  const { depth, maxDepth } = found;
  return typeof depth === "number" && typeof maxDepth === "number" ? { depth, maxDepth } : undefined;
}
