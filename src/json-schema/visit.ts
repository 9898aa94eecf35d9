// A visit checks one value with one schema part. This file has its types, and helpers that report faults and count work.

import type { Schema } from "@cfworker/json-schema";
import type { LinearRegExp } from "../core/utils/linear-regexp.ts";

/** A property name or an array index. */
export type Key = string | number;

/** The path to a value: the key of the value, and the path to the object or array that contains it. */
export interface Path {
  readonly key: Key;
  readonly up: Path | undefined;
}

export interface Fault {
  readonly message: string;
  readonly path: Path | undefined;
}

/** The result of one visit. The value is valid if there are no faults. */
export interface Finding {
  readonly faults: readonly Fault[];
  /** The properties and items that the visit checked. Only filled if the schema has "unevaluatedProperties" or "unevaluatedItems". */
  readonly evaluated: ReadonlySet<Key>;
}

export type TypeName = "string" | "number" | "boolean" | "null" | "array" | "object";

/** Functions and facts that all visits in one check share. */
export interface Ports {
  /** Counts work before it is done, in units of about a microsecond. Throws if the check exceeds its limit. */
  spend(units: number): void;
  /** Checks a value with a schema part. `path` is the path to the value. */
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  /** Returns the schema part that the `$ref` of a part refers to. */
  follow(part: Schema): unknown;
  /** Returns the compiled pattern for an expression. Undefined if the pattern cannot run in linear time. */
  patternOf(expression: string): LinearRegExp | undefined;
  /** Returns the keys of an object. They are cached, because listing many keys is slow. */
  keysOf(value: object): readonly string[];
  /** Returns a text for comparing values. Equal values have equal texts. */
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

/** The number of array items or properties that one unit of work visits. */
const entriesPerUnit = 8;

/** The maximum number of faults that are reported for a value. */
export const mostFaults = 20;

/** The message for a schema that is `false`. Most keywords replace it with a more specific message. */
export const falseMessage = "The value is not allowed, because its schema is false";

/** Counts the work of visiting `count` items or properties. */
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

/** Adds the faults of a subschema. If the subschema is `false`, adds `message` instead of the general message. */
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

/** Checks one property or item with a subschema, and marks the property or item as evaluated. */
export function findAt(visit: Visit, schema: unknown, [key, value]: readonly [key: Key, value: unknown]): Finding {
  if (visit.ports.tracksEvaluated) visit.evaluated.add(key);
  return visit.ports.find(schema, value, { key, up: visit.path });
}

/** Marks the properties and items that a subschema evaluated as evaluated here, if the value is valid for the subschema. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/** Returns a limit as a number. An invalid limit becomes NaN, and comparisons with NaN never fail a check. */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}
