// One part of a schema that looks at one value, and the work it may spend.

import type { Schema } from "@cfworker/json-schema";
import type { LinearRegExp } from "../core/utils/linear-regexp.ts";

/** A property or the index of an item. */
export type Key = string | number;

/** The place of a value: its key, and the place of the value around it. */
export interface Path {
  readonly key: Key;
  readonly up: Path | undefined;
}

export interface Fault {
  readonly message: string;
  readonly path: Path | undefined;
}

/** The outcome of one visit. A value fits if there are no faults. */
export interface Finding {
  readonly faults: readonly Fault[];
  /** The properties and items that the part has checked. Empty unless the schema has "unevaluatedProperties" or "unevaluatedItems". */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

/** Shared by all visits of one value. */
export interface Ports {
  /** Counts work before it is done, in units of about a microsecond. Throws once a value has taken too much. */
  spend(units: number): void;
  /** Checks a value, or a part of it, by a part of the schema. */
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  /** Follows the `$ref` of a part. */
  follow(part: Schema): unknown;
  /** The pattern of an expression. Undefined for one that cannot be run in linear time. */
  patternOf(expression: string): LinearRegExp | undefined;
  /** The keys of an object, which the engine takes long to list if there are many. */
  keysOf(value: object): readonly string[];
  /** One text for all values that say the same. */
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

/** A keyword of a part: of which type of value it says something, and the check for its argument. */
export interface Keyword {
  readonly name: string;
  readonly on?: TypeName;
  make(argument: unknown, part: Schema): Check;
}

/** The entries of a list or map that are gone through for one unit. */
const entriesPerUnit = 8;

/** A value may fail in any number of ways; nobody reads more of them. */
export const mostFaults = 20;

/** The fault of a schema that is `false`. Keywords around it say more. */
export const falseMessage = "False boolean schema";

/** Counts a look at so many entries. */
export function spendEntries({ ports }: Visit, count: number): void {
  ports.spend(count / entriesPerUnit);
}

export function fail({ faults, path }: Visit, message: string): void {
  if (faults.length < mostFaults) faults.push({ message, path });
}

/** Adds the faults of a part inside. */
export function pass({ faults }: Visit, found: readonly Fault[]): void {
  for (const fault of found) if (faults.length < mostFaults) faults.push(fault);
}

/** Adds the faults of a part inside, which say enough unless the part is just `false`. */
export function blame(visit: Visit, message: string, found: readonly Fault[]): void {
  const [first, ...rest] = found;
  if (first?.message === falseMessage) fail(visit, message);
  else if (first !== undefined) pass(visit, [first]);
  pass(visit, rest);
}

/** Checks the whole value by a part inside. */
export function findHere({ ports, value, path }: Visit, schema: unknown): Finding {
  return ports.find(schema, value, path);
}

/** Checks one property or item by a part inside, and notes that this was done. */
export function findAt(visit: Visit, schema: unknown, [key, value]: readonly [key: Key, value: unknown]): Finding {
  if (visit.ports.tracksEvaluated) visit.evaluated.add(key);
  return visit.ports.find(schema, value, { key, up: visit.path });
}

/** Takes over which properties and items a part inside has checked, if the value fits it. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** A limit. One that is no number is not held against anything. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
