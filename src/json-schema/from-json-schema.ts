import { cutText, quote } from "../shared/texts.ts";
import { invalidOption, isRecord, memoize } from "../core/kit.ts";
import { type JsonSchema, LoopError, type StandardSchema } from "../core/index.ts";
import { toJson } from "../shared/json.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { createJudge, type Judgement, type Rules, tooLong } from "./check-value.ts";
import { dereference, ignoredKeyword, type Schema, schemaArrayKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { compileLinearRegExp, type LinearRegExp } from "../shared/linear-regexp.ts";

/**
 * Creates a Standard Schema from a JSON Schema that uses draft 4, 6, 7, 2019-09 or 2020-12. `$schema` selects the draft; the default is
 * 2020-12. A valid value is returned unchanged: nothing is converted, and `default` is not applied. The type argument is the type
 * of a valid value.
 *
 * A value that is nested more than 100 levels deep or contains more than 20,000 values is rejected without a check. A value is
 * also rejected if checking it would take more than about a second, estimated by counting the work. Patterns run in RE2, in time
 * proportional to the length of the text.
 *
 * Throws LoopError "invalid-option" for:
 *
 * - a value that is not a JSON Schema, or a schema with more than 100,000 parts
 * - patterns of more than 20,000 characters in total
 * - a `$ref` to another document, `$dynamicRef` or `$recursiveRef`
 * - a pattern that is not a regular expression
 * - a pattern that cannot run in linear time, because it has lookarounds, backreferences or more than 1,000 repetitions
 *
 * The schema and its references are never fetched from the network.
 *
 * @example
 * const clock = defineTool({
 *   name: "get_time",
 *   description: "Time of day in a time zone",
 *   inputSchema: fromJsonSchema<{ zone: string }>({ type: "object", properties: { zone: { type: "string" } }, required: ["zone"] }),
 *   execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
 * });
 */
export function fromJsonSchema<Output = unknown>(schema: JsonSchema): StandardSchema<Output> {
  const expected = "a supported JSON Schema";
  if (!isRecord(schema)) throw invalidOption("fromJsonSchema", expected, schema);
  const made = compileSchema(schema);
  if ("problem" in made)
    throw new LoopError("invalid-option", { option: "fromJsonSchema", expected, received: `a schema that ${made.problem}` });
  return toStandardSchema(schema, made.judge);
}

export function toStandardSchema<Output = unknown>(
  schema: JsonSchema,
  judge: (value: unknown) => Judgement,
): StandardSchema<Output> {
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate(value) {
        const judged = judge(value);
        const issues = "issues" in judged ? judged.issues : [{ message: judged.unchecked }];
        return issues.length === 0 ? { value: value as Output } : { issues };
      },
      jsonSchema: { input: () => ({ ...schema }) },
    },
  };
}

const addressKeys = ["$id", "id", "$ref", "$anchor", "$recursiveRef"] as const;

/** The maximum length of an address, such as a `$id` or `$ref`, in characters. Resolving a long address is slow. */
const maxAddressLength = 2_000;

/** The maximum nesting depth of schema parts with a `$id`. At each level, `dereference` reads the inner parts twice as often. */
const maxNested = 8;

function findCostlyAddress(part: unknown, nested = 0): string | undefined {
  if (!isRecord(part)) return undefined;
  const own = findLongAddress(part);
  if (own !== undefined) return own;
  const below = part["$id"] === undefined && part["id"] === undefined ? nested : nested + 1;
  if (below > maxNested) return `has more than ${maxNested} nested parts with a "$id": define inner parts in "$defs" instead`;
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
    if (typeof address === "string" && address.length > maxAddressLength) {
      return `has a "${key}" with more than ${maxAddressLength} characters`;
    }
  }
  return undefined;
}

function partsOf(key: string, value: unknown): readonly unknown[] {
  if (ignoredKeyword[key] === true) return [];
  if (Array.isArray(value)) return schemaArrayKeyword[key] === true ? value : [];
  return schemaMapKeyword[key] === true && isRecord(value) ? Object.values(value) : [value];
}

