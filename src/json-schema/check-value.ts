import type { Schema } from "@cfworker/json-schema";
import { isRecord, memoize, type Validation } from "../core/kit.ts";
import { stableJson } from "../shared/json.ts";
import { toPlainError } from "../shared/plain-error.ts";
import {
  anyValueKeywords,
  type Check,
  falseMessage,
  type Fault,
  type Finding,
  type Key,
  type Path,
  type Ports,
  type TypeName,
  type Visit,
} from "./visit.ts";
import { arrayKeywords } from "./check-array.ts";
import { objectKeywords } from "./check-object.ts";
import { numberKeywords, textKeywords } from "./check-single-value.ts";
import type { LinearRegExp } from "../shared/linear-regexp.ts";

type Issue = Extract<Validation, { readonly issues: unknown }>["issues"][number];

/**
 * The maximum work for one value, in units of about a microsecond. Each use of a schema part costs one unit. Long arrays, objects
 * and strings cost more. The limit is needed because, for example, a schema that refers to itself twice in `anyOf` doubles the work with
 * each level.
 */
const maxUnits = 500_000;
export const tooLong = "it would take too long";

/** The number of JSON characters written in one unit of work. Objects and arrays are written as JSON to compare them. */
const writtenPerUnit = 32;

export interface Rules {
  readonly root: unknown;
  readonly lookup: { readonly [address: string]: unknown };
  readonly patterns: ReadonlyMap<string, LinearRegExp>;
  readonly draft: "4" | "7" | "later";
  readonly tracksEvaluated: boolean;
}

const keywords = [...anyValueKeywords, ...objectKeywords, ...arrayKeywords, ...numberKeywords, ...textKeywords];
const fits: Finding = { faults: [], evaluated: new Set() };

export type Judgement = { readonly issues: readonly Issue[] } | { readonly unchecked: string };

export function createJudge(rules: Rules): (value: unknown) => Judgement {
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

function createChecker({ root, lookup, patterns, draft, tracksEvaluated }: Rules): (value: unknown) => readonly Fault[] {
  const checksOf = memoize((part: Schema) => toChecks(part, draft));
  return (value) => {
    let units = 0;
    const ports: Ports = {
      tracksEvaluated,
      isDraft4: draft === "4",
      find,
      follow: ({ $ref, __absolute_ref__: address }) => lookup[address ?? String($ref)],
      patternOf: (expression) => patterns.get(expression),
      keysOf: memoize(Object.keys),
      textOf: memoize((held: object) => {
        const text = stableJson(held);
        spend(text.length / writtenPerUnit);
        return text;
      }),
      spend,
    };
    return find(root, value, undefined).faults;

    function spend(count: number): void {
      units += count;
      if (units > maxUnits) throw new RangeError(tooLong);
    }

    function find(schema: unknown, held: unknown, path: Path | undefined): Finding {
      spend(1);
      if (schema === true) return fits;
      if (schema === false) return { faults: [{ message: falseMessage, path }], evaluated: fits.evaluated };
      if (!isRecord(schema)) throw new TypeError("each part of the schema must be an object, true or false");
      const type = typeOf(held);
      const visit: Visit = { value: held, type, path, ports, faults: [], evaluated: new Set() };
      for (const { on, check } of checksOf(schema)) if (on === undefined || on === type) check(visit);
      return visit;
    }
  };
}

interface TypedCheck {
  readonly on: TypeName | undefined;
  readonly check: Check;
}

/** Returns the checks of a schema part. In drafts 4 to 7, a `$ref` disables all keywords next to it. */
function toChecks(part: Schema, draft: Rules["draft"]): readonly TypedCheck[] {
  const isReference = part.$ref !== undefined && draft !== "later";
  const own = keywords.filter(({ name }) => (isReference ? name === "$ref" : part[name] !== undefined));
  return own.map(({ name, on, make }) => ({ on, check: makeOrThrow(() => make(part[name], part)) }));
}

/** Creates a check, or, for an invalid keyword, a check that throws the error as soon as a value is checked. */
function makeOrThrow(make: () => Check): Check {
  try {
    return make();
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function typeOf(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  const type = typeof value;
  if (type === "string" || type === "number" || type === "boolean" || type === "object") return type;
  throw new TypeError(`a value with the JavaScript type "${type}" is not JSON`);
}

/** The maximum nesting depth of a checked value. The check recurses at each level. Real arguments have few levels. */
const deepestLevel = 100;
const maxValues = 20_000;

function findExcess(value: unknown): string | undefined {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestLevel) return `is nested more than ${deepestLevel} levels deep`;
    count += level.length;
    if (count > maxValues) return `has more than ${maxValues} values`;
    const next: unknown[] = [];
    for (const held of level) {
      const values: readonly unknown[] = Array.isArray(held) ? held : isRecord(held) ? Object.values(held) : [];
      if (count + next.length + values.length > maxValues) return `has more than ${maxValues} values`;
      for (const each of values) next.push(each);
    }
    level = next;
  }
  return undefined;
}
