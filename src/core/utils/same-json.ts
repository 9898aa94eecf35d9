// Whether two values of plain data are equal. Takes time in proportion to the smaller one, and stops at the first difference.

import type { Json } from "../types/json.ts";

type Value = Json | undefined;

/** Whether two values say the same; the order of keys says nothing, nor does a key whose value is undefined. */
export function isSameJson(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) {
    return (
      isList(one) && isList(other) && one.length === other.length && one.every((item, index) => isSameJson(item, other[index]))
    );
  }
  const keys = definedKeys(one);
  return (
    keys.length === definedKeys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function definedKeys(value: { readonly [key: string]: Value }): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}
