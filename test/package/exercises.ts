// Lists the programs in consumer/exercises. Each program uses one entry as users do.

import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";

export interface Exercise {
  readonly name: string;
  readonly specifier: string;
  readonly imports: readonly string[];
  /** The packages that the program imports in addition to the entry and its peers. */
  readonly beside: readonly string[];
}

type Needs = Partial<Pick<Exercise, "imports" | "beside">>;

const folder = resolve("test/package/consumer/exercises");
const require = createRequire(import.meta.url);

export const exercises: readonly Exercise[] = readdirSync(folder).map((file) => {
  const name = basename(file, ".cjs");
  const { imports = [], beside = [] }: Needs = require(resolve(folder, file));
  return { name, specifier: name === "index" ? "turnwright" : `turnwright/${name}`, imports, beside };
});
