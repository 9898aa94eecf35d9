import { toPlain } from "../core/web-kit.ts";

/** Converts a result to the text of a tool message. */
export function toContent(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(toPlain(result));
}
