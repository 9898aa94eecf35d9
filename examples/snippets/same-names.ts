// Types for sheets that are checked against the real surface: they compile only if no name is missing and none is made up.

import assert from "node:assert/strict";

/** Names on one side only; `never` if both sides have the same names. */
export type Differing<A, B> = Exclude<keyof A, keyof B> | Exclude<keyof B, keyof A>;

/** Compiles for `never` only. */
export function expectNone<Names extends never>(...names: Names[]): void {
  assert.deepEqual(names, []);
}
