import { describeValue } from "../core/entry-kit.ts";

/** Throws a TypeError unless the first argument of a maker is a string; `example` shows how to call it. */
export function checkWord(
  value: unknown,
  maker: string,
  { what, example }: { readonly what: string; readonly example: string },
): void {
  if (typeof value === "string") return;
  throw new TypeError(`${maker}() takes ${what} first, a string, but got ${describeValue(value)}. Write ${example}.`);
}
