// Types that compare a summary with the real exports. If a name is missing or invented, the compiler reports an error.

import assert from "node:assert/strict";

/** The names that only one of two types has; `never` if both types have the same names. */
export type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** Causes a compiler error unless `Names` is `never`. */
export function expectNone<Names extends never>(...names: Names[]): void {
  assert.deepEqual(names, []);
}
