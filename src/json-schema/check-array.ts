import type { Schema } from "@cfworker/json-schema";
import {
  blame,
  type Check,
  fail,
  type Fault,
  findAt,
  isHolder,
  type Keyword,
  maxFaults,
  pass,
  spendEntries,
  toLimit,
  toList,
  type Visit,
} from "./visit.ts";

export const arrayKeywords: readonly Keyword[] = [
  {
    name: "maxItems",
    on: "array",
    make: (argument) => {
      const limit = toLimit(argument);
      return (visit) => {
        const { length } = toItems(visit);
        if (length > limit) fail(visit, `The array has ${length} items, but at most ${limit} are allowed`);
      };
    },
  },
  {
    name: "minItems",
    on: "array",
    make: (argument) => {
      const limit = toLimit(argument);
      return (visit) => {
        const { length } = toItems(visit);
        if (length < limit) fail(visit, `The array has ${length} items, but at least ${limit} are required`);
      };
    },
  },
  { name: "prefixItems", on: "array", make: (schemas) => checkFirst(toList(schemas, "prefixItems"), 0) },
  { name: "items", on: "array", make: checkItems },
  { name: "additionalItems", on: "array", make: checkAdditionalItems },
  { name: "contains", on: "array", make: checkContains },
  { name: "unevaluatedItems", on: "array", make: checkUnevaluatedItems },
  { name: "uniqueItems", on: "array", make: checkUniqueItems },
];

const misfit = "The item is not allowed by the schema";

function toItems({ value }: Visit): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function checkFirst(schemas: readonly unknown[], start: number): Check {
  return (visit) => {
    const items = toItems(visit).slice(start, start + schemas.length);
    spendEntries(visit, items.length);
    for (const [index, item] of items.entries()) {
      blame(visit, misfit, findAt(visit, schemas[index], [start + index, item]).faults);
    }
  };
}

function checkRest(schema: unknown, start: number, message: string): Check {
  return (visit) => {
    const items = toItems(visit);
    spendEntries(visit, items.length);
    for (let index = start; index < items.length; index++) {
      blame(visit, message, findAt(visit, schema, [index, items[index]]).faults);
    }
  };
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}

function checkItems(argument: unknown, { prefixItems }: Schema): Check {
  const start = lengthOf(prefixItems);
  return Array.isArray(argument) ? checkFirst(argument, start) : checkRest(argument, start, misfit);
}

function checkAdditionalItems(schema: unknown, { prefixItems, items }: Schema): Check {
  if (!Array.isArray(items)) return () => {};
  return checkRest(schema, lengthOf(prefixItems) + items.length, 'The item is not allowed by "additionalItems"');
}

function checkUnevaluatedItems(schema: unknown): Check {
  return (visit) => {
    const items = toItems(visit);
    spendEntries(visit, items.length);
    for (const [index, item] of items.entries()) {
      if (visit.evaluated.has(index)) continue;
      blame(visit, 'The item is not allowed by "unevaluatedItems"', findAt(visit, schema, [index, item]).faults);
    }
  };
}

function checkContains(schema: unknown, { minContains = 1, maxContains }: Schema): Check {
  return (visit) => {
    const items = toItems(visit);
    const faults: Fault[] = [];
    let count = 0;
    spendEntries(visit, items.length);
    for (const [key, item] of items.entries()) {
      const found = visit.ports.find(schema, item, { key, up: visit.path });
      if (found.faults.length > 0) {
        if (faults.length < maxFaults) faults.push(...found.faults);
        continue;
      }
      count++;
      if (visit.ports.tracksEvaluated) visit.evaluated.add(key);
    }
    if (count < minContains) {
      fail(visit, `The array has ${count} items that match the schema in "contains", but at least ${minContains} are required`);
      pass(visit, faults);
    } else if (count > toLimit(maxContains)) {
      fail(visit, `The array has ${count} items that match the schema in "contains", but at most ${maxContains} are allowed`);
    }
  };
}

function checkUniqueItems(isWanted: unknown): Check {
  return (visit) => {
    if (isWanted !== true) return;
    const items = toItems(visit);
    const seen = new Map<unknown, number>();
    spendEntries(visit, items.length);
    for (const [index, item] of items.entries()) {
      const mark: unknown = isHolder(item) ? visit.ports.textOf(item) : typeof item === "string" ? `"${item}` : item;
      const first = seen.get(mark);
      if (first !== undefined)
        return fail(visit, `The items at indexes ${first} and ${index} are equal, but all items must differ`);
      seen.set(mark, index);
    }
  };
}
