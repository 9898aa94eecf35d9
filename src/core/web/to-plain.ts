import type { Json } from "../types/json.ts";
import { toJson } from "../utils/json.ts";

/** Copies a value from a tool to plain data. Returns null for a value that JSON cannot represent. */
export function toPlain(value: unknown): Json {
  try {
    return toJson(value ?? null);
  } catch {
    return null;
  }
}
