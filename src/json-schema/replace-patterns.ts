// Puts linear patterns in the place of those that the validator would run as regular expressions of JavaScript. The validator has no
// setting for that: a `pattern` becomes a format, and `patternProperties` become properties for the keys of the value at hand.

import { format, type Schema } from "@cfworker/json-schema";
import { isRecord } from "../kit/is-record.ts";
import { compileLinearPattern, type LinearPattern } from "./linear-pattern.ts";

/** The format of every pattern. Which one is meant is noted when the validator reads the part, just before it asks. */
export const patternFormat = "turnwright:pattern";
let current: LinearPattern | undefined;
format[patternFormat] = (text) => current?.test(text) ?? true;

/** Keys of the value that is checked. */
export interface CheckedKeys {
  readonly keys: ReadonlySet<string>;
}

/** What the replaced patterns of a schema need while a value is checked. */
export interface PatternPorts {
  /** The keys of the value. A new object for each value. */
  checked(): CheckedKeys;
  /** Counts work: `weight` entries are looked at. */
  look(weight: number): void;
}

/** How much cheaper it is to look for a key than to check a part. */
const keysPerLook = 8;

/** Expressions of a part that cannot be run in linear time. */
export function refusedPatterns(part: Schema): readonly string[] {
  return expressionsOf(part).filter((expression) => compileLinearPattern(expression) === undefined);
}

/** All expressions of a part, as the validator would read them. */
export function expressionsOf({ pattern, patternProperties }: Schema): readonly string[] {
  return [...(pattern === undefined ? [] : [pattern]), ...Object.keys(patternProperties ?? {})];
}

/** Replaces the patterns of one part. Those that cannot be run are left out. Returns whether keys of values are needed. */
export function replacePatterns(part: Schema, ports: PatternPorts): boolean {
  const { pattern, patternProperties } = part;
  if (part.format === patternFormat) delete part.format;
  if (pattern !== undefined) {
    delete part.pattern;
    const compiled = compileLinearPattern(pattern);
    if (compiled !== undefined) part.allOf = [...(Array.isArray(part.allOf) ? part.allOf : []), toLeaf(compiled)];
  }
  if (!isRecord(patternProperties)) return false;
  delete part.patternProperties;
  replaceProperties(part, patternProperties, ports);
  return true;
}

/** A part that is nothing but a pattern. */
function toLeaf(pattern: LinearPattern): Schema {
  return Object.defineProperty({}, "format", {
    get: () => {
      current = pattern;
      return patternFormat;
    },
    enumerable: true,
  });
}

type Properties = NonNullable<Schema["properties"]>;

function replaceProperties(part: Schema, byPattern: Properties, { checked, look }: PatternPorts): void {
  const own: Properties = { ...part.properties };
  const rules = Object.entries(byPattern).flatMap(([expression, schema]) => {
    const pattern = compileLinearPattern(expression);
    return pattern === undefined ? [] : [{ pattern, schema }];
  });
  let made: { readonly of: CheckedKeys; readonly properties: Properties; readonly count: number } | undefined;
  const get = (): Properties => {
    const of = checked();
    if (made?.of !== of) {
      const properties: Properties = Object.assign(Object.create(null), own);
      for (const key of of.keys) {
        const schemas = rules.filter(({ pattern }) => pattern.test(key)).map(({ schema }) => schema);
        if (schemas.length > 0)
          properties[key] = { allOf: (Object.hasOwn(own, key) ? [own[key], ...schemas] : schemas) as Schema[] };
      }
      made = { of, properties, count: Object.keys(properties).length };
    }
    look(made.count / keysPerLook);
    return made.properties;
  };
  Object.defineProperty(part, "properties", { get, enumerable: true, configurable: true });
}

/** The keys of all objects in a value, whose size has been bounded. */
export function keysOf(value: unknown): ReadonlySet<string> {
  const keys = new Set<string>();
  const open: unknown[] = [value];
  while (open.length > 0) {
    const held = open.pop();
    if (Array.isArray(held)) for (const item of held) open.push(item);
    else if (isRecord(held)) {
      for (const [key, field] of Object.entries(held)) {
        keys.add(key);
        open.push(field);
      }
    }
  }
  return keys;
}
