import { isRecord } from "./guards.ts";
import { listOf } from "./plain-error.ts";

/**
 * Returns a copy of arguments without the null values of optional properties whose schemas do not accept null. Models send null for
 * properties that they mean to omit (github.com/danny-avila/LibreChat/pull/11905).
 */
export function dropNulls(args: unknown, schema: unknown): unknown {
  if (!isRecord(schema)) return args;
  const { properties, required, items } = schema;
  if (Array.isArray(args)) return args.map((one: unknown) => dropNulls(one, items));
  if (!isRecord(args) || !isRecord(properties)) return args;
  const kept = Object.entries(args).filter(
    ([name, value]) => value !== null || listOf(required).includes(name) || !refusesNull(properties[name]),
  );
  return Object.fromEntries(kept.map(([name, value]) => [name, dropNulls(value, properties[name])]));
}

/** True if a schema certainly does not accept null. */
function refusesNull(schema: unknown): boolean {
  return isRecord(schema) && schema.type !== undefined && ![schema.type].flat().includes("null");
}
