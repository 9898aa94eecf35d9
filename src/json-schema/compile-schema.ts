// A JSON Schema made ready to check values, once, and looked through for what it must not hold.

import { dereference, type Schema } from "@cfworker/json-schema";
import { isRecord, type Issue, type JsonSchema, memoize, quote, toJson, toPlainError } from "../core/entry-kit.ts";
import { createChecker, type Rules, tooLong } from "./check-value.ts";
import { findCostlyAddress } from "./find-costly-address.ts";
import { findExcess } from "./find-excess.ts";
import { readPatterns } from "./patterns.ts";
import type { Fault, Key } from "./visit.ts";

/** A schema that can check, or why it cannot; `problem` reads on after the schema's name. */
export type CompiledSchema = { readonly judge: (value: unknown) => Judgement } | { readonly problem: string };

/** The issues of a value, none if it fits; or why it was not checked. */
export type Judgement = { readonly issues: readonly Issue[] } | { readonly unchecked: string };

/** How many parts a schema may have, each read of one counted: a `$id` inside of another one is read twice, what is in it four times. */
const mostParts = 100_000;

/** So many characters of an address take as long as a part. */
const unitsOfPart = 400;

/** Compiles a schema once. The schema itself is not touched. */
export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) => compile(schema, "refused"));

/** As `compileSchema`, for a schema that the caller did not write: a pattern that cannot be run in linear time is not checked. */
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

/** Every part of a schema that can be referred to, by its absolute address. */
type Lookup = { readonly [address: string]: Schema | boolean };

/** Reading the schema asks for the address of each part, and has no other place where it could be stopped. */
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

/** Schemas come without their "$schema", too, and then each limit that draft 4 says by true or false would be held against a number. */
function draftOf(said: unknown, parts: readonly Schema[]): Rules["draft"] {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  if (found !== undefined) return found[1];
  const saysLimits = ({ exclusiveMinimum, exclusiveMaximum }: Schema): boolean =>
    typeof exclusiveMinimum === "boolean" || typeof exclusiveMaximum === "boolean";
  return said === undefined && parts.some(saysLimits) ? "4" : "later";
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
  return undefined;
}

function addressOf({ __absolute_ref__: address }: Schema, ref: string): string {
  return typeof address === "string" ? address : ref;
}
