// What is looked at before a schema is asked: a model may write arguments that would cost more to check than they are worth.

import { isRecord } from "../core/entry-kit.ts";

/** Arguments of tools are flat; a validator calls itself for each level. */
const deepestLevel = 100;
const mostValues = 20_000;

/** Says why a value is not checked, or nothing. */
export function findExcess(value: unknown): string | undefined {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestLevel) return `is nested more than ${deepestLevel} levels deep`;
    count += level.length;
    if (count > mostValues) return `has more than ${mostValues} values`;
    const next: unknown[] = [];
    for (const held of level) {
      const values: readonly unknown[] = Array.isArray(held) ? held : isRecord(held) ? Object.values(held) : [];
      if (count + next.length + values.length > mostValues) return `has more than ${mostValues} values`;
      for (const each of values) next.push(each);
    }
    level = next;
  }
  return undefined;
}
