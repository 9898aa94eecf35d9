// What options of both wires are checked for.

import type { Check } from "../../spi.ts";

/** Whether a value is a text that says something. */
export function isFilled(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

/** One of some texts. */
export function oneOf(...values: readonly string[]): Check {
  const expected = values.map((value) => JSON.stringify(value)).join(" or ");
  return [expected, (value) => typeof value === "string" && values.includes(value)];
}
