import { isRecord } from "../core/entry-kit.ts";

/** Handles the rejection of a read: returns undefined for a missing file, and throws all other errors. */
export function unlessMissing(error: unknown): undefined {
  if (isRecord(error) && error["code"] === "ENOENT") return undefined;
  throw error;
}
