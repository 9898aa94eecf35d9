import { isRecord } from "../core/kit.ts";
import { stableJson } from "../shared/json.ts";
import type { Schema } from "@cfworker/json-schema";
import type { LinearRegExp } from "../shared/linear-regexp.ts";

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
   * Counts work, in units of about a microsecond. Call it before the work is done, because it throws if the check takes too much work.
   */
  spend(units: number): void;
  find(schema: unknown, value: unknown, path: Path | undefined): Finding;
  follow(part: Schema): unknown;
  patternOf(expression: string): LinearRegExp | undefined;
  keysOf(value: object): readonly string[];
  /** Returns the JSON text of a value. Equal values have equal text, regardless of key order. */
  textOf(value: object): string;
  readonly tracksEvaluated: boolean;
  readonly isDraft4: boolean;
}

/** The state of checking one value against one part of a schema. */
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

/** The number of array items or properties checked in one unit of work. */
const entriesPerUnit = 8;

export const maxFaults = 20;

/**
 * The message for a value whose schema is `false`. `blame` replaces this message with the message of the keyword that contains the
 * schema.
 */
export const falseMessage = "The value is not allowed because its schema is false";

export function spendEntries({ ports }: Visit, count: number): void {
  ports.spend(count / entriesPerUnit);
}

export function fail({ faults, path }: Visit, message: string): void {
  if (faults.length < maxFaults) faults.push({ message, path });
}

export function pass({ faults }: Visit, found: readonly Fault[]): void {
  for (const fault of found) if (faults.length < maxFaults) faults.push(fault);
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

/** If a subschema accepted the value, adds the properties and items that it checked to `visit.evaluated`. */
export function takeOver(visit: Visit, { faults, evaluated }: Finding): void {
  if (!visit.ports.tracksEvaluated || faults.length > 0) return;
  spendEntries(visit, evaluated.size);
  for (const key of evaluated) visit.evaluated.add(key);
}

/**
 * Returns a keyword's limit, or NaN if it is invalid. A check fails only if a comparison with the limit is true, which is never the
 * case for NaN, so an invalid limit rejects no values.
 */
export function toLimit(argument: unknown): number {
  return typeof argument === "number" || typeof argument === "string" ? Number(argument) : Number.NaN;
}

/** The number of characters compared in one unit of work. */
const comparedPerUnit = 4_096;

export const anyValueKeywords: readonly Keyword[] = [
  {
    name: "$ref",
    make: (_, part) => (visit) => {
      const found = findHere(visit, visit.ports.follow(part));
      takeOver(visit, found);
      blame(visit, "The value is not allowed by the schema", found.faults);
    },
  },
  { name: "type", make: checkType },
  { name: "const", make: (choice) => checkChoice([choice], () => `The value must be ${JSON.stringify(choice)}`) },
  {
    name: "enum",
    make: (choices) => checkChoice(toList(choices, "enum"), () => `The value must be one of ${JSON.stringify(choices)}`),
  },
  {
    name: "not",
    make: (schema) => (visit) => {
      if (findHere(visit, schema).faults.length === 0) fail(visit, 'The value must not match the schema in "not"');
    },
  },
  {
    name: "anyOf",
    make: (schemas) => (visit) => {
      const { findings, fitting } = findAll(visit, toList(schemas, "anyOf"));
      if (fitting > 0) return;
      fail(visit, 'The value must match at least one schema in "anyOf"');
      pass(visit, faultsOf(findings));
    },
  },
  {
    name: "allOf",
    make: (schemas) => (visit) => {
      const { findings } = findAll(visit, toList(schemas, "allOf"));
      blame(visit, "The value is not allowed by the schema", faultsOf(findings));
    },
  },
  {
    name: "oneOf",
    make: (schemas) => (visit) => {
      const { findings, fitting } = findAll(visit, toList(schemas, "oneOf"));
      if (fitting === 1) return;
      fail(visit, `The value must match exactly one schema in "oneOf", but matches ${fitting}`);
      pass(visit, faultsOf(findings));
    },
  },
  {
    name: "if",
    make: (condition, part) => (visit) => {
      const found = findHere(visit, condition);
      takeOver(visit, found);
      const branch = found.faults.length === 0 ? "then" : "else";
      const schema: unknown = part[branch];
      if (schema === undefined) return;
      const inside = findHere(visit, schema);
      takeOver(visit, inside);
      blame(visit, `The value is not allowed by the schema in "${branch}"`, inside.faults);
    },
  },
];

export function toList(argument: unknown, keyword: string): readonly unknown[] {
  if (Array.isArray(argument)) return argument;
  throw new TypeError(`the keyword "${keyword}" must be an array`);
}

export function toEntries(argument: unknown, keyword: string): readonly (readonly [string, unknown])[] {
  if (isRecord(argument)) return Object.entries(argument);
  throw new TypeError(`the keyword "${keyword}" must be an object`);
}

function findAll(visit: Visit, schemas: readonly unknown[]): { findings: readonly Finding[]; fitting: number } {
  const findings = schemas.map((schema) => findHere(visit, schema));
  for (const found of findings) takeOver(visit, found);
  return { findings, fitting: findings.filter(({ faults }) => faults.length === 0).length };
}

function faultsOf(findings: readonly Finding[]): readonly Fault[] {
  return findings.flatMap(({ faults }) => faults);
}

function checkType(expected: unknown): Check {
  const names: readonly unknown[] = Array.isArray(expected) ? expected : [expected];
  return (visit) => {
    const { type, value } = visit;
    if (names.includes(type) || (type === "number" && names.includes("integer") && Number.isInteger(value))) return;
    fail(visit, `The type "${type}" is not allowed. Expected type: "${names.join('" or "')}"`);
  };
}

function checkChoice(choices: readonly unknown[], word: () => string): Check {
  const plain = new Set(choices.filter((choice) => !isHolder(choice)));
  const written = new Set(choices.filter(isHolder).map(stableJson));
  let message: string | undefined;
  return (visit) => {
    const { value, ports } = visit;
    if (typeof value === "string") ports.spend(value.length / comparedPerUnit);
    const fits = isHolder(value) ? written.size > 0 && written.has(ports.textOf(value)) : plain.has(value);
    if (fits) return;
    message ??= word();
    fail(visit, message);
  };
}

export function isHolder(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
