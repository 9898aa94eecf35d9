// Types that compare a summary with the real exports. They only compile if no name is missing and no name is invented.

import assert from "node:assert/strict";

/** The names that only one of two types has; `never` if both types have the same names. */
export type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** Compiles only for `never`. */
export function expectNone<Names extends never>(...names: Names[]): void {
  assert.deepEqual(names, []);
}
