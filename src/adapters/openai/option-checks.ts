// What options of both wires are checked for.

import type { Check } from "../../spi.ts";

/** One of some texts. */
export function oneOf(...values: readonly string[]): Check {
  const expected = values.map((value) => JSON.stringify(value)).join(" or ");
  return [expected, (value) => typeof value === "string" && values.includes(value)];
}
