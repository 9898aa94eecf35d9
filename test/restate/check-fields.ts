import { equal } from "node:assert/strict";

export function checkFields(actual: unknown, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const field = (actual as Record<string, unknown>)[name];
    if (typeof value === "object") checkFields(field, value as object);
    else equal(field, value);
  }
}

export function hasFields(expected: object): (error: unknown) => true {
  return (error) => {
    checkFields(error, expected);
    return true;
  };
}
