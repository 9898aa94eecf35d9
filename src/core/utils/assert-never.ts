// The end of every exhaustive switch.

import { quote } from "./texts.ts";

/**
 * Makes the compiler refuse a switch that forgets a case. Where a value gets here at run time all the same, because foreign code
 * broke its type, it throws a TypeError that names the value's `type`, `kind` or `code`, and nothing else of it.
 *
 * @example
 * switch (chunk.type) {
 *   case "text-delta": return chunk.text;
 *   default: return assertNever(chunk);
 * }
 */
export function assertNever(value: never): never {
  throw new TypeError(`Unexpected ${describe(value)}.`);
}

const tags = ["type", "kind", "code"] as const;

function describe(value: unknown): string {
  if (typeof value === "string") return `value ${quote(value)}`;
  if (typeof value !== "object" || value === null) return `value of type ${value === null ? "null" : typeof value}`;
  for (const tag of tags) {
    const found: unknown = Reflect.get(value, tag);
    if (typeof found === "string") return `${tag} ${quote(found)}`;
  }
  return "object";
}
