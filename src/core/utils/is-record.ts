// Tells an object with fields from everything else.

/** An object whose fields are unknown. */
export type UnknownRecord = { readonly [field: string]: unknown };

/** True for objects that are not null and not arrays. */
export function isRecord(value: unknown): value is UnknownRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
