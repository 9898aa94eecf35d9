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
import { toIssues } from "./to-issues.ts";

/** A schema that can check, or why it cannot; `problem` reads on after the schema's name. */
export type CompiledSchema = { readonly check: (value: unknown) => readonly Issue[] } | { readonly problem: string };

/** How often the parts of a schema may be followed for one value. A schema that refers to itself in an `anyOf` takes twice as often for each level. */
const mostReferences = 100_000;

/** Compiles a schema once. The schema itself is not touched. */
export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize(compile);

function compile(schema: JsonSchema): CompiledSchema {
  try {
    // A copy, because the validator writes into what it reads.
    const root = toJson(schema) as Schema;
    const lookup: Lookup = dereference(root);
    const parts = Object.values(lookup).filter(isRecord);
    const problem = parts.map((part) => problemOf(part, lookup)).find((found) => found !== undefined);
    return problem === undefined ? { check: checkerOf(root, lookup) } : { problem };
  } catch (error) {
    return { problem: `cannot be read: ${toPlainError(error).message.replace(/\.$/, "")}` };
  }
}

/** Every part of a schema that can be referred to, by its absolute address. */
type Lookup = { readonly [address: string]: Schema | boolean };

function checkerOf(root: Schema, lookup: Lookup): (value: unknown) => readonly Issue[] {
  const draft = draftOf(root["$schema"]);
  const comparesItems = Object.values(lookup).some((part) => isRecord(part) && part["uniqueItems"] === true);
  return (value) => {
    const excess = findExcess(value, comparesItems);
    if (excess !== undefined) return [{ message: `${excess}, and is not checked` }];
    try {
      const { valid, errors } = validate(value, root, draft, countReferences(lookup), false);
      return valid ? [] : toIssues(errors, value);
    } catch (error) {
      return [{ message: `could not be checked: ${toPlainError(error).message}` }];
    }
  };
}

/** The validator looks each reference up, and has no other place where it could be stopped. */
function countReferences(lookup: Lookup): Lookup {
  let count = 0;
  return new Proxy(lookup, {
    get(target, address) {
      count += 1;
      if (count > mostReferences) throw new RangeError("it would take too long");
      return typeof address === "string" ? target[address] : undefined;
    },
  });
}

const drafts: readonly (readonly [mark: string, draft: SchemaDraft])[] = [
  ["draft-04", "4"],
  ["draft-06", "7"],
  ["draft-07", "7"],
  ["2019-09", "2019-09"],
];

function draftOf(said: unknown): SchemaDraft {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  return found?.[1] ?? "2020-12";
}

/** What would fail, or pass unseen, each time that a value is checked. */
function problemOf(part: Schema, lookup: Lookup): string | undefined {
  for (const keyword of ["$dynamicRef", "$recursiveRef"]) {
    if (typeof part[keyword] === "string") return `has a "${keyword}", which is not followed: write "$ref"`;
  }
  const { $ref, pattern, patternProperties } = part;
  if (typeof $ref === "string" && lookup[addressOf(part, $ref)] === undefined) {
    return `has the "$ref" ${quote($ref)}, which is not inside it, and nothing is fetched`;
  }
  // Its expression takes longer for each character, and a model may write many. A "url" is no format of JSON Schema.
  if (part.format === "url") part.format = "uri";
  const expressions = [...(typeof pattern === "string" ? [pattern] : []), ...Object.keys(patternProperties ?? {})];
  const bad = expressions.find((expression) => !isExpression(expression));
  return bad === undefined ? undefined : `has the pattern ${quote(cutText(bad, 64))}, which is no regular expression`;
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
