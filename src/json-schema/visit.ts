// A visit of one value by one schema part, and the work that it may do.

import type { Schema } from "@cfworker/json-schema";
import type { LinearRegExp } from "../core/utils/linear-regexp.ts";

/** A property name or an index. */
export type Key = string | number;

/** The path of a value: its key, and the path of the value around it. */
export interface Path {
  readonly key: Key;
  readonly up: Path | undefined;
}

export interface Fault {
  readonly message: string;
  readonly path: Path | undefined;
}

/** The result of one visit. A value fits if there are no faults. */
export interface Finding {
  readonly faults: readonly Fault[];
  /** The properties and items that the part has evaluated. Empty unless the schema has "unevaluatedProperties" or "unevaluatedItems". */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

/** Shared by all visits of one value. */
export interface Ports {
  /** Counts work before it is done, in units of about a microsecond. Throws once a value has taken too much. */
  spend(units: number): void;
  /** Checks a value, or a part of it, with a schema part. */
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  /** Follows the `$ref` of a schema part. */
  follow(part: Schema): unknown;
  /** Returns the compiled pattern of an expression. Undefined if it cannot be run in linear time. */
  patternOf(expression: string): LinearRegExp | undefined;
  /** Returns the keys of an object. Cached, because listing many keys is slow. */
  keysOf(value: object): readonly string[];
  /** Returns the same text for equal values. */
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

/** A keyword: the type of value that it applies to, and the check for its argument. */
export interface Keyword {
  readonly name: string;
  readonly on?: TypeName;
  make(argument: unknown, part: Schema): Check;
}

/** Entries of a list or map that are visited per unit of work. */
const entriesPerUnit = 8;

/** Most faults to report for a value. */
export const mostFaults = 20;

/** The message for a schema that is `false`. Keywords around it have better messages. */
export const falseMessage = "False boolean schema";

/** Counts a visit of `count` entries. */
export function spendEntries({ ports }: Visit, count: number): void {
  ports.spend(count / entriesPerUnit);
}

export function fail({ faults, path }: Visit, message: string): void {
  if (faults.length < mostFaults) faults.push({ message, path });
}

/** Adds the faults of a subschema. */
export function pass({ faults }: Visit, found: readonly Fault[]): void {
  for (const fault of found) if (faults.length < mostFaults) faults.push(fault);
}

/** Adds the faults of a subschema, and a message if the subschema is just `false`. */
export function blame(visit: Visit, message: string, found: readonly Fault[]): void {
  const [first, ...rest] = found;
  if (first?.message === falseMessage) fail(visit, message);
  else if (first !== undefined) pass(visit, [first]);
  pass(visit, rest);
}

/** Checks the whole value with a subschema. */
export function findHere({ ports, value, path }: Visit, schema: unknown): Finding {
  return ports.find(schema, value, path);
}

/** Checks one property or item with a subschema, and marks it as evaluated. */
export function findAt(visit: Visit, schema: unknown, [key, value]: readonly [key: Key, value: unknown]): Finding {
  if (visit.ports.tracksEvaluated) visit.evaluated.add(key);
  return visit.ports.find(schema, value, { key, up: visit.path });
}

/** Copies the evaluated properties and items of a subschema, if the value fits it. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** Returns a limit as a number. NaN for an invalid one, which never fails. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
