// Types and functions for checking one value with one schema part. Such a check is called a visit.

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
  /** The properties and items that were checked. Filled only if the schema has "unevaluatedProperties" or "unevaluatedItems". */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

export interface Ports {
  /**
   * Adds work to the count, in units of about a microsecond. Called before the work is done. Throws if the check would exceed its
   * limit.
   */
  spend(units: number): void;
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  follow(part: Schema): unknown;
  patternOf(expression: string): LinearRegExp | undefined;
  /** Returns the keys of an object. Cached, because listing many keys is slow. */
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

/** A schema that is `false` rejects every value with this message. Most keywords replace the message with a more specific one. */
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

/** Reports the faults that a subschema found. If the subschema is `false`, reports `message` instead of the general message. */
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

/** If the subschema accepts the value, adds the properties and items that the subschema evaluated to the set of this visit. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** Reads a numeric limit. An invalid limit becomes NaN, with which no comparison is true, so no value fails. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
