import type { Issue } from "../core/types/common.ts";
import { isRecord } from "./guards.ts";
import { stableJson } from "./json.ts";

/**
 * Returns an issue with an answer, if the most common JSON Schema keywords reveal one. The answer is checked again with the complete schema
 * when the tool runs.
 */
export function findAnswerIssue(schema: unknown, value: unknown, path: readonly (string | number)[] = []): Issue | undefined {
  if (!isRecord(schema)) return undefined;
  const { type, enum: allowed, required, properties, items } = schema;
  const types = [type].flat().filter((one) => typeof one === "string");
  if (types.length > 0 && !types.some((one) => isOfType(value, one)))
    return { path, message: `must be of the type ${types.join(" or ")}` };
  if (Array.isArray(allowed) && !allowed.some((one) => stableJson(one) === stableJson(value)))
    return { path, message: "must be one of the values of the question" };
  if (Array.isArray(value)) return firstOf(value.entries(), ([index, one]) => findAnswerIssue(items, one, [...path, index]));
  if (!isRecord(value)) return undefined;
  const missing = Array.isArray(required)
    ? required.find((name) => typeof name === "string" && !Object.hasOwn(value, name))
    : undefined;
  if (missing !== undefined) return { path: [...path, missing as string], message: "is required" };
  return firstOf(Object.entries(isRecord(properties) ? properties : {}), ([name, one]) =>
    Object.hasOwn(value, name) ? findAnswerIssue(one, value[name], [...path, name]) : undefined,
  );
}

function firstOf<T>(items: Iterable<T>, find: (item: T) => Issue | undefined): Issue | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** True if the value is of this type. An unknown type accepts any value. */
function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value) && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return !["string", "number", "boolean"].includes(type) || typeof value === type;
}
