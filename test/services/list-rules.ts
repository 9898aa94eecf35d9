import type { Rule } from "../../src/services/rule.ts";
import { kinds } from "../../src/testing/strict/kinds.ts";

/** Returns every rule of every service once. */
export function listRules(): readonly Rule[] {
  const wires = Object.values(kinds).flatMap((kind) => Object.values(kind.wires));
  return [...new Set(wires.flatMap(({ rules, families }) => [...rules, ...families.flatMap((family) => family.rules)]))];
}
