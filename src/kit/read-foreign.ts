// Reads the fields of foreign JSON, of which nothing is certain.

import type { Json } from "../contract/json.ts";
import type { UnknownRecord } from "./is-record.ts";

/** The text that a value is; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The count that a value is: finite and not below 0. Undefined for anything else. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** A copy that may be written to. What it copies came as JSON, so that nothing is lost; an own key "__proto__" stays data. */
export function copyFields(fields: UnknownRecord): { [field: string]: Json } {
  const copy: { [field: string]: Json } = JSON.parse(JSON.stringify(fields));
  return copy;
}
