// Addresses in a schema that would take long to resolve: looked for before any of them is.

import { ignoredKeyword, schemaArrayKeyword, schemaMapKeyword } from "@cfworker/json-schema";
import { isRecord } from "../core/entry-kit.ts";

const addressKeys = ["$id", "id", "$ref", "$anchor", "$recursiveRef"] as const;

/** Longest `$id` or `$ref`: as long as any URL that is in use. */
const longestAddress = 2_000;

/** A part with a `$id` inside of another one is read twice, what is in it four times, and so on. */
const mostNested = 8;

/** What is wrong with the addresses of a schema; reads on after its name. Only what is read for parts is looked at. */
export function findCostlyAddress(part: unknown, nested = 0): string | undefined {
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
