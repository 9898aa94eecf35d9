// Compares the tool calls of two iterations.

import { isSameJson } from "../../core/entry-kit.ts";
import type { LoggedCall } from "../log/run-log.ts";
import { jsonLength } from "./json-parts.ts";

/**
 * A call of one iteration, or two calls with the same name and arguments. "added" calls are only in the right run, "removed" calls
 * only in the left one. "changed" calls have another outcome or result.
 */
export interface ComparedCall {
  readonly kind: "same" | "changed" | "added" | "removed";
  readonly left: LoggedCall | undefined;
  readonly right: LoggedCall | undefined;
}

/** Pairs the calls with the same name and arguments, in the order of the left run. Added calls follow. */
export function compareCalls(left: readonly LoggedCall[], right: readonly LoggedCall[]): readonly ComparedCall[] {
  const open = new Map<string, LoggedCall[]>();
  for (const call of right) {
    const key = keyOfCall(call);
    const others = open.get(key);
    if (others === undefined) open.set(key, [call]);
    else others.push(call);
  }
  const paired = new Set<LoggedCall>();
  const changes = left.map((call): ComparedCall => {
    const others = open.get(keyOfCall(call)) ?? [];
    const at = others.findIndex((other) => isSameJson(call.args, other.args));
    const [partner] = at === -1 ? [] : others.splice(at, 1);
    if (partner === undefined) return { kind: "removed", left: call, right: undefined };
    paired.add(partner);
    return { kind: hasSameResult(call, partner) ? "same" : "changed", left: call, right: partner };
  });
  const added = right.filter((call) => !paired.has(call));
  return [...changes, ...added.map((call): ComparedCall => ({ kind: "added", left: undefined, right: call }))];
}

/** Returns a text that is equal for calls with the same name and arguments, and different for most others. */
function keyOfCall({ name, args }: LoggedCall): string {
  return `${jsonLength(args)} ${name}`;
}

function hasSameResult(one: LoggedCall, other: LoggedCall): boolean {
  return one.outcome === other.outcome && isSameJson(one.result, other.result);
}
