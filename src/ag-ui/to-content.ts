import { toPlain } from "../core/web-kit.ts";

export function toContent(result: unknown): string {
  return typeof result === "string" ? result : JSON.stringify(toPlain(result));
}
