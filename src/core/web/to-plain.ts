import type { Json } from "../types/json.ts";
import { toJson } from "../utils/json.ts";

/** Copies a value of a tool to plain data. A value that JSON cannot represent becomes null. */
export function toPlain(value: unknown): Json {
  try {
    return toJson(value ?? null);
  } catch {
    return null;
  }
}
