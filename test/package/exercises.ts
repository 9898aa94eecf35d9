// A program for each entry that uses it as users do, from consumer/exercises.

import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";

/** A program that uses one entry, and the packages that it takes. */
export interface Exercise {
  readonly name: string;
  readonly specifier: string;
  /** Peers that the entry imports itself. */
  readonly imports: readonly string[];
  /** Packages that only the user's own code imports. */
  readonly beside: readonly string[];
}

type Needs = Partial<Pick<Exercise, "imports" | "beside">>;

const folder = resolve("test/package/consumer/exercises");
const require = createRequire(import.meta.url);

/** All exercises, in the order of their files. */
export const exercises: readonly Exercise[] = readdirSync(folder).map((file) => {
  const name = basename(file, ".cjs");
  const { imports = [], beside = [] }: Needs = require(resolve(folder, file));
  return { name, specifier: name === "index" ? "turnwright" : `turnwright/${name}`, imports, beside };
});
