// Types that compare a summary with the real exports. The compiler reports names that are missing or invented.

import assert from "node:assert/strict";

/** The names that exist in only one of the two types. `never` if there are none. */
export type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** The argument of a function at a position, such as its options. */
export type ArgumentOf<F extends (...args: never) => unknown, At extends number = 0> = NonNullable<Parameters<F>[At]>;

/** Causes a compiler error unless `Names` is `never`. */
export function expectNone<Names extends never>(...names: Names[]): void {
  assert.deepEqual(names, []);
}
