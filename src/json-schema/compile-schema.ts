// Compiles a JSON Schema. Rejects schemas and values that would take too long to check.

import { dereference, ignoredKeyword, type Schema, schemaArrayKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { isRecord, type Issue, type JsonSchema, memoize, quote, toJson, toPlainError } from "../core/entry-kit.ts";
import { createChecker, type Rules, tooLong } from "./check-value.ts";
import { readPatterns } from "./patterns.ts";
import type { Fault, Key } from "./visit.ts";

const addressKeys = ["$id", "id", "$ref", "$anchor", "$recursiveRef"] as const;

/** The maximum length of a `$id` or `$ref`, in characters. Longer URLs are not used in practice. */
const longestAddress = 2_000;

/** The maximum nesting of schema parts with a `$id`. Each level doubles how often the inner parts are read. */
const mostNested = 8;

/**
 * Finds an address that would take too long to resolve. Returns the problem as a phrase that follows the schema's name in a
 * message, or undefined. Skips keywords that the validator ignores.
 */
function findCostlyAddress(part: unknown, nested = 0): string | undefined {
  if (!isRecord(part)) return undefined;
  const own = findLongAddress(part);
  if (own !== undefined) return own;
  const below = part["$id"] === undefined && part["id"] === undefined ? nested : nested + 1;
  if (below > mostNested) return `has more than ${mostNested} nested parts with a "$id": define inner parts in "$defs" instead`;
  for (const [key, value] of Object.entries(part)) {
    for (const inner of partsOf(key, value)) {
      const problem = findCostlyAddress(inner, below);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function findLongAddress(part: { readonly [key: string]: unknown }): string | undefined {
  for (const key of addressKeys) {
    const address = part[key];
    if (typeof address === "object" && address !== null) return `has a "${key}" that is not a string`;
    if (typeof address === "string" && address.length > longestAddress) {
      return `has a "${key}" with more than ${longestAddress} characters`;
    }
  }
  return undefined;
}

function partsOf(key: string, value: unknown): readonly unknown[] {
  if (ignoredKeyword[key] === true) return [];
  if (Array.isArray(value)) return schemaArrayKeyword[key] === true ? value : [];
  return schemaMapKeyword[key] === true && isRecord(value) ? Object.values(value) : [value];
}

/** The maximum nesting of a value. The validator recurses for each level, and real arguments have few levels. */
const deepestLevel = 100;
/** The maximum number of values in a checked value: the value itself, and all nested items and properties. */
const mostValues = 20_000;

function findExcess(value: unknown): string | undefined {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestLevel) return `is nested more than ${deepestLevel} levels deep`;
    count += level.length;
    if (count > mostValues) return `has more than ${mostValues} values`;
    const next: unknown[] = [];
    for (const held of level) {
      const values: readonly unknown[] = Array.isArray(held) ? held : isRecord(held) ? Object.values(held) : [];
      if (count + next.length + values.length > mostValues) return `has more than ${mostValues} values`;
      for (const each of values) next.push(each);
    }
    level = next;
  }
  return undefined;
}

/** A function that checks values, or a `problem` that follows the schema's name in an error message. */
type CompiledSchema = { readonly judge: (value: unknown) => Judgement } | { readonly problem: string };

export type Judgement = { readonly issues: readonly Issue[] } | { readonly unchecked: string };

/**
 * The maximum number of times that schema parts are read while a schema is compiled. Parts inside nested `$id`s are read several
 * times.
 */
const mostParts = 100_000;

/** Resolving this number of characters of an address takes as long as reading one schema part. */
const unitsOfPart = 400;

export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) => compile(schema, "refused"));

/** Compiles a schema that the caller did not write. A pattern that cannot run in linear time is ignored instead of rejected. */
export const compileForeignSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) =>
  compile(schema, "not checked"),
);

function compile(schema: JsonSchema, slowPatterns: "refused" | "not checked"): CompiledSchema {
  try {
    // Copy the schema, because `dereference` writes addresses into it.
    const root = toJson(schema) as Schema;
    const costly = findCostlyAddress(root);
    if (costly !== undefined) return { problem: costly };
    const lookup: Lookup = Object.create(null);
    dereference(root, countReads(lookup));
    const parts = Object.values(lookup).filter(isRecord);
    for (const part of parts) {
      const problem = problemOf(part, lookup);
      if (problem !== undefined) return { problem };
    }
    const patterns = readPatterns(parts, slowPatterns);
    if ("problem" in patterns) return patterns;
    const tracksEvaluated = parts.some((part) => ["unevaluatedProperties", "unevaluatedItems"].some((name) => name in part));
    return { judge: judgeOf({ root, lookup, patterns, draft: draftOf(root["$schema"], parts), tracksEvaluated }) };
  } catch (error) {
    return { problem: `cannot be compiled: ${toPlainError(error).message.replace(/\.$/, "")}` };
  }
}

type Lookup = { readonly [address: string]: Schema | boolean };

/** Returns a proxy that throws after too many lookups. There is no other way to stop `dereference`. */
function countReads(lookup: Lookup): Lookup {
  let count = 0;
  return new Proxy(lookup, {
    get(target, address) {
      count += 1 + (typeof address === "string" ? address.length / unitsOfPart : 0);
      if (count > mostParts) throw new RangeError(tooLong);
      return typeof address === "string" ? target[address] : undefined;
    },
  });
}

function judgeOf(rules: Rules): (value: unknown) => Judgement {
  const check = createChecker(rules);
  return (value) => {
    const excess = findExcess(value);
    if (excess !== undefined) return { unchecked: `The value ${excess}, so it was not checked` };
    try {
      return { issues: check(value).map(toIssue) };
    } catch (error) {
      return { unchecked: `The value could not be checked: ${toPlainError(error).message}` };
    }
  };
}

function toIssue({ message, path }: Fault): Issue {
  const keys: Key[] = [];
  for (let at = path; at !== undefined; at = at.up) keys.unshift(at.key);
  return keys.length === 0 ? { message } : { message, path: keys };
}

const drafts: readonly (readonly [mark: string, draft: Rules["draft"]])[] = [
  ["draft-04", "4"],
  ["draft-06", "7"],
  ["draft-07", "7"],
  ["2019-09", "later"],
];

/** Returns the draft of a schema. A schema without `$schema` is draft 4 if its "exclusiveMinimum" or "exclusiveMaximum" is a boolean. */
function draftOf(said: unknown, parts: readonly Schema[]): Rules["draft"] {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  if (found !== undefined) return found[1];
  const saysLimits = ({ exclusiveMinimum, exclusiveMaximum }: Schema): boolean =>
    typeof exclusiveMinimum === "boolean" || typeof exclusiveMaximum === "boolean";
  return said === undefined && parts.some(saysLimits) ? "4" : "later";
}

/** Finds unsupported or undefined references, which would make every check fail, or let every value pass unchecked. */
function problemOf(part: Schema, lookup: Lookup): string | undefined {
  for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
    if (typeof part[keyword] === "string") return `has a "${keyword}", which is not supported: use "$ref" instead`;
  }
  const { $ref } = part;
  if (typeof $ref === "string" && lookup[addressOf(part, $ref)] === undefined) {
    return `has the "$ref" ${quote($ref)}, which the schema does not define: add it, because nothing is fetched`;
  }
  return undefined;
}

function addressOf({ __absolute_ref__: address }: Schema, ref: string): string {
  return typeof address === "string" ? address : ref;
}
