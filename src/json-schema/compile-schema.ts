// Compiles a JSON Schema, and rejects schemas and arguments that would cost too much to check.

import { dereference, ignoredKeyword, type Schema, schemaArrayKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { isRecord, type Issue, type JsonSchema, memoize, quote, toJson, toPlainError } from "../core/entry-kit.ts";
import { createChecker, type Rules, tooLong } from "./check-value.ts";
import { readPatterns } from "./patterns.ts";
import type { Fault, Key } from "./visit.ts";

const addressKeys = ["$id", "id", "$ref", "$anchor", "$recursiveRef"] as const;

/** Longest `$id` or `$ref`; longer than any URL in practice. */
const longestAddress = 2_000;

/** A part with a `$id` inside another one is read twice, a part inside that four times, and so on. */
const mostNested = 8;

/** Returns a problem of the addresses in a schema; the text follows its name. Only checks the parts that are used. */
function findCostlyAddress(part: unknown, nested = 0): string | undefined {
  if (!isRecord(part)) return undefined;
  const own = findLongAddress(part);
  if (own !== undefined) return own;
  const below = part["$id"] === undefined && part["id"] === undefined ? nested : nested + 1;
  if (below > mostNested)
    return `has more than ${mostNested} parts with a "$id" inside of each other: name inner parts in "$defs"`;
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
    if (typeof address === "object" && address !== null) return `has a "${key}" that is no text`;
    if (typeof address === "string" && address.length > longestAddress) {
      return `has a "${key}" of more than ${longestAddress} characters`;
    }
  }
  return undefined;
}

function partsOf(key: string, value: unknown): readonly unknown[] {
  if (ignoredKeyword[key] === true) return [];
  if (Array.isArray(value)) return schemaArrayKeyword[key] === true ? value : [];
  return schemaMapKeyword[key] === true && isRecord(value) ? Object.values(value) : [value];
}

/** Arguments of tools are flat, and the validator recurses with each level. */
const deepestLevel = 100;
const mostValues = 20_000;

/** Returns why a value is too large to be checked, or undefined. */
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

/** A compiled schema, or why it cannot be used. `problem` follows the name of the schema. */
type CompiledSchema = { readonly judge: (value: unknown) => Judgement } | { readonly problem: string };

/** The issues of a value, empty if it fits, or why it was not checked. */
export type Judgement = { readonly issues: readonly Issue[] } | { readonly unchecked: string };

/** Most reads of schema parts: a part with a `$id` inside another one is read twice, a part inside that four times. */
const mostParts = 100_000;

/** Characters of an address that take as long as a part. */
const unitsOfPart = 400;

/** Compiles a schema, once. The schema is not changed. */
export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) => compile(schema, "refused"));

/** Like `compileSchema`, for a schema that the caller did not write: patterns that cannot be run in linear time are not checked. */
export const compileForeignSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) =>
  compile(schema, "not checked"),
);

function compile(schema: JsonSchema, slowPatterns: "refused" | "not checked"): CompiledSchema {
  try {
    // A copy, because addresses are written into it.
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
    return { problem: `cannot be read: ${toPlainError(error).message.replace(/\.$/, "")}` };
  }
}

/** All parts of a schema that can be referred to, by absolute address. */
type Lookup = { readonly [address: string]: Schema | boolean };

/** Counts the reads of a schema. Reading it looks up the address of each part, and cannot be stopped in any other way. */
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
    if (excess !== undefined) return { unchecked: `${excess}, and is not checked` };
    try {
      return { issues: check(value).map(toIssue) };
    } catch (error) {
      return { unchecked: `could not be checked: ${toPlainError(error).message}` };
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

/** Finds the draft. A schema may lack "$schema", and then the boolean limits of draft 4 must not be compared with numbers. */
function draftOf(said: unknown, parts: readonly Schema[]): Rules["draft"] {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  if (found !== undefined) return found[1];
  const saysLimits = ({ exclusiveMinimum, exclusiveMaximum }: Schema): boolean =>
    typeof exclusiveMinimum === "boolean" || typeof exclusiveMaximum === "boolean";
  return said === undefined && parts.some(saysLimits) ? "4" : "later";
}

/** Returns a problem that would make each check fail, or pass without a check. */
function problemOf(part: Schema, lookup: Lookup): string | undefined {
  for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
    if (typeof part[keyword] === "string") return `has a "${keyword}", which is not followed: write "$ref"`;
  }
  const { $ref } = part;
  if (typeof $ref === "string" && lookup[addressOf(part, $ref)] === undefined) {
    return `has the "$ref" ${quote($ref)}, which is not inside it, and nothing is fetched`;
  }
  return undefined;
}

function addressOf({ __absolute_ref__: address }: Schema, ref: string): string {
  return typeof address === "string" ? address : ref;
}
