// A JSON Schema made ready to check values, once, and looked through for what it must not hold.

import { dereference, type Schema, type SchemaDraft, validate } from "@cfworker/json-schema";
import type { Issue, JsonSchema } from "../contract/schema.ts";
import { cutText } from "../kit/cut-text.ts";
import { quote } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { memoize } from "../kit/memoize.ts";
import { toPlainError } from "../kit/plain-error.ts";
import { toJson } from "../kit/to-json.ts";
import { findExcess } from "./find-excess.ts";
import { type CheckedKeys, expressionsOf, keysOf, refusedPatterns, replacePatterns } from "./replace-patterns.ts";
import { toIssues } from "./to-issues.ts";

/** A schema that can check, or why it cannot; `problem` reads on after the schema's name. */
export type CompiledSchema = { readonly judge: (value: unknown) => Judgement } | { readonly problem: string };

/** The issues of a value, none if it fits; or why it was not checked. */
export type Judgement = { readonly issues: readonly Issue[] } | { readonly unchecked: string };

/** How many parts a schema may have. A `$id` inside of another one is read twice, what is in it four times, and so on. */
const mostParts = 100_000;

/**
 * How much of a schema may be looked at for one value: each part as often as its turn comes, with all that it lists. A schema that refers to
 * itself in an `anyOf` is looked at twice as often for each level, and a long `enum` is told again with each item that is not in it.
 */
const mostLooks = 500_000;
const tooLong = "it would take too long";

/** Compiles a schema once. The schema itself is not touched. */
export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) => compile(schema, "refused"));

/** As `compileSchema`, for a schema that the caller did not write: a pattern that cannot be run in linear time is not checked. */
export const compileForeignSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) =>
  compile(schema, "not checked"),
);

function compile(schema: JsonSchema, slowPatterns: "refused" | "not checked"): CompiledSchema {
  try {
    // A copy, because the validator writes into what it reads.
    const root = toJson(schema) as Schema;
    const lookup: Lookup = Object.create(null);
    dereference(root, countReads(lookup));
    const parts = Object.values(lookup).filter(isRecord);
    const problem = parts
      .map((part) => problemOf(part, lookup) ?? (slowPatterns === "refused" ? slownessOf(part) : undefined))
      .find((found) => found !== undefined);
    return problem === undefined ? { judge: judgeOf(root, lookup) } : { problem };
  } catch (error) {
    return { problem: `cannot be read: ${toPlainError(error).message.replace(/\.$/, "")}` };
  }
}

/** Every part of a schema that can be referred to, by its absolute address. */
type Lookup = { readonly [address: string]: Schema | boolean };

/** Reading the schema asks for the address of each part, and has no other place where it could be stopped. */
function countReads(lookup: Lookup): Lookup {
  let count = 0;
  return new Proxy(lookup, {
    get(target, address) {
      count += 1;
      if (count > mostParts) throw new RangeError(tooLong);
      return typeof address === "string" ? target[address] : undefined;
    },
  });
}

function judgeOf(root: Schema, lookup: Lookup): (value: unknown) => Judgement {
  const parts = Object.values(lookup).filter(isRecord);
  const draft = draftOf(root["$schema"], parts);
  const comparesItems = parts.some(({ uniqueItems }) => uniqueItems === true);
  let looks = 0;
  let keys: CheckedKeys = { keys: new Set() };
  const look = (weight: number): void => {
    looks += weight;
    if (looks > mostLooks) throw new RangeError(tooLong);
  };
  let needsKeys = false;
  for (const part of parts) {
    const weight = weightOf(part);
    countLooks(part, () => look(weight));
    if (replacePatterns(part, { checked: () => keys, look })) needsKeys = true;
  }
  return (value) => {
    const excess = findExcess(value, comparesItems);
    if (excess !== undefined) return { unchecked: `${excess}, and is not checked` };
    looks = 0;
    keys = { keys: needsKeys ? keysOf(value) : new Set() };
    try {
      const { valid, errors } = validate(value, root, draft, lookup, false);
      return { issues: valid ? [] : toIssues(errors, value) };
    } catch (error) {
      return { unchecked: `could not be checked: ${toPlainError(error).message}` };
    }
  };
}

/** The validator reads this field of each part that it comes to. Only a `$recursiveRef` would need it, and is refused. */
function countLooks(part: Schema, onLook: () => void): void {
  Object.defineProperty(part, "__absolute_recursive_ref__", { get: onLook, configurable: true });
}

/** A part, and what is gone through each time: the entries of its lists and maps, and the text of what an issue repeats. */
function weightOf(part: Schema): number {
  const { enum: choices, const: constant, ...rest } = part;
  const held: readonly unknown[] = Object.values(rest);
  const entries = held.map((value) => (typeof value === "object" && value !== null ? Object.keys(value).length : 0));
  return entries.reduce((sum, count) => sum + count, 1 + JSON.stringify([choices, constant]).length / 32);
}

const drafts: readonly (readonly [mark: string, draft: SchemaDraft])[] = [
  ["draft-04", "4"],
  ["draft-06", "7"],
  ["draft-07", "7"],
  ["2019-09", "2019-09"],
];

/** Schemas come without their "$schema", too, and then each limit that draft 4 says by true or false would be held against a number. */
function draftOf(said: unknown, parts: readonly Schema[]): SchemaDraft {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  if (found !== undefined) return found[1];
  const saysLimits = ({ exclusiveMinimum, exclusiveMaximum }: Schema): boolean =>
    typeof exclusiveMinimum === "boolean" || typeof exclusiveMaximum === "boolean";
  return said === undefined && parts.some(saysLimits) ? "4" : "2020-12";
}

/** What would fail, or pass unseen, each time that a value is checked. */
function problemOf(part: Schema, lookup: Lookup): string | undefined {
  for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
    if (typeof part[keyword] === "string") return `has a "${keyword}", which is not followed: write "$ref"`;
  }
  const { $ref } = part;
  if (typeof $ref === "string" && lookup[addressOf(part, $ref)] === undefined) {
    return `has the "$ref" ${quote($ref)}, which is not inside it, and nothing is fetched`;
  }
  // Its expression takes longer for each character, and a model may write many. A "url" is no format of JSON Schema.
  if (part.format === "url") part.format = "uri";
  const bad = expressionsOf(part).find((expression) => !isExpression(expression));
  return bad === undefined ? undefined : `has the pattern ${quote(cutText(bad, 64))}, which is no regular expression`;
}

function slownessOf(part: Schema): string | undefined {
  const [slow] = refusedPatterns(part);
  if (slow === undefined) return undefined;
  return `has the pattern ${quote(cutText(slow, 64))}, which cannot be run in linear time: write it without look-around, back references and more than 1,000 repetitions`;
}

function addressOf({ __absolute_ref__: address }: Schema, ref: string): string {
  return typeof address === "string" ? address : ref;
}

/** As the validator makes them. */
function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}
