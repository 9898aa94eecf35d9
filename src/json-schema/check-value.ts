// Checks values by a schema. Counts all the work that a schema and a value cost together, because either may be written to cost too much.

import type { Schema } from "@cfworker/json-schema";
import { isRecord, memoize, stableJson } from "../core/entry-kit.ts";
import { anyValueKeywords } from "./check-any-value.ts";
import { arrayKeywords } from "./check-array.ts";
import { objectKeywords } from "./check-object.ts";
import { numberKeywords, textKeywords } from "./check-single-value.ts";
import type { Patterns } from "./patterns.ts";
import { falseMessage, type Check, type Fault, type Finding, type Path, type Ports, type TypeName, type Visit } from "./visit.ts";

/**
 * How much work a check may take, in units of about a microsecond: one for each part of the schema each time its turn comes, and more for
 * long lists, objects and texts that it goes through. A schema that refers to itself in an `anyOf` is looked at twice as often for each level.
 */
const mostUnits = 500_000;
export const tooLong = "it would take too long";

/** Characters of a text for equal values that are written for one unit. */
const writtenPerUnit = 32;

/** A compiled schema. */
export interface Rules {
  readonly root: unknown;
  /** Every part that can be referred to, by its absolute address. */
  readonly lookup: { readonly [address: string]: unknown };
  readonly patterns: Patterns;
  readonly draft: "4" | "7" | "later";
  readonly tracksEvaluated: boolean;
}

const keywords = [...anyValueKeywords, ...objectKeywords, ...arrayKeywords, ...numberKeywords, ...textKeywords];
const fits: Finding = { faults: [], evaluated: new Set() };

/** The faults of a value. Throws for a value that takes too long, and for what is not JSON. */
export function createChecker({ root, lookup, patterns, draft, tracksEvaluated }: Rules): (value: unknown) => readonly Fault[] {
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
      if (units > mostUnits) throw new RangeError(tooLong);
    }

    function find(schema: unknown, held: unknown, path: Path | undefined): Finding {
      spend(1);
      if (schema === true) return fits;
      if (schema === false) return { faults: [{ message: falseMessage, path }], evaluated: fits.evaluated };
      if (!isRecord(schema)) throw new TypeError("a part of the schema is neither an object nor true or false");
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

/** In drafts 4 to 7 nothing counts beside a `$ref`. */
function toChecks(part: Schema, draft: Rules["draft"]): readonly TypedCheck[] {
  const isReference = part.$ref !== undefined && draft !== "later";
  const own = keywords.filter(({ name }) => (isReference ? name === "$ref" : part[name] !== undefined));
  return own.map(({ name, on, make }) => ({ on, check: makeOrThrow(() => make(part[name], part)) }));
}

/** A keyword with a wrong argument only matters to the values that it is for. */
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
  throw new TypeError(`Instances of "${type}" type are not supported`);
}
