// A visit checks one value with one schema part. This file has the types of a visit, and functions that report faults and count
// work.

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
  /**
   * The properties and items that the visit checked. Filled only if the schema has "unevaluatedProperties" or "unevaluatedItems".
   */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

export interface Ports {
  /** Counts work before it is done, in units of about a microsecond. Throws if the check exceeds its limit. */
  spend(units: number): void;
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  follow(part: Schema): unknown;
  patternOf(expression: string): LinearRegExp | undefined;
  /** The keys are cached, because listing many keys is slow. */
  keysOf(value: object): readonly string[];
  /** Equal values have equal texts. */
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

/** The number of array items or properties that one unit of work visits. */
const entriesPerUnit = 8;

export const mostFaults = 20;

/** Most keywords replace this message with a more specific one. */
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

/** If the subschema is `false`, `message` replaces the general message. */
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

/** If the subschema accepts the value, everything that the subschema evaluated is marked as evaluated here too. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** An invalid limit becomes NaN. Comparisons with NaN are false, so no check fails. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
