// For sheets that are checked against the real surface: compiles only where nothing is missing and nothing is made up.

import assert from "node:assert/strict";

/** Names on one side only; `never` where both have the same. */
export type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** Compiles for `never` only. */
export function expectNone<Names extends never>(...names: Names[]): void {
  assert.deepEqual(names, []);
}
