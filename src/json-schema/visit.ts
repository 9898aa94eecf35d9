// A visit is the check of one value with one schema part.

import type { Schema } from "@cfworker/json-schema";
import type { LinearRegExp } from "../core/utils/linear-regexp.ts";

export type Key = string | number;

export interface Path {
  readonly key: Key;
  readonly up: Path | undefined;
}

export interface Fault {
  readonly message: string;
  readonly path: Path | undefined;
}

export interface Finding {
  readonly faults: readonly Fault[];
  /** The checked properties and items. Empty unless the schema has "unevaluatedProperties" or "unevaluatedItems" somewhere. */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

export interface Ports {
  /**
   * Counts work. Must be called before the work is done. Throws if the check takes too much work. One unit is about a microsecond.
   */
  spend(units: number): void;
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  follow(part: Schema): unknown;
  patternOf(expression: string): LinearRegExp | undefined;
  keysOf(value: object): readonly string[];
  /** Returns the JSON text of a value. Equal values have equal texts, whatever the order of their keys. */
  textOf(value: object): string;
  readonly tracksEvaluated: boolean;
  readonly isDraft4: boolean;
}

export interface Visit {
  readonly value: unknown;
  readonly type: TypeName;
  readonly path: Path | undefined;
  readonly ports: Ports;
  readonly faults: Fault[];
  readonly evaluated: Set<Key>;
}

export type Check = (visit: Visit) => void;

export interface Keyword {
  readonly name: string;
  readonly on?: TypeName;
  make(argument: unknown, part: Schema): Check;
}

/** Checking this number of array items or properties costs one unit of work. */
const entriesPerUnit = 8;

export const mostFaults = 20;

/**
 * The message for a value whose schema is `false`. `blame` replaces this message with the message of the keyword that contains the
 * schema.
 */
export const falseMessage = "The value is not allowed, because its schema is false";

export function spendEntries({ ports }: Visit, count: number): void {
  ports.spend(count / entriesPerUnit);
}

export function fail({ faults, path }: Visit, message: string): void {
  if (faults.length < mostFaults) faults.push({ message, path });
}

export function pass({ faults }: Visit, found: readonly Fault[]): void {
  for (const fault of found) if (faults.length < mostFaults) faults.push(fault);
}

/** Reports the faults that a subschema found. If the subschema is `false`, reports `message`, which is more specific. */
export function blame(visit: Visit, message: string, found: readonly Fault[]): void {
  const [first, ...rest] = found;
  if (first?.message === falseMessage) fail(visit, message);
  else if (first !== undefined) pass(visit, [first]);
  pass(visit, rest);
}

export function findHere({ ports, value, path }: Visit, schema: unknown): Finding {
  return ports.find(schema, value, path);
}

export function findAt(visit: Visit, schema: unknown, [key, value]: readonly [key: Key, value: unknown]): Finding {
  if (visit.ports.tracksEvaluated) visit.evaluated.add(key);
  return visit.ports.find(schema, value, { key, up: visit.path });
}

/** If a subschema accepted the value, adds the properties and items that the subschema checked to `visit.evaluated`. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** Returns NaN for an invalid limit. No comparison with NaN is true, so every value passes. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