/** A schema that can check values (`judge`), or its problem, worded to follow the schema's name, for example "has the pattern ...". */
type CompiledSchema = { readonly judge: (value: unknown) => Judgement } | { readonly problem: string };

/** The maximum number of reads of schema parts by `dereference`, which reads parts inside nested `$id`s several times. */
const maxParts = 100_000;

/** The number of address characters that take as long to resolve as reading one schema part. */
const unitsOfPart = 400;

export const compileSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) => compile(schema, "refused"));

/** Compiles a schema that a server sent. Unlike `compileSchema`, ignores a pattern that cannot run in linear time. */
export const compileForeignSchema: (schema: JsonSchema) => CompiledSchema = memoize((schema: JsonSchema) =>
  compile(schema, "not checked"),
);

function compile(schema: JsonSchema, slowPatterns: "refused" | "not checked"): CompiledSchema {
  try {
    // Copies the schema, because `dereference` writes addresses into it.
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
    return { judge: createJudge({ root, lookup, patterns, draft: draftOf(root["$schema"], parts), tracksEvaluated }) };
  } catch (error) {
    return { problem: `cannot be compiled: ${toPlainError(error).message.replace(/\.$/, "")}` };
  }
}

type Lookup = { readonly [address: string]: Schema | boolean };

/** Wraps `lookup`, so that `dereference` throws when it looks up too many addresses. */
function countReads(lookup: Lookup): Lookup {
  let count = 0;
  return new Proxy(lookup, {
    get(target, address) {
      count += 1 + (typeof address === "string" ? address.length / unitsOfPart : 0);
      if (count > maxParts) throw new RangeError(tooLong);
      return typeof address === "string" ? target[address] : undefined;
    },
  });
}

const drafts: readonly (readonly [mark: string, draft: Rules["draft"]])[] = [
  ["draft-04", "4"],
  ["draft-06", "7"],
  ["draft-07", "7"],
  ["2019-09", "later"],
];

/** Returns the draft of a schema. Without `$schema`, a boolean "exclusiveMinimum" or "exclusiveMaximum" means draft 4. */
function draftOf(said: unknown, parts: readonly Schema[]): Rules["draft"] {
  const found = typeof said === "string" ? drafts.find(([mark]) => said.includes(mark)) : undefined;
  if (found !== undefined) return found[1];
  const saysLimits = ({ exclusiveMinimum, exclusiveMaximum }: Schema): boolean =>
    typeof exclusiveMinimum === "boolean" || typeof exclusiveMaximum === "boolean";
  return said === undefined && parts.some(saysLimits) ? "4" : "later";
}

/**
 * Returns the problem with an unsupported or undefined reference. Such a reference would make every check fail, or every value pass
 * unchecked.
 */
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

type Patterns = ReadonlyMap<string, LinearRegExp>;

/** The maximum total number of characters in a schema's patterns. Compiling may take 50 microseconds per character. */
const maxCharacters = 20_000;

function readPatterns(
  parts: readonly Schema[],
  slowPatterns: "refused" | "not checked",
): Patterns | { readonly problem: string } {
  const patterns = new Map<string, LinearRegExp>();
  const expressions = new Set(parts.flatMap(expressionsOf));
  let length = 0;
  for (const expression of expressions) {
    const shown = quote(cutText(expression, 64));
    length += expression.length;
    if (length > maxCharacters) return { problem: `has patterns with more than ${maxCharacters} characters in total` };
    if (!isExpression(expression)) return { problem: `has the pattern ${shown}, which is not a valid regular expression` };
    const compiled = compileLinearRegExp(expression);
    if (compiled !== undefined) patterns.set(expression, compiled);
    else if (slowPatterns === "refused") {
      return {
        problem: `has the pattern ${shown}, which cannot run in linear time: remove lookaround, backreferences and more than 1,000 repetitions`,
      };
    }
  }
  return patterns;
}

function expressionsOf({ pattern, patternProperties }: Schema): readonly string[] {
  return [
    ...(typeof pattern === "string" ? [pattern] : []),
    ...(isRecord(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}
