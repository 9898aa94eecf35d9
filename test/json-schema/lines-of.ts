import type { JsonSchema } from "turnwright";
import { fromJsonSchema } from "turnwright/json-schema";

export function linesOf(schema: JsonSchema, value: unknown): readonly string[] {
  const result = fromJsonSchema(schema)["~standard"].validate(value);
  if (result instanceof Promise || result.issues === undefined) return [];
  return result.issues.map(({ message, path = [] }) => `${path.map((key) => JSON.stringify(key)).join(" ")}: ${message}`);
}
